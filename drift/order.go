package drift

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/importer"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// ordered are the folders whose files form an order that their doc.go states.
var ordered = []string{"pkg/dispatch", "pkg/poisehttp"}

// orderHeading begins the list of files in a package comment.
const orderHeading = "# Files"

// Order checks that no file of a folder refers to a file that its doc.go lists
// below it. The list stands under the heading "# Files" of the package comment, the
// lowest file first, one an indented line.
func Order(repo *Repo) Report {
	report := Report{Checker: "order", Things: "references between files"}
	loaded := &loader{repo: repo, std: importer.Default(), packages: map[string]*types.Package{}}
	for _, folder := range ordered {
		if repo.HasFolder(folder) {
			repo.checkOrder(&report, folder, loaded)
		}
	}
	return report
}

func (r *Repo) checkOrder(report *Report, folder string, loaded *loader) {
	files := r.built(folder)
	doc := folder + "/doc.go"
	rank := map[string]int{}
	for _, name := range listed(files, doc) {
		if _, twice := rank[name]; twice {
			report.fail(doc, 1, "list it once", "%s is listed twice", name)
		}
		rank[name] = len(rank)
		if !slices.ContainsFunc(files, func(f *GoFile) bool { return path.Base(f.Path) == name }) {
			report.fail(doc, 1, "drop it", "%s is listed and does not exist", name)
		}
	}
	if len(rank) == 0 {
		report.fail(doc, 1, "list them under "+orderHeading+", lowest first", "the order of the files is not stated")
		return
	}
	for _, file := range files {
		if _, found := rank[path.Base(file.Path)]; !found && file.Path != doc {
			report.fail(file.Path, 1, "list it in doc.go", "the file has no place in the order")
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	loaded.check(folder, files, info)
	first := map[[2]string]*ast.Ident{} // of each file that refers upward, and to which
	for ident, object := range info.Uses {
		at := declared(object)
		if at == token.NoPos || object.Pkg() == nil || object.Pkg().Path() != r.Module+"/"+folder { // positions of others are those of another set
			continue
		}
		from, to := r.fset.Position(ident.Pos()).Filename, r.fset.Position(at).Filename
		if from == to || path.Dir(to) != folder {
			continue
		}
		report.Checked++
		pair := [2]string{path.Base(from), path.Base(to)}
		if rank[pair[1]] > rank[pair[0]] && (first[pair] == nil || ident.Pos() < first[pair].Pos()) {
			first[pair] = ident
		}
	}
	for pair, ident := range first {
		report.fail(path.Join(folder, pair[0]), r.fset.Position(ident.Pos()).Line, "move one of the two, or reverse the reference",
			"%s refers to %s of %s, which stands above it", pair[0], ident.Name, pair[1])
	}
}

// declared returns where the object, or what it is an instance of, is declared.
func declared(object types.Object) token.Pos {
	switch of := object.(type) {
	case *types.Func:
		return of.Origin().Pos()
	case *types.Var:
		return of.Origin().Pos()
	case *types.PkgName:
		return token.NoPos
	}
	return object.Pos()
}

// listed returns the files that a doc.go lists, lowest first.
func listed(files []*GoFile, doc string) (names []string) {
	for _, file := range files {
		if file.Path != doc || file.Syntax.Doc == nil {
			continue
		}
		within := false
		for line := range strings.Lines(file.Syntax.Doc.Text()) {
			switch name := strings.TrimSpace(line); {
			case strings.HasPrefix(line, "#"):
				within = name == orderHeading
			case within && strings.HasPrefix(line, "\t") && strings.HasSuffix(name, ".go"):
				names = append(names, name)
			}
		}
	}
	return names
}

// built returns the files of a folder that a build without tags compiles.
func (r *Repo) built(folder string) (files []*GoFile) {
	for _, file := range r.Go {
		if file.Folder == folder && !file.Test && file.built() {
			files = append(files, file)
		}
	}
	return files
}

// built reports whether a build without tags compiles the file.
func (f *GoFile) built() bool {
	lines := bufio.NewScanner(bytes.NewReader(f.Source))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "package ") {
			return true
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(line)
		return err == nil && expr.Eval(func(tag string) bool { return tag == "linux" || tag == "amd64" || tag == "unix" })
	}
	return true
}

// loader checks the types of packages, those of the module from the tree. It goes on
// over errors: what is not known is not judged.
type loader struct {
	repo     *Repo
	std      types.Importer
	packages map[string]*types.Package
}

// Import is how a package of the tree finds another one.
func (l *loader) Import(name string) (*types.Package, error) {
	if p := l.packages[name]; p != nil {
		return p, nil
	}
	folder, ours := strings.CutPrefix(name, l.repo.Module+"/")
	if !ours {
		return l.std.Import(name)
	}
	p := l.check(folder, l.repo.built(folder), nil)
	l.packages[name] = p
	return p, nil
}

// check checks the types of the files of a folder.
func (l *loader) check(folder string, files []*GoFile, info *types.Info) *types.Package {
	syntax := make([]*ast.File, len(files))
	for i, file := range files {
		syntax[i] = file.Syntax
	}
	cfg := types.Config{Importer: l, Error: func(error) {}}
	p, _ := cfg.Check(l.repo.Module+"/"+folder, l.repo.fset, syntax, info)
	return p
}
