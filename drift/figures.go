package drift

import (
	"go/ast"
	"regexp"
	"strings"
)

var (
	defaultMark  = regexp.MustCompile(`<!--\s*default:([\w./-]+)\s*-->(.*?)<!--\s*/default\s*-->`)
	defaultBegin = regexp.MustCompile(`<!--\s*default:|<!--\s*/default`)
	defaultSaid  = regexp.MustCompile(`\d[\d,.]*(?:\s?[%\pL]+)?,? (?:by default|unless set)|\b[Dd]efaults? (?:of |is |to |are )?\d`)
	statedValue  = regexp.MustCompile(`(?:\b[Dd]efault(?:s to)?:?|\b0 means)\s+(-?\d[\d,.]*\d|-?\d)`)
	digitsFirst  = regexp.MustCompile(`-?\d[\d,.]*\d|-?\d`)
	measured     = regexp.MustCompile(`[\d,.]*\d\s?(?:ns|µs|KB|MB|B/op|allocs/op)\b`)
)

// performancePage holds measured figures, in tables that a command writes.
const performancePage = "docs/performance.md"

// Figures checks the numbers in docs that say how the library is set and what it
// costs. A default is stated in the doc of its field, and quoted between markers; a
// measured figure stands in the page that a command renews, and nowhere else.
func Figures(repo *Repo) Report {
	report := Report{Checker: "figures", Things: "documents"}
	defaults := defaultsOf(repo)
	for _, doc := range repo.documents() {
		if !under(doc.path, "docs") {
			continue
		}
		report.Checked++
		doc.hidden(&report, "a marker of a default", defaultMark, defaultBegin)
		column, last := -1, 0 // of a table's defaults; the line before
		for _, line := range doc.prose {
			if line.line != last+1 {
				column = -1
			}
			last = line.line
			marks := defaultMark.FindAllStringSubmatch(line.text, -1)
			if len(defaultBegin.FindAllString(line.text, -1)) != 2*len(marks) {
				report.fail(doc.path, line.line, "write <!-- default:pkg/x.Config.Field -->5<!-- /default --> on one line", "a marker of a default is torn")
			}
			for _, mark := range marks {
				stated, known := defaults[mark[1]]
				switch written := digitsFirst.FindString(mark[2]); {
				case !known:
					report.fail(doc.path, line.line, "name folder.Type.Field of a field whose doc says: default 5", "no field %s states a default", mark[1])
				case written == "" || plainDigits(written) != plainDigits(stated):
					report.fail(doc.path, line.line, "write "+stated, "the text says %q for the default of %s", mark[2], mark[1])
				}
			}
			bare := defaultMark.ReplaceAllString(line.text, "")
			if defaultSaid.MatchString(bare) {
				report.fail(doc.path, line.line, "put it between <!-- default:folder.Type.Field --> and <!-- /default -->", "nothing checks the default in %q", oneLine(line.text))
			}
			if found := measured.FindString(bare); found != "" && doc.path != performancePage {
				report.fail(doc.path, line.line, "state it in "+performancePage+", which a command renews, or leave it out", "nothing checks the measured figure %q", found)
			}
			column = defaultColumn(bare, column)
			if cells := strings.Split(bare, "|"); column > 0 && column < len(cells) && digitsFirst.MatchString(cells[column]) && strings.TrimSpace(cells[column])[0] < 'A' {
				report.fail(doc.path, line.line, "put it between <!-- default:folder.Type.Field --> and <!-- /default -->", "nothing checks the default in %q", oneLine(cells[column]))
			}
		}
	}
	return report
}

// defaultColumn returns which cell of a table holds defaults, -1 for none.
func defaultColumn(line string, before int) int {
	cells := strings.Split(line, "|")
	if len(cells) < 3 {
		return -1
	}
	for i, cell := range cells {
		if strings.EqualFold(strings.TrimSpace(cell), "default") {
			return i
		}
	}
	return before
}

// defaultsOf returns the defaults that the docs of fields state as numbers, by
// folder.Type.Field.
func defaultsOf(repo *Repo) map[string]string {
	found := map[string]string{}
	for _, file := range repo.public() {
		for _, decl := range file.exportedDecls() {
			if decl.typ == nil {
				continue
			}
			fields, ok := decl.typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range fields.Fields.List {
				var text []string
				for _, line := range file.lines(field.Doc) {
					text = append(text, line.text)
				}
				stated := statedValue.FindStringSubmatch(oneLine(strings.Join(text, " ")))
				for _, name := range field.Names {
					if stated != nil {
						found[file.Folder+"."+decl.name+"."+name.Name] = stated[1]
					}
				}
			}
		}
	}
	return found
}

func plainDigits(number string) string { return strings.ReplaceAll(number, ",", "") }
