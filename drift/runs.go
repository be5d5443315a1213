package drift

import (
	"cmp"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Run is a test or a fuzz target that go test can run alone.
type Run struct {
	Folder string
	Test   string
	Tag    string // the build tag that its file asks for
}

// runsOf are the tests in which a quoting check runs: itself; for a law every test that
// hands a policy to policytest; for a specification those that walk its state graph.
func runsOf(repo *Repo, quote sentence) []Run {
	switch {
	case path.Ext(quote.file) == ".tla":
		graph := "/" + path.Base(path.Dir(quote.file)) + "/" + strings.TrimSuffix(path.Base(quote.file), ".tla") + ".graph"
		var found []Run
		for _, folder := range []string{"spec/replay", "models/walk"} {
			loads := repo.testsThat(folder, func(_ *GoFile, node ast.Node) bool {
				literal, ok := node.(*ast.BasicLit)
				return ok && literal.Kind == token.STRING && strings.HasSuffix(strings.Trim(literal.Value, `"`), graph)
			})
			walks := repo.testsThat(folder, func(_ *GoFile, node ast.Node) bool {
				called, ok := node.(*ast.SelectorExpr)
				return ok && (called.Sel.Name == "Walk" || called.Sel.Name == "WalkSteps")
			})
			for _, run := range loads {
				if slices.Contains(walks, run) {
					found = append(found, run)
				}
			}
		}
		return found
	case under(quote.file, "pkg/policytest") && !strings.HasSuffix(quote.file, "_test.go"):
		var found []Run
		for folder := range repo.folders {
			if under(folder, "pkg") && folder != "pkg/policytest" {
				found = append(found, repo.testsThat(folder, func(file *GoFile, node ast.Node) bool {
					called, ok := node.(*ast.SelectorExpr)
					if !ok || called.Sel.Name != "Run" && called.Sel.Name != "Check" {
						return false
					}
					from, ok := called.X.(*ast.Ident)
					return ok && from.Name == file.importedAs(repo.Module+"/pkg/policytest")
				})...)
			}
		}
		slices.SortFunc(found, Run.Compare)
		return found
	}
	for _, file := range repo.Go {
		if file.Path == quote.file {
			return []Run{{file.Folder, quote.of, file.tag()}}
		}
	}
	return nil
}

// Compare orders tests by folder, name and tag.
func (r Run) Compare(o Run) int {
	return cmp.Or(cmp.Compare(r.Folder, o.Folder), cmp.Compare(r.Test, o.Test), cmp.Compare(r.Tag, o.Tag))
}

// tag is the build tag that the first line of the file asks for.
func (f *GoFile) tag() string {
	for _, group := range f.Syntax.Comments {
		for _, comment := range group.List {
			if rest, ok := strings.CutPrefix(comment.Text, "//go:build "); ok && rest[0] != '!' {
				return strings.Fields(rest)[0]
			}
		}
	}
	return ""
}

// testsThat returns the tests of a folder that hold such a node, or name a declaration
// of the folder that does.
func (r *Repo) testsThat(folder string, holds func(*GoFile, ast.Node) bool) []Run {
	names := map[string][]string{} // by declaration
	hit := map[string]bool{}
	var tests []Run
	declare := func(file *GoFile, name string, node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			if ident, ok := n.(*ast.Ident); ok && ident.Name != name {
				names[name] = append(names[name], ident.Name)
			}
			hit[name] = hit[name] || holds(file, n)
			return true
		})
	}
	for _, file := range r.Go {
		if file.Folder != folder || !file.Test {
			continue
		}
		for _, decl := range file.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				declare(file, decl.Name.Name, decl)
				if runsAs(decl, "Test", "T") {
					tests = append(tests, Run{folder, decl.Name.Name, file.tag()})
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range spec.Names {
							declare(file, name.Name, spec)
						}
					}
				}
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for name, mentions := range names {
			if !hit[name] && slices.ContainsFunc(mentions, func(m string) bool { return hit[m] }) {
				hit[name], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(tests, func(t Run) bool { return !hit[t.Test] })
}
