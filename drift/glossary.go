package drift

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	glossaryFile   = "GLOSSARY.md"
	allowancesFile = "drift/allowances.txt"
)

// term is one entry of the glossary.
type term struct {
	name  string
	avoid []string
	line  int
}

// allowance lets a word stand in one folder or file.
type allowance struct {
	word, place string
	line        int
	needed      bool
}

var (
	glossaryEntry = regexp.MustCompile(`^\*\*([^*]+)\*\*: (.+?[.)])(?: Avoid: ([^.]+)\.)?$`)
	allowanceForm = regexp.MustCompile(`^(.+?) in (\S+): (\S.*)$`)
	otherPackage  = regexp.MustCompile(`\b[a-z][a-z0-9]*\.[A-Z]\w*`)
)

// Glossary checks that the library calls one thing by one name. It reads the names
// that the library declares, and every comment outside a function body; names
// that it only uses, such as those of net/http, are not its own.
func Glossary(repo *Repo) Report {
	report := Report{Checker: "glossary", Things: "terms"}
	terms := readGlossary(repo, &report)
	report.Checked = len(terms)
	allowances := readAllowances(repo, terms, &report)

	for _, file := range repo.product() {
		for _, place := range file.wordPlaces() {
			for _, t := range terms {
				for _, word := range t.avoid {
					if !containsPhrase(place.words, strings.Fields(word)) || allowed(allowances, word, file.Path) {
						continue
					}
					report.fail(file.Path, place.line, "say "+strings.ToLower(t.name)+", or give the reason in "+allowancesFile,
						"%s uses %q, which the glossary avoids", place.what, word)
				}
			}
		}
	}
	for _, a := range allowances {
		if !a.needed {
			report.fail(allowancesFile, a.line, "delete the line", "nothing in %s needs the word %q", a.place, a.word)
		}
	}
	return report
}

// readGlossary reads paragraphs of the form
//
//	**Term**: definition. Avoid: word, two words.
func readGlossary(repo *Repo, report *Report) []term {
	var terms []term
	names := map[string]bool{}
	for _, entry := range paragraphs(numbered(repo.text(glossaryFile))) {
		if !strings.HasPrefix(entry.text, "**") {
			continue
		}
		parts := glossaryEntry.FindStringSubmatch(entry.text)
		if parts == nil || strings.Count(entry.text, "**: ") > 1 || parts[3] == "" && strings.Contains(entry.text, "Avoid:") {
			report.fail(glossaryFile, entry.line, `write **Term**: definition. Avoid: word, two words.`,
				"the entry %.40q has another form", entry.text)
			continue
		}
		name := strings.ToLower(parts[1])
		if names[name] {
			report.fail(glossaryFile, entry.line, "keep one definition", "the term %s is defined twice", parts[1])
		}
		names[name] = true
		t := term{name: parts[1], line: entry.line}
		for _, word := range splitList(parts[3]) {
			t.avoid = append(t.avoid, strings.ToLower(word))
		}
		terms = append(terms, t)
	}
	if len(terms) == 0 {
		report.fail(glossaryFile, 1, "define the words of the library", "the glossary has no terms")
	}
	for _, t := range terms {
		for _, word := range t.avoid {
			if names[word] {
				report.fail(glossaryFile, t.line, "decide which of the two is meant", "%s avoids %q, which is a term", t.name, word)
			}
		}
	}
	return terms
}

// readAllowances reads lines of the form "word in pkg/dispatch: reason".
func readAllowances(repo *Repo, terms []term, report *Report) []*allowance {
	var allowances []*allowance
	for _, line := range numbered(repo.text(allowancesFile)) {
		if line.text == "" || strings.HasPrefix(line.text, "#") {
			continue
		}
		parts := allowanceForm.FindStringSubmatch(line.text)
		if parts == nil {
			report.fail(allowancesFile, line.line, `write "word in folder or file: reason"`, "the line %q has another form", line.text)
			continue
		}
		word := strings.ToLower(parts[1])
		if !slices.ContainsFunc(terms, func(t term) bool { return slices.Contains(t.avoid, word) }) {
			report.fail(allowancesFile, line.line, "delete the line", "the glossary does not avoid %q", word)
			continue
		}
		allowances = append(allowances, &allowance{word: word, place: parts[2], line: line.line})
	}
	return allowances
}

func allowed(allowances []*allowance, word, file string) bool {
	found := false
	for _, a := range allowances {
		if a.word == word && under(file, a.place) {
			a.needed, found = true, true
		}
	}
	return found
}

// wordPlace is a name or a line of comment, taken apart into lower-case words.
type wordPlace struct {
	what  string
	words []string
	line  int
}

func (f *GoFile) wordPlaces() []wordPlace {
	var places []wordPlace
	add := func(idents ...*ast.Ident) {
		for _, ident := range idents {
			places = append(places, wordPlace{"the name " + ident.Name, splitName(ident.Name), f.line(ident.Pos())})
		}
	}
	add(f.Syntax.Name)
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			add(node.Name)
		case *ast.TypeSpec:
			add(node.Name)
		case *ast.ValueSpec:
			add(node.Names...)
		case *ast.Field:
			add(node.Names...)
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				add(identsIn(node.Lhs...)...)
			}
		case *ast.RangeStmt:
			if node.Tok == token.DEFINE {
				add(identsIn(node.Key, node.Value)...)
			}
		}
		return true
	})
	for _, group := range f.Syntax.Comments {
		if f.insideBody(group) {
			continue
		}
		for _, paragraph := range paragraphs(f.lines(group)) {
			text := otherPackage.ReplaceAllString(paragraph.text, " ")
			places = append(places, wordPlace{"the comment", splitText(text), paragraph.line})
		}
	}
	return places
}

func identsIn(exprs ...ast.Expr) []*ast.Ident {
	var idents []*ast.Ident
	for _, expr := range exprs {
		if ident, ok := expr.(*ast.Ident); ok {
			idents = append(idents, ident)
		}
	}
	return idents
}

func (f *GoFile) insideBody(group *ast.CommentGroup) bool {
	for _, decl := range f.Syntax.Decls {
		if decl, ok := decl.(*ast.FuncDecl); ok && decl.Body != nil && decl.Body.Lbrace < group.Pos() && group.Pos() < decl.Body.Rbrace {
			return true
		}
	}
	return false
}

// paragraphs joins wrapped lines, so that a phrase is found across a line break.
func paragraphs(lines []docLine) []docLine {
	var found []docLine
	open := false
	for _, line := range lines {
		text := strings.TrimSpace(line.text)
		switch {
		case text == "":
			open = false
		case open:
			found[len(found)-1].text += " " + text
		default:
			found = append(found, docLine{text, line.line})
			open = true
		}
	}
	return found
}

// splitName takes a Go name apart: HTTPServer_2 is http, server, 2.
func splitName(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		end := i == len(runes) || runes[i] == '_' ||
			unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) ||
			unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if end {
			if word := strings.Trim(string(runes[start:i]), "_"); word != "" {
				words = append(words, strings.ToLower(word))
			}
			start = i
		}
	}
	return words
}

// splitText takes prose apart. A name inside prose counts as its words too.
func splitText(text string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	}) {
		words = append(words, splitName(word)...)
	}
	return words
}

// containsPhrase reports whether the words stand next to each other, the last one
// possibly in the plural.
func containsPhrase(words, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(words); i++ {
		match := true
		for j, word := range phrase {
			have := words[i+j]
			if have != word && (j < len(phrase)-1 || have != word+"s") {
				match = false
				break
			}
		}
		if match {
			return true
		}
	}
	return false
}
