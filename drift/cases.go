package drift

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const casesFile = "docs/cases.md"

var (
	caseID  = regexp.MustCompile(`\b(?:B|G|E|H|Q|O|W|HC|IF|OD|OW|PE|PK|PR)\d+[a-z]?\b`)
	caseRow = regexp.MustCompile(`^\| ([A-Z]+\d+[a-z]?) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$`)
)

// Cases ties the catalogue of what has gone wrong elsewhere to the tests that cite
// it: each id that is cited has a row, and each row says where it is cited, or why
// nowhere.
func Cases(repo *Repo) Report {
	report := Report{Checker: "cases", Things: "cases"}
	cited := citedCases(repo)
	for _, nothing := range cited[""] {
		report.fail(nothing.file, nothing.line, "name the id of a row of "+casesFile+", or say it without the word Cases", "a line cites no case")
	}
	delete(cited, "")
	rows := map[string]bool{}
	for _, line := range numbered(repo.text(casesFile)) {
		parts := caseRow.FindStringSubmatch(line.text)
		if parts == nil {
			if strings.HasPrefix(line.text, "| ") && caseID.MatchString(strings.SplitN(line.text, "|", 3)[1]) {
				report.fail(casesFile, line.line, "write | id | what went wrong | what is right | where |", "the row is torn")
			}
			continue
		}
		report.Checked++
		id, where := parts[1], parts[4]
		if rows[id] {
			report.fail(casesFile, line.line, "keep one of the two", "%s stands twice", id)
		}
		rows[id] = true
		reason, excepted := strings.CutPrefix(where, "none: ")
		switch want := whereCited(cited[id]); {
		case excepted && len(cited[id]) > 0:
			report.fail(casesFile, line.line, "run go test ./drift -run TestCases -update", "%s is cited, and its row says that it is not", id)
		case excepted && strings.TrimSpace(reason) == "", !excepted && len(cited[id]) == 0:
			report.fail(casesFile, line.line, "cite it in a Cases line above its test, or write none: and the reason", "nothing cites %s", id)
		case !excepted && where != want:
			report.fail(casesFile, line.line, "run go test ./drift -run TestCases -update", "%s is cited in other folders than its row says", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !rows[id] {
			first := cited[id][0]
			report.fail(first.file, first.line, "correct the id, or add a row to "+casesFile, "there is no case %s", id)
		}
	}
	return report
}

// citedCases returns where each case is cited: in the lines of a comment from one
// that begins with Cases: to the end of its paragraph.
func citedCases(repo *Repo) map[string][]sentence {
	cited := map[string][]sentence{}
	read := func(file string, lines []docLine) {
		open := false
		for _, line := range lines {
			text := strings.TrimSpace(line.text)
			_, begins := strings.CutPrefix(text, "Cases:")
			open = begins || open && text != "" && !strings.Contains(text, ":")
			if !open {
				continue
			}
			ids := caseID.FindAllString(text, -1)
			if begins && len(ids) == 0 {
				cited[""] = append(cited[""], sentence{text: text, file: file, line: line.line})
			}
			for _, id := range ids {
				cited[id] = append(cited[id], sentence{text: id, file: file, line: line.line})
			}
		}
	}
	for _, file := range repo.Go {
		for _, group := range file.Syntax.Comments {
			if !under(file.Path, "drift") {
				read(file.Path, file.lines(group))
			}
		}
	}
	for _, name := range repo.withExt(".tla") {
		read(name, tlaComments(repo.text(name)))
	}
	return cited
}

// whereCited returns links to the folders of the citations.
func whereCited(cited []sentence) string {
	folders := map[string]bool{}
	for _, s := range cited {
		folders[path.Dir(s.file)] = true
	}
	var links []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		links = append(links, fmt.Sprintf("[%s](../%s)", strings.TrimPrefix(folder, "pkg/"), folder))
	}
	return strings.Join(links, ", ")
}

// renewedCases returns the catalogue with the folders that cite each case.
func renewedCases(repo *Repo) string {
	cited := citedCases(repo)
	var b strings.Builder
	for line := range strings.Lines(repo.text(casesFile)) {
		text := strings.TrimRight(line, "\n")
		if parts := caseRow.FindStringSubmatch(text); parts != nil && len(cited[parts[1]]) > 0 {
			text = fmt.Sprintf("| %s | %s | %s | %s |", parts[1], parts[2], parts[3], whereCited(cited[parts[1]]))
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}
