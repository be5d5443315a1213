package drift

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const exceptionsFile = "drift/exceptions.txt"

// ClaimCounts are the figures of the claim checker that documents may quote.
type ClaimCounts struct {
	Bullets    int // promises of the library
	Quoted     int // of which a check that runs quotes the words
	Exceptions int // of which the exceptions file says why none does
}

// sentence is a text with the place where it stands.
type sentence struct {
	text string
	file string
	line int
	of   string // the declaration that promises it, or the check that quotes it
	code string // what a Code line below it says
}

// id names a Contract bullet as long as its declaration and its words stand.
func (s sentence) id() string {
	sum := sha256.Sum256([]byte(s.text))
	return fmt.Sprintf("%s.%s-%x", path.Base(path.Dir(s.file)), s.of, sum[:4])
}

// codeNames are the names of a Code line.
func (s sentence) codeNames() []string {
	return strings.FieldsFunc(s.code, func(r rune) bool { return r == ',' || r == ' ' })
}

func (s sentence) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// Claims ties every promise to a check that runs. The promise and the check share
// nothing but the words, so a reworded promise orphans its check until somebody
// has read both again.
func Claims(repo *Repo) (Report, ClaimCounts) {
	report := Report{Checker: "claims", Things: "Contract bullets"}
	bullets := bulletsOf(repo, &report)
	report.Checked = len(bullets)

	byText := map[string]sentence{}
	for _, bullet := range bullets {
		if first, twice := byText[bullet.text]; twice {
			report.fail(bullet.file, bullet.line, "state it once, where both readers look, or say what differs",
				"the Contract bullet %q stands at %s too", bullet.text, first)
			continue
		}
		byText[bullet.text] = bullet
	}

	code, narrowed := codeOf(repo), map[string]bool{}
	quoted := map[string]bool{}
	for _, quote := range quotesOf(repo, &report) {
		bullet, known := byText[quote.text]
		if !known {
			report.fail(quote.file, quote.line, "read the contract again, then correct the quote and, if need be, the check",
				"no Contract bullet says %q", quote.text)
			continue
		}
		quoted[quote.text] = true
		for _, name := range quote.codeNames() {
			narrowed[quote.text] = true
			if len(code.named(path.Dir(bullet.file), name)) == 0 {
				report.fail(quote.file, quote.line, "name functions and methods of "+path.Dir(bullet.file)+", or with the folder in front",
					"%q is kept by %s, which is no function with a body", quote.text, name)
			}
		}
	}
	ids := map[string]string{}
	for _, bullet := range bullets {
		if byText[bullet.text] != bullet {
			continue
		}
		id := bullet.id()
		if other := ids[id]; other != "" {
			report.fail(bullet.file, bullet.line, "use more digits in claims.go", "the Contract bullet %q has the id of another", bullet.text)
		}
		ids[id] = bullet.text
		if quoted[bullet.text] && !narrowed[bullet.text] && len(code.of(bullet)) == 0 {
			report.fail(bullet.file, bullet.line, "write a Code line below one of its Claim lines",
				"%s has no code of its own, so nothing says which code keeps %q", bullet.of, bullet.text)
		}
	}

	excepted := map[string]bool{}
	for _, exception := range exceptionsOf(repo, &report) {
		switch _, known := byText[exception.text]; {
		case !known:
			report.fail(exception.file, exception.line, "delete the entry or correct its sentence",
				"no Contract bullet says %q", exception.text)
		case quoted[exception.text]:
			report.fail(exception.file, exception.line, "delete the entry",
				"a check quotes %q, so the exception is no longer needed", exception.text)
		case excepted[exception.text]:
			report.fail(exception.file, exception.line, "keep one of the two entries",
				"the exception %q is listed twice", exception.text)
		default:
			excepted[exception.text] = true
		}
	}

	for _, bullet := range bullets {
		if !quoted[bullet.text] && !excepted[bullet.text] {
			report.fail(bullet.file, bullet.line,
				"write a check with this sentence in a Claim line, or give the reason in "+exceptionsFile,
				"nothing that runs quotes the Contract bullet %q", bullet.text)
		}
	}
	return report, ClaimCounts{len(byText), len(quoted), len(excepted)}
}

var (
	bulletMark   = regexp.MustCompile(`^\s*[-*+•]\s+`)
	twoSentences = regexp.MustCompile(`[a-z0-9)\]]\. +[A-Z]`)
)

// bulletsOf reads the Contract sections of the public library.
func bulletsOf(repo *Repo, report *Report) []sentence {
	var bullets []sentence
	for _, file := range repo.public() {
		read := map[*ast.CommentGroup]bool{}
		for _, decl := range file.exportedDecls() {
			read[decl.doc] = true
			bullets = append(bullets, file.contract(decl, report)...)
		}
		for _, group := range file.Syntax.Comments {
			for _, line := range file.lines(group) {
				if !read[group] && strings.TrimSpace(line.text) == "# Contract" {
					report.fail(file.Path, line.line, "move it to an exported type, function or method",
						"a Contract stands where no reader of the documentation finds a declaration")
				}
			}
		}
	}
	return bullets
}

// contract returns the bullets of one declaration. Anything else in the section
// is reported, because it would promise something that nobody checks.
func (f *GoFile) contract(decl declaration, report *Report) []sentence {
	var bullets []sentence
	inside, open, heading := false, false, 0
	for _, line := range f.lines(decl.doc) {
		text := strings.TrimSpace(line.text)
		switch {
		case strings.HasPrefix(text, "# "):
			inside, open = text == "# Contract", false
			if inside {
				heading = line.line
			}
		case !inside:
		case text == "":
			open = false
		case bulletMark.MatchString(line.text):
			bullets = append(bullets, sentence{text: bulletMark.ReplaceAllString(line.text, ""), file: f.Path, line: line.line, of: decl.name})
			open = true
		case open && strings.HasPrefix(line.text, " "):
			bullets[len(bullets)-1].text += " " + text
		default:
			report.fail(f.Path, line.line, "make it a bullet, or move it above the headings",
				"the Contract of %s holds text that is not a bullet", decl.name)
		}
	}
	if heading > 0 && len(bullets) == 0 {
		report.fail(f.Path, heading, "list what it promises, one sentence each", "the Contract of %s has no bullets", decl.name)
	}
	for i := range bullets {
		bullets[i].text = oneLine(bullets[i].text)
		f.checkWording(bullets[i], report)
	}
	return bullets
}

// checkWording keeps promises testable: whole, single, and without a way out.
func (f *GoFile) checkWording(bullet sentence, report *Report) {
	if !strings.HasSuffix(bullet.text, ".") {
		report.fail(bullet.file, bullet.line, "end it with a full stop", "the Contract bullet %q is not a sentence", bullet.text)
	}
	if twoSentences.MatchString(bullet.text) {
		report.fail(bullet.file, bullet.line, "make two bullets, so that each is checked",
			"the Contract bullet %q is more than one sentence", bullet.text)
	}
	for _, word := range strings.Fields(bullet.text) {
		if strings.EqualFold(strings.Trim(word, ".,;:"), "should") {
			report.fail(bullet.file, bullet.line, "say what it does, in the present tense",
				"the Contract bullet %q leaves a way out", bullet.text)
		}
	}
}

// quotesOf reads the Claim lines of everything that runs.
func quotesOf(repo *Repo, report *Report) []sentence {
	var quotes []sentence
	for _, file := range repo.Go {
		checks := file.checks(repo, report)
		for _, group := range file.Syntax.Comments {
			claims := claimsIn(file.Path, file.lines(group))
			if len(claims) == 0 {
				continue
			}
			check, begins := checks[group]
			if !begins {
				report.fail(file.Path, claims[0].line,
					"put it directly above a Test, a Fuzz or a law of policytest, or at the top of its body",
					"a Claim stands where no check begins")
				continue
			}
			for i := range claims {
				claims[i].of = check
			}
			quotes = append(quotes, claims...)
		}
	}
	for _, name := range repo.withExt(".tla") {
		quotes = append(quotes, claimsIn(name, tlaComments(repo.text(name)))...)
	}
	return quotes
}

// checks returns the comment groups of the file in which a claim counts, with the
// name of their check: above one that runs, or at the top of its body.
func (f *GoFile) checks(repo *Repo, report *Report) map[*ast.CommentGroup]string {
	groups := map[*ast.CommentGroup]string{}
	for _, decl := range f.functions() {
		if decl.Body == nil || !f.isCheck(decl) {
			continue
		}
		var claims []sentence
		for _, group := range f.opening(decl) {
			groups[group] = decl.Name.Name
			claims = append(claims, claimsIn(f.Path, f.lines(group))...)
		}
		if len(claims) == 0 {
			continue
		}
		if len(decl.Body.List) == 0 {
			report.fail(f.Path, claims[0].line, "write the check", "%s claims a promise and is empty", decl.Name.Name)
		}
		if f.neverBuilt() {
			report.fail(f.Path, claims[0].line, "remove the build line", "%s claims a promise and is never built", decl.Name.Name)
		}
		if !f.Test && !repo.mentions(decl.Name) {
			report.fail(f.Path, claims[0].line, "add it to the list of laws",
				"the law %s claims a promise and nothing runs it", decl.Name.Name)
		}
	}
	return groups
}

// isCheck reports whether the function is evidence: a test or a fuzz target, or
// any function of policytest, whose laws run inside the tests of others. A
// benchmark or an example asserts nothing.
func (f *GoFile) isCheck(decl *ast.FuncDecl) bool {
	if !f.Test {
		return f.Folder == "pkg/policytest"
	}
	return runsAs(decl, "Test", "T") || f.isFuzzTarget(decl)
}

func (f *GoFile) isFuzzTarget(decl *ast.FuncDecl) bool { return f.Test && runsAs(decl, "Fuzz", "F") }

// isLaw reports whether the function is a law of policytest: one that claims.
func (f *GoFile) isLaw(decl *ast.FuncDecl) bool {
	return !f.Test && f.isCheck(decl) && decl.Body != nil &&
		slices.ContainsFunc(f.opening(decl), func(group *ast.CommentGroup) bool {
			return len(claimsIn(f.Path, f.lines(group))) > 0
		})
}

// runsAs reports whether go test runs the function: its name has the prefix and
// its only parameter is a pointer to the type of package testing.
func runsAs(decl *ast.FuncDecl, prefix, typeName string) bool {
	rest, found := strings.CutPrefix(decl.Name.Name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	if !found || unicode.IsLower(first) || decl.Recv != nil || decl.Type.Params.NumFields() != 1 {
		return false
	}
	pointer, ok := decl.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == typeName
}

// opening returns the comment above the function and those before its first
// statement.
func (f *GoFile) opening(decl *ast.FuncDecl) []*ast.CommentGroup {
	var groups []*ast.CommentGroup
	if decl.Doc != nil {
		groups = append(groups, decl.Doc)
	}
	end := decl.Body.Rbrace
	if len(decl.Body.List) > 0 {
		end = decl.Body.List[0].Pos()
	}
	for _, group := range f.Syntax.Comments {
		if decl.Body.Lbrace < group.Pos() && group.Pos() < end {
			groups = append(groups, group)
		}
	}
	return groups
}

// neverBuilt reports whether a build line asks for the tag that nobody sets.
func (f *GoFile) neverBuilt() bool {
	for _, group := range f.Syntax.Comments {
		for _, comment := range group.List {
			if rest, ok := strings.CutPrefix(comment.Text, "//go:build "); ok && strings.Fields(rest)[0] == "ignore" {
				return true
			}
		}
	}
	return false
}

// mentions reports whether any file uses the name besides declaring it.
func (r *Repo) mentions(declared *ast.Ident) bool {
	found := false
	for _, file := range r.Go {
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if ident, ok := node.(*ast.Ident); ok && ident != declared && ident.Name == declared.Name {
				found = true
			}
			return !found
		})
	}
	return found
}

// claimsIn reads the Claim lines of one comment. A claim goes on over the lines
// below it until an empty line, the next claim, or the line that says which code
// keeps it, which goes on in the same way.
func claimsIn(file string, lines []docLine) []sentence {
	var claims []sentence
	var open *string
	for _, line := range lines {
		text := strings.TrimSpace(line.text)
		if rest, ok := strings.CutPrefix(text, "Claim:"); ok {
			claims = append(claims, sentence{text: rest, file: file, line: line.line})
			open = &claims[len(claims)-1].text
		} else if rest, ok := strings.CutPrefix(text, "Code:"); ok && open != nil {
			open = &claims[len(claims)-1].code
			*open = rest
		} else if text == "" {
			open = nil
		} else if open != nil {
			*open += " " + text
		}
	}
	for i := range claims {
		claims[i].text, claims[i].code = oneLine(claims[i].text), oneLine(claims[i].code)
	}
	return claims
}

// tlaComments returns the line comments of a TLA+ module. A line of the module
// itself ends a claim like an empty comment does.
func tlaComments(text string) []docLine {
	var lines []docLine
	for _, line := range numbered(text) {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line.text), `\*`)
		if !isComment {
			comment = ""
		}
		lines = append(lines, docLine{comment, line.line})
	}
	return lines
}

// exceptionsOf reads the exceptions file: a sentence at the margin, then at least
// one indented line that says why nothing checks it yet.
func exceptionsOf(repo *Repo, report *Report) []sentence {
	var exceptions []sentence
	var reasons []int // how many lines of reason each exception has
	for _, line := range numbered(repo.text(exceptionsFile)) {
		text := strings.TrimSpace(line.text)
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case line.text[0] != ' ' && line.text[0] != '\t':
			exceptions = append(exceptions, sentence{text: oneLine(text), file: exceptionsFile, line: line.line})
			reasons = append(reasons, 0)
		case len(exceptions) == 0:
			report.fail(exceptionsFile, line.line, "write the sentence at the margin above it", "a reason stands without its sentence")
		default:
			reasons[len(reasons)-1]++
		}
	}
	for i, exception := range exceptions {
		if reasons[i] == 0 {
			report.fail(exception.file, exception.line, "write it below, indented", "the exception %q has no reason", exception.text)
		}
	}
	return exceptions
}

// oneLine makes two texts equal that differ only in how they were wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
