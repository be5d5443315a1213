package drift

import (
	"regexp"
	"slices"
	"strings"
)

// unreadFile lists the documents whose sentences are not classified yet. It may only
// shrink.
const unreadFile = "drift/unread.txt"

var (
	classMark  = regexp.MustCompile(`<!--\s*is:\s*(.*?)\s*-->`)
	classBegin = regexp.MustCompile(`<!--\s*is\b`)
	classLead  = regexp.MustCompile(`^\s*(?:[-*+]\s+)?\*\*(?:Invariant|Tradeoff|Operational rule|Non-goal):\*\*`)
	strongWord = regexp.MustCompile(`(?i)\b(?:always|never|only)\b`)
	figureSaid = regexp.MustCompile(`(?:^|[\s(≤≥<>≈−~=])\d[\d.,]*`)
	// names are what a number belongs to: a version, a document, a status code of HTTP, an
	// item of a list, a word.
	names        = regexp.MustCompile(`\b(?:Go|RFC|section|figure) \d[\d.]*|\b[45]\d\d\b|^\s*\d+\.\s|\d+-[a-z]+`)
	targetOfLink = regexp.MustCompile(`\]\([^)]*\)`)
	anyComment   = regexp.MustCompile(`<!--.*?-->`)
)

// classes are what a sentence can be that no test judges.
var classes = []string{"invariant", "tradeoff", "operational rule", "non-goal", "example", "history", "record"}

// Sentences lists the sentences of the documents that state a number or say always,
// never or only, and of which nobody says what they are: a promise that a check quotes, a
// rule of its own, or a figure of a record or of history.
func Sentences(repo *Repo) Report {
	report := Report{Checker: "sentences", Things: "strong sentences"}
	known := map[string]bool{}
	for _, row := range Evidence(repo) {
		for _, claim := range row.Claims {
			known[claim.ID] = true
		}
	}
	unread := unreadOf(repo)
	for _, doc := range repo.documents() {
		doc.hidden(&report, "a mark of a sentence", classMark, classBegin)
		if doc.path != "README.md" && doc.path != "ARCHITECTURE.md" && !under(doc.path, "docs") {
			continue
		}
		var found Report
		for _, block := range doc.blocks() {
			block.classify(doc.path, known, &found)
		}
		report.Checked += found.Checked
		line, listed := unread[doc.path]
		delete(unread, doc.path)
		switch {
		case !listed:
			report.Problems = append(report.Problems, found.Problems...)
		case len(found.Problems) == 0:
			report.fail(unreadFile, line, "delete the line", "every sentence of %s is classified", doc.path)
		}
	}
	for name, line := range unread {
		report.fail(unreadFile, line, "delete the line", "there is no document %s", name)
	}
	return report
}

func unreadOf(repo *Repo) map[string]int {
	found := map[string]int{}
	for _, line := range numbered(repo.text(unreadFile)) {
		if text := strings.TrimSpace(line.text); text != "" && !strings.HasPrefix(text, "#") {
			found[text] = line.line
		}
	}
	return found
}

// block is a paragraph, an item of a list or a row of a table.
type block []docLine

func (d *document) blocks() []block {
	headings := map[int]bool{}
	for _, h := range d.headings {
		headings[h.line] = true
	}
	var all []block
	last := 0
	for _, line := range d.prose {
		switch {
		case headings[line.line]:
		case len(all) == 0 || line.line != last+1 || headings[last] || blockStart.MatchString(line.text) && !strings.HasPrefix(strings.TrimSpace(line.text), "<!--"):
			all = append(all, block{line})
		default:
			all[len(all)-1] = append(all[len(all)-1], line)
		}
		last = line.line
	}
	return all
}

// classify reports the lines of a block that need a class and have none.
func (b block) classify(path string, known map[string]bool, report *Report) {
	classed := classLead.MatchString(b[0].text)
	for _, line := range b {
		marks := classMark.FindAllStringSubmatch(line.text, -1)
		if len(marks) != len(classBegin.FindAllString(line.text, -1)) {
			report.fail(path, line.line, "write <!-- is: invariant --> on one line", "a mark of a sentence is torn")
		}
		for _, mark := range marks {
			classed = true
			ids, isClaim := strings.CutPrefix(mark[1], "claim ")
			if !isClaim && !slices.Contains(classes, mark[1]) {
				report.fail(path, line.line, "write claim and its id, or one of "+strings.Join(classes, ", "), "no sentence is a %q", mark[1])
			}
			for id := range strings.FieldsFuncSeq(ids, func(r rune) bool { return r == ',' || r == ' ' }) {
				if isClaim && !known[id] {
					report.fail(path, line.line, "read the contract again, then write the id that make claims shows", "there is no claim %s", id)
				}
			}
		}
	}
	for _, line := range b {
		text := defaultMark.ReplaceAllString(countMark.ReplaceAllString(line.text, ""), "")
		text = names.ReplaceAllString(targetOfLink.ReplaceAllString(anyComment.ReplaceAllString(text, ""), "]"), "")
		strong := strongWord.FindString(text)
		if strong == "" {
			strong = strings.TrimSpace(figureSaid.FindString(text))
		}
		if strong == "" {
			continue
		}
		if report.Checked++; !classed {
			report.fail(path, line.line, "end its paragraph with <!-- is: claim ID -->, or another class; see drift/README.md",
				"nothing says what the sentence with %q is: %.60s", strong, oneLine(line.text))
		}
	}
}
