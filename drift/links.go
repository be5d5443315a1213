package drift

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	linkTarget    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?[^)]*\)`)
	linkReference = regexp.MustCompile(`\][\[]([^\]]+)\]`)
	linkDefined   = regexp.MustCompile(`^\s{0,3}\[([^\]]+)\]:\s*<?(\S+?)>?(?:\s|$)`)
	linkHTML      = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	linkScheme    = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//`)
	sourceLine    = regexp.MustCompile(`^L\d+(-L\d+)?$`)
	pathSuffix    = regexp.MustCompile(`(:\d+|#.*)$`)
	makeCommand   = regexp.MustCompile(`^(?:[A-Z_]+=\S*\s+)*make((?:\s+\S+)*)\s*$`)
	makeTarget    = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_./ -]*?)\s*::?(?:[^=]|$)`)
)

// Links checks what documents point at: files, headings, paths in backticks, and
// targets of the Makefile. Links to other sites are not followed; a check that
// needs the network is a check that is red for reasons of its own.
func Links(repo *Repo) Report {
	report := Report{Checker: "links", Things: "links, paths and make targets"}
	documents := repo.documents()
	anchors := map[string]map[string]bool{}
	for _, doc := range documents {
		anchors[doc.path] = doc.anchors
	}
	targets := makeTargets(repo)
	for _, doc := range documents {
		for _, link := range doc.links(&report) {
			report.Checked++
			checkLink(repo, anchors, doc.path, link, &report)
		}
		for _, span := range doc.spans {
			if name := repositoryPath(span.text); name != "" {
				report.Checked++
				if !repo.Has(name) {
					report.fail(doc.path, span.line, "correct the path, or name what exists", "there is no %s", name)
				}
			}
		}
		for _, command := range doc.makeCommands() {
			report.Checked++
			if _, known := targets[command.text]; !known {
				report.fail(doc.path, command.line, "name a target that make help lists, or add it",
					"the Makefile has no target %s", command.text)
			}
		}
	}
	return report
}

// links returns the targets that stay inside the repository.
func (d *document) links(report *Report) []docLine {
	defined := map[string]bool{}
	var found []docLine
	add := func(target string, line int) {
		if !linkScheme.MatchString(target) {
			found = append(found, docLine{target, line})
		}
	}
	for _, line := range d.prose {
		if parts := linkDefined.FindStringSubmatch(line.text); parts != nil {
			defined[strings.ToLower(parts[1])] = true
			add(parts[2], line.line)
		}
	}
	for _, line := range d.prose {
		for _, parts := range linkTarget.FindAllStringSubmatch(line.text, -1) {
			add(parts[1], line.line)
		}
		for _, parts := range linkHTML.FindAllStringSubmatch(line.text, -1) {
			add(parts[1], line.line)
		}
		for _, parts := range linkReference.FindAllStringSubmatch(line.text, -1) {
			if !defined[strings.ToLower(parts[1])] {
				report.fail(d.path, line.line, "define it, or link directly", "the link reference [%s] is not defined", parts[1])
			}
		}
	}
	return found
}

func checkLink(repo *Repo, anchors map[string]map[string]bool, from string, link docLine, report *Report) {
	file, fragment, _ := strings.Cut(link.text, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
	}
	if path.IsAbs(file) || target == ".." || strings.HasPrefix(target, "../") {
		report.fail(from, link.line, "write the path from the folder of this file", "the link %s leaves the repository", link.text)
		return
	}
	if target != "." && !repo.Has(target) {
		report.fail(from, link.line, "correct the link", "the link %s leads to %s, which does not exist", link.text, target)
		return
	}
	if fragment == "" {
		return
	}
	if known, isDocument := anchors[target]; isDocument && !known[fragment] {
		report.fail(from, link.line, "use the heading as it is now", "%s has no heading for #%s", target, fragment)
	} else if !isDocument && !sourceLine.MatchString(fragment) {
		report.fail(from, link.line, "link to a line as #L10, or to the file", "the link %s has a fragment that means nothing there", link.text)
	}
}

// repositoryPath returns the path that a code span names, "" where it names none.
// Patterns, placeholders and results of a run are none.
func repositoryPath(span string) string {
	word, _, _ := strings.Cut(span, " ")
	word = strings.TrimPrefix(word, "./")
	top, _, below := strings.Cut(word, "/")
	if !below || !slices.Contains(topFolders, top) || strings.ContainsAny(word, "*?<>{}[]…") || strings.Contains(word, "...") {
		return ""
	}
	return path.Clean(strings.TrimRight(pathSuffix.ReplaceAllString(word, ""), ".,;"))
}

// makeCommands returns the targets of every make command in code.
func (d *document) makeCommands() []docLine {
	var found []docLine
	for _, code := range slices.Concat(d.spans, d.fenced) {
		text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(code.text), "$ "), " #")
		for part := range strings.SplitSeq(strings.ReplaceAll(text, "&&", ";"), ";") {
			parts := makeCommand.FindStringSubmatch(strings.TrimSpace(part))
			if parts == nil {
				continue
			}
			for word := range strings.FieldsSeq(parts[1]) {
				if !strings.ContainsAny(word, "=<>") && !strings.HasPrefix(word, "-") {
					found = append(found, docLine{word, code.line})
				}
			}
		}
	}
	return found
}

// makeTargets returns the targets of the Makefile, and for each whether a ##
// comment puts it into the list of make help.
func makeTargets(repo *Repo) map[string]bool {
	targets := map[string]bool{}
	for line := range strings.Lines(repo.text("Makefile")) {
		parts := makeTarget.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if parts == nil {
			continue
		}
		for name := range strings.FieldsSeq(parts[1]) {
			targets[name] = targets[name] || strings.Contains(line, "##")
		}
	}
	return targets
}
