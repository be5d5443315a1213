package drift

import (
	"go/ast"
	"path"
	"strings"
)

// Snippets holds the Go code that the README and the book show against code that
// is compiled and run: every block of it stands, indentation aside, in the body of
// an Example function or in a program under examples. Code in a document that
// nothing compiles is the first thing a change breaks.
func Snippets(repo *Repo) Report {
	report := Report{Checker: "snippets", Things: "blocks of Go code in the README and the book"}
	examples := repo.exampleCode()
	for _, name := range repo.withExt(".md") {
		if name != "README.md" && path.Dir(name) != "docs" {
			continue
		}
		for _, block := range goBlocks(repo.text(name)) {
			report.Checked++
			if !anyContains(examples, flatten(block.text)) {
				report.fail(name, block.line, "copy the body of an Example, or write one with this code",
					"no example holds this block of Go code")
			}
		}
	}
	return report
}

// exampleCode returns the flattened code of the examples, one text for each
// Example function and for each file under examples.
func (r *Repo) exampleCode() []string {
	var found []string
	for _, file := range r.Go {
		if strings.HasPrefix(file.Path, "examples/") && !file.Test {
			found = append(found, flatten(string(file.Source)))
			continue
		}
		for _, decl := range file.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !file.Test || !strings.HasPrefix(fn.Name.Name, "Example") || fn.Body == nil {
				continue
			}
			from, to := file.fset.Position(fn.Body.Lbrace).Offset, file.fset.Position(fn.Body.Rbrace).Offset
			found = append(found, flatten(string(file.Source[from+1:to])))
		}
	}
	return found
}

// goBlocks returns the fenced blocks of a document that are marked as Go.
func goBlocks(text string) []docLine {
	var blocks []docLine
	inside := false
	for _, line := range numbered(text) {
		marked := strings.TrimSpace(line.text)
		switch {
		case !inside && marked == "```go":
			inside = true
			blocks = append(blocks, docLine{"", line.line})
		case inside && marked == "```":
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line.text + "\n"
		}
	}
	return blocks
}

// flatten drops indentation and empty lines.
func flatten(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func anyContains(texts []string, part string) bool {
	for _, text := range texts {
		if part != "" && strings.Contains("\n"+text, "\n"+part) {
			return true
		}
	}
	return false
}
