package drift

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	policyFileLimit = 300 // lines of code in one policy file
	functionLimit   = 50  // lines of code in one function of a policy file
)

var (
	emptyNames = []string{"util", "utils", "common", "types", "helper", "helpers", "misc"}
	laterMark  = regexp.MustCompile(`\b(TODO|FIXME)\b`)
	// textFiles are read for marks of work left for later, besides Go and markdown.
	textFiles = []string{".tla", ".cfg", ".sh", ".yml", ".yaml", ".mk"}

	verificationFolders  = []string{"models", "linearizability", "fuzz", "drift", "sim", "mutation"}
	verificationHeadings = []string{"What runs", "What a pass means", "What it does not show", "How to reproduce a failure"}
)

// Tidy checks the rules of the house that need no words of their own: names that
// say something, files and functions of a size one can read, a doc for every
// package, no work left for later, and policies that the common laws cover.
func Tidy(repo *Repo) Report {
	report := Report{Checker: "tidy", Things: "files", Checked: len(repo.Files)}
	checkNames(repo, &report)
	checkLaterMarks(repo, &report)
	checkPackageDocs(repo, &report)
	checkNoSkips(repo, &report)
	checkReadmes(repo, &report)
	checkPolicies(repo, &report)
	return report
}

func checkNames(repo *Repo, report *Report) {
	seen := map[string]bool{}
	for _, name := range repo.Files {
		for prefix := name; prefix != "."; prefix = path.Dir(prefix) {
			word, _, _ := strings.Cut(path.Base(prefix), ".")
			word = strings.TrimSuffix(word, "_test")
			if !seen[prefix] && slices.Contains(emptyNames, word) {
				report.fail(prefix, 1, "name it after what it holds", "the name %s says only that there is more code", path.Base(prefix))
			}
			seen[prefix] = true
		}
	}
}

func checkLaterMarks(repo *Repo, report *Report) {
	check := func(file string, lines []docLine) {
		for _, line := range lines {
			if mark := laterMark.FindString(line.text); mark != "" {
				report.fail(file, line.line, "do it, or file an issue and delete the mark", "a %s is left", mark)
			}
		}
	}
	for _, file := range repo.Go {
		for _, group := range file.Syntax.Comments {
			check(file.Path, file.lines(group))
		}
	}
	for _, doc := range repo.documents() {
		check(doc.path, doc.prose)
	}
	for _, name := range repo.Files {
		if slices.Contains(textFiles, path.Ext(name)) || path.Base(name) == "Makefile" {
			check(name, numbered(repo.text(name)))
		}
	}
}

func checkPackageDocs(repo *Repo, report *Report) {
	first := map[string]*GoFile{}
	documented := map[string]bool{}
	for _, file := range repo.Go {
		if first[file.Folder] == nil {
			first[file.Folder] = file
		}
		if file.Syntax.Doc != nil && strings.TrimSpace(file.Syntax.Doc.Text()) != "" {
			documented[file.Folder] = true
		}
	}
	for folder, file := range first {
		if !documented[folder] {
			report.fail(file.Path, 1, "write a comment above the package clause of one file", "the package in %s has no doc", folder)
		}
	}
}

func checkNoSkips(repo *Repo, report *Report) {
	skips := []string{"Skip", "SkipNow", "Skipf"}
	for _, file := range repo.Go {
		if !file.Test && file.Folder != "pkg/policytest" {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(skips, selector.Sel.Name) {
				if _, ok := selector.X.(*ast.Ident); ok {
					report.fail(file.Path, file.line(call.Pos()), "let it run, fail, or not exist", "a test may skip itself and look green")
				}
			}
			return true
		})
	}
}

// checkReadmes holds every kind of evidence to the same four answers.
func checkReadmes(repo *Repo, report *Report) {
	for _, folder := range verificationFolders {
		if !repo.HasFolder(folder) {
			continue
		}
		name := path.Join(folder, "README.md")
		var found []string
		doc := parseDocument(name, repo.text(name))
		for _, heading := range doc.headings {
			if heading.level > 1 {
				found = append(found, heading.text)
			}
		}
		if !slices.Equal(found, verificationHeadings) {
			report.fail(name, 1, "have exactly "+strings.Join(verificationHeadings, ", ")+" below the title",
				"the headings are %q", found)
		}
	}
}

// policy is a type of pkg/policy that declares itself a poise.Policy.
type policy struct {
	name string
	file *GoFile
	line int
}

// policiesOf reads the lines var _ poise.Policy = (*X)(nil).
func policiesOf(repo *Repo) []policy {
	var policies []policy
	for _, file := range repo.product() {
		if file.Folder != "pkg/policy" {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || spec.Names[0].Name != "_" || len(spec.Values) != 1 {
				return true
			}
			if selector, ok := spec.Type.(*ast.SelectorExpr); ok && selector.Sel.Name == "Policy" {
				policies = append(policies, policy{assertedType(spec.Values[0]), file, file.line(spec.Pos())})
			}
			return true
		})
	}
	return policies
}

// assertedType returns the first name in (*X)(nil), X{} or new(X).
func assertedType(expr ast.Expr) string {
	name := ""
	ast.Inspect(expr, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok && name == "" && ident.Name != "new" {
			name = ident.Name
		}
		return name == ""
	})
	return name
}

// checkPolicies makes it impossible to add a policy that the common laws do not
// cover, be it by not naming it in a test or by not saying that it is one.
func checkPolicies(repo *Repo, report *Report) {
	policies := policiesOf(repo)
	if len(policies) == 0 && repo.HasFolder("pkg/policy") {
		report.fail("pkg/policy", 1, "write var _ poise.Policy = (*X)(nil) below each type", "no type declares itself a policy")
	}
	covered := namesUnderLaws(repo)
	declared := map[string]bool{}
	inFile := map[string]string{}
	for _, p := range policies {
		declared[p.name] = true
		if !covered[p.name] && !covered["New"+p.name] {
			report.fail(p.file.Path, p.line, "name it in a test of pkg/policy that calls policytest",
				"no test holds %s to the common laws", p.name)
		}
		if other := inFile[p.file.Path]; other != "" {
			report.fail(p.file.Path, p.line, "give each policy a file of its own", "%s and %s share a file", other, p.name)
		}
		inFile[p.file.Path] = p.name
	}
	for _, file := range repo.product() {
		if file.Folder != "pkg/policy" {
			continue
		}
		file.checkSizes(report)
		for _, decl := range file.functions() {
			receiver, _ := receiverOf(decl)
			if decl.Name.Name == "Prepare" && ast.IsExported(receiver) && !declared[receiver] {
				report.fail(file.Path, file.line(decl.Pos()), "write var _ poise.Policy = (*"+receiver+")(nil) below the type",
					"%s has a Prepare and does not declare itself a policy", receiver)
			}
		}
	}
}

// checkSizes keeps a policy readable in one sitting.
func (f *GoFile) checkSizes(report *Report) {
	lines := f.codeLines()
	if n := len(lines); n > policyFileLimit {
		report.fail(f.Path, 1, "move arithmetic that two policies share into pkg/internal",
			"the file has %d lines of code, more than %d", n, policyFileLimit)
	}
	for _, decl := range f.functions() {
		n := 0
		for line := range lines {
			if f.line(decl.Pos()) <= line && line <= f.line(decl.End()) {
				n++
			}
		}
		if n > functionLimit {
			report.fail(f.Path, f.line(decl.Pos()), "split it where the branching ends and the computing begins",
				"%s has %d lines of code, more than %d", decl.Name.Name, n, functionLimit)
		}
	}
}

// codeLines returns the lines that hold more than comment and space.
func (f *GoFile) codeLines() map[int]bool {
	lines := map[int]bool{}
	fset := token.NewFileSet()
	handle := fset.AddFile(f.Path, -1, len(f.Source))
	var s scanner.Scanner
	s.Init(handle, f.Source, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := fset.Position(pos).Line
		for i := range 1 + strings.Count(literal, "\n") {
			lines[first+i] = true
		}
	}
}

// namesUnderLaws returns the names that a declaration of pkg/policy's tests uses
// if it calls policytest, or is used by one that does: laws are usually run over
// a table that stands elsewhere.
func namesUnderLaws(repo *Repo) map[string]bool {
	names := map[string]bool{}
	uses := map[string][]string{} // test declaration → names in it
	var queue []string
	for _, file := range repo.Go {
		if file.Folder != "pkg/policy" || !file.Test {
			continue
		}
		laws := file.importedAs(repo.Module + "/pkg/policytest")
		for declared, node := range file.topLevel() {
			ast.Inspect(node, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.Ident:
					uses[declared] = append(uses[declared], node.Name)
				case *ast.CallExpr:
					if selector, ok := node.Fun.(*ast.SelectorExpr); ok {
						if x, ok := selector.X.(*ast.Ident); ok && laws != "" && x.Name == laws {
							queue = append(queue, declared)
						}
					}
				}
				return true
			})
		}
	}
	for len(queue) > 0 {
		declared := queue[0]
		queue = queue[1:]
		for _, name := range uses[declared] {
			if !names[name] {
				names[name] = true
				queue = append(queue, name)
			}
		}
	}
	return names
}

// topLevel returns the declarations of the file by name.
func (f *GoFile) topLevel() map[string]ast.Node {
	nodes := map[string]ast.Node{}
	for _, decl := range f.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			nodes[decl.Name.Name] = decl
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						nodes[name.Name] = spec
					}
				case *ast.TypeSpec:
					nodes[spec.Name.Name] = spec
				}
			}
		}
	}
	return nodes
}
