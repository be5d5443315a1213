package drift

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Repo is the tree as the checkers see it: read once, never written.
type Repo struct {
	FS     fs.FS
	Module string   // the module path of go.mod
	Files  []string // every file, sorted
	Go     []*GoFile
	// Modules are the folders below the root that are modules of their own.
	Modules []string

	fset    *token.FileSet
	folders map[string]bool

	gather   sync.Once
	evidence []EvidenceRow
}

// GoFile is one parsed file. Files under every build tag are read: a rule that
// holds only in the default build does not hold.
type GoFile struct {
	Path   string
	Folder string
	Test   bool
	Source []byte
	Syntax *ast.File

	fset *token.FileSet
}

// skipped are folders that hold results or tools and no text of ours.
var skipped = []string{".git", "out", "states", "node_modules", "vendor"}

// Load reads the tree. It fails at the first Go file that does not parse, because
// no checker could say anything about it.
func Load(fsys fs.FS) (*Repo, error) {
	repo := &Repo{FS: fsys, fset: token.NewFileSet(), folders: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		return repo.add(name)
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(repo.Files) // the walk puts a folder before a file of its name with an ending
	repo.Module = moduleLine(repo.text("go.mod"))
	if repo.Module == "" {
		return nil, fmt.Errorf("go.mod:1: no module line; check that this is the root of the repository")
	}
	return repo, nil
}

func (r *Repo) add(name string) error {
	r.Files = append(r.Files, name)
	for folder := path.Dir(name); !r.folders[folder]; folder = path.Dir(folder) {
		r.folders[folder] = true
	}
	if path.Base(name) == "go.mod" && name != "go.mod" {
		r.Modules = append(r.Modules, path.Dir(name))
	}
	if path.Ext(name) != ".go" || ignoredByGo(name) {
		return nil
	}
	source, err := fs.ReadFile(r.FS, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(r.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.Go = append(r.Go, &GoFile{
		Path:   name,
		Folder: path.Dir(name),
		Test:   strings.HasSuffix(name, "_test.go"),
		Source: source,
		Syntax: syntax,
		fset:   r.fset,
	})
	return nil
}

// ignoredByGo reports whether the go command never compiles the file because of
// its folder or name.
func ignoredByGo(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "testdata" || strings.HasPrefix(part, "_") || strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

func moduleLine(text string) string {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1]
		}
	}
	return ""
}

// HasFolder reports whether the folder holds a file, directly or deeper.
func (r *Repo) HasFolder(folder string) bool { return r.folders[folder] }

// Has reports whether the file or folder exists.
func (r *Repo) Has(name string) bool {
	_, found := slices.BinarySearch(r.Files, name)
	return found || r.folders[name]
}

// text returns the content of a file, and nothing where there is no such file.
func (r *Repo) text(name string) string {
	content, err := fs.ReadFile(r.FS, name)
	if err != nil {
		return ""
	}
	return string(content)
}

// withExt returns the files whose name ends so.
func (r *Repo) withExt(ext string) []string {
	var found []string
	for _, name := range r.Files {
		if path.Ext(name) == ext {
			found = append(found, name)
		}
	}
	return found
}

// product returns the non-test files of the library.
func (r *Repo) product() []*GoFile {
	var found []*GoFile
	for _, file := range r.Go {
		if under(file.Folder, "pkg") && !file.Test {
			found = append(found, file)
		}
	}
	return found
}

// public returns the product files that users can import.
func (r *Repo) public() []*GoFile {
	return slices.DeleteFunc(r.product(), func(file *GoFile) bool {
		return strings.Contains(file.Folder+"/", "/internal/")
	})
}

// under reports whether name is the folder or lies below it.
func under(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

func (f *GoFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// importedAs returns the name under which the file knows the package, and ""
// where it does not import it.
func (f *GoFile) importedAs(importPath string) string {
	for _, spec := range f.Syntax.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		base := path.Base(importPath)
		if strings.HasPrefix(base, "v") && strings.Trim(base[1:], "0123456789") == "" {
			base = path.Base(path.Dir(importPath))
		}
		return base
	}
	return ""
}

// functions returns the functions and methods that the file declares.
func (f *GoFile) functions() []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, decl := range f.Syntax.Decls {
		if decl, ok := decl.(*ast.FuncDecl); ok {
			found = append(found, decl)
		}
	}
	return found
}

// docLine is one line of a text, or of a comment without its marker; indentation
// is kept.
type docLine struct {
	text string
	line int
}

// numbered returns the lines of a text with their numbers.
func numbered(text string) []docLine {
	var lines []docLine
	for line := range strings.Lines(text) {
		lines = append(lines, docLine{strings.TrimRight(line, "\r\n"), len(lines) + 1})
	}
	return lines
}

// lines returns the text of a comment group, directives such as go:build left out.
func (f *GoFile) lines(group *ast.CommentGroup) []docLine {
	if group == nil {
		return nil
	}
	var lines []docLine
	for _, comment := range group.List {
		at := f.line(comment.Pos())
		if text, ok := strings.CutPrefix(comment.Text, "//"); ok {
			if isDirective(text) {
				continue
			}
			lines = append(lines, docLine{strings.TrimPrefix(text, " "), at})
			continue
		}
		body := strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
		for text := range strings.SplitSeq(body, "\n") {
			lines = append(lines, docLine{text, at})
			at++
		}
	}
	return lines
}

// isDirective reports whether the text after // is an order to a tool and not a
// sentence, as the line that embeds a file is.
func isDirective(text string) bool {
	word, rest, found := strings.Cut(text, ":")
	return found && word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == "" &&
		rest != "" && rest[0] != ' '
}

// declaration is an exported declaration of the public library with its doc.
type declaration struct {
	file *GoFile
	name string // as a reader would say it: View, NewView, View.Select, Policy.Prepare
	doc  *ast.CommentGroup
	line int
	typ  *ast.TypeSpec // nil for functions and methods
}

// exportedDecls returns the exported types, functions, methods and interface
// methods of the file.
func (f *GoFile) exportedDecls() []declaration {
	var found []declaration
	for _, decl := range f.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			receiver, _ := receiverOf(decl)
			if receiver != "" {
				name = receiver + "." + name
			}
			if decl.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
				found = append(found, declaration{f, name, decl.Doc, f.line(decl.Pos()), nil})
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					found = append(found, f.exportedType(decl, spec)...)
				}
			}
		}
	}
	return found
}

func (f *GoFile) exportedType(decl *ast.GenDecl, spec *ast.TypeSpec) []declaration {
	doc := spec.Doc
	if doc == nil && !decl.Lparen.IsValid() {
		doc = decl.Doc
	}
	found := []declaration{{f, spec.Name.Name, doc, f.line(spec.Pos()), spec}}
	if methods, ok := spec.Type.(*ast.InterfaceType); ok {
		for _, field := range methods.Methods.List {
			for _, name := range field.Names {
				if name.IsExported() {
					found = append(found, declaration{f, spec.Name.Name + "." + name.Name, field.Doc, f.line(field.Pos()), nil})
				}
			}
		}
	}
	return found
}

// receiverOf returns the name of the receiver's type, "" for a function, and
// whether the receiver is a pointer.
func receiverOf(decl *ast.FuncDecl) (name string, pointer bool) {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return "", false
	}
	expr := decl.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr, pointer = e.X, true
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name, pointer
		default:
			return "", pointer
		}
	}
}

// number returns what digits say.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
