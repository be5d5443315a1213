package drift

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/printer"
	"go/token"
	"go/types"
	"io"
	"path"
	"slices"
	"strings"
)

const apiFile = "drift/api.txt"

const apiHeader = `# The exported API of pkg, one line each. Do not edit; a change that is meant is written by
#     go test ./drift -run TestAPI -update
# and committed on its own, so that a reviewer sees what users will see.
`

// API compares the exported API with the frozen one. Adding to it is a promise and
// removing from it breaks one, so neither may happen by the way.
func API(repo *Repo) Report {
	report := Report{Checker: "api", Things: "exported names"}
	const renew = "undo it, or run go test ./drift -run TestAPI -update if users are meant to see it"
	now := apiOf(repo)
	report.Checked = len(now)

	frozen := map[string]int{}
	for _, line := range numbered(repo.text(apiFile)) {
		if line.text != "" && !strings.HasPrefix(line.text, "#") {
			frozen[line.text] = line.line
		}
	}
	present := map[string]bool{}
	for _, entry := range now {
		present[entry.text] = true
		if frozen[entry.text] == 0 {
			report.fail(entry.file, entry.line, renew, "the API has %q, which %s does not know", entry.text, apiFile)
		}
	}
	for line, number := range frozen {
		if !present[line] {
			report.fail(apiFile, number, renew, "the API no longer has %q", line)
		}
	}
	return report
}

// WriteAPI writes the API in the form of the frozen file.
func WriteAPI(w io.Writer, repo *Repo) error {
	var text strings.Builder
	text.WriteString(apiHeader)
	for _, entry := range apiOf(repo) {
		text.WriteString(entry.text + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// apiOf returns the sorted lines of the default build. What a build tag adds for
// judges is no promise to users.
func apiOf(repo *Repo) []sentence {
	var entries []sentence
	byFolder := map[string][]*GoFile{}
	for _, file := range repo.public() {
		if repo.inDefaultBuild(file) {
			byFolder[file.Folder] = append(byFolder[file.Folder], file)
		}
	}
	for folder, files := range byFolder {
		values := constantsOf(repo, folder, files)
		for _, file := range files {
			a := apiLister{file: file, values: values}
			for _, decl := range file.Syntax.Decls {
				a.decl(decl)
			}
			entries = append(entries, a.entries...)
		}
	}
	slices.SortFunc(entries, func(a, b sentence) int { return strings.Compare(a.text, b.text) })
	return entries
}

// inDefaultBuild reports whether the file is built without tags. The platform is
// fixed, so that the frozen file is the same on every machine.
func (r *Repo) inDefaultBuild(file *GoFile) bool {
	context := build.Default
	context.GOOS, context.GOARCH, context.BuildTags = "linux", "amd64", nil
	context.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Source)), nil
	}
	match, err := context.MatchFile(file.Folder, path.Base(file.Path))
	return err == nil && match
}

// noImports stands in for the packages that a folder imports: constants rarely
// need them, and compiling net/http to learn a number would take seconds.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// constantsOf returns the values of the exported constants. Their order in the
// source is part of the API: swapping two of them breaks users silently.
func constantsOf(repo *Repo, folder string, files []*GoFile) map[string]string {
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{IgnoreFuncBodies: true, Importer: noImports{}, Error: func(error) {}}
	var syntax []*ast.File
	for _, file := range files {
		syntax = append(syntax, file.Syntax)
	}
	_, _ = config.Check(folder, repo.fset, syntax, &info) // what it cannot resolve is printed as written
	values := map[string]string{}
	for _, object := range info.Defs {
		c, ok := object.(*types.Const)
		if !ok || c.Parent() != c.Pkg().Scope() || c.Val().Kind() == constant.Unknown {
			continue
		}
		value := " = " + c.Val().ExactString()
		if named, ok := c.Type().(*types.Named); ok {
			value = " " + named.Obj().Name() + value
		}
		values[c.Name()] = value
	}
	return values
}

// apiLister collects the lines of one file.
type apiLister struct {
	file    *GoFile
	values  map[string]string
	entries []sentence
}

func (a *apiLister) add(pos token.Pos, format string, args ...any) {
	text := a.file.Folder + ", " + fmt.Sprintf(format, args...)
	a.entries = append(a.entries, sentence{text: text, file: a.file.Path, line: a.file.line(pos)})
}

func (a *apiLister) decl(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		a.function(decl)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					a.typeSpec(spec)
				}
			case *ast.ValueSpec:
				a.valueSpec(decl.Tok, spec)
			}
		}
	}
}

func (a *apiLister) function(decl *ast.FuncDecl) {
	if !decl.Name.IsExported() {
		return
	}
	receiver, pointer := receiverOf(decl)
	switch {
	case receiver == "":
		a.add(decl.Pos(), "func %s%s%s", decl.Name.Name, typeParams(decl.Type.TypeParams), signature(decl.Type))
	case ast.IsExported(receiver):
		if pointer {
			receiver = "*" + receiver
		}
		a.add(decl.Pos(), "method (%s) %s%s", receiver, decl.Name.Name, signature(decl.Type))
	}
}

func (a *apiLister) valueSpec(kind token.Token, spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		rest, known := a.values[name.Name]
		if !known && spec.Type != nil {
			rest = " " + typeText(spec.Type)
		}
		if !known && kind == token.CONST && i < len(spec.Values) {
			rest += " = " + typeText(spec.Values[i])
		}
		a.add(name.Pos(), "%s %s%s", kind, name.Name, rest)
	}
}

func (a *apiLister) typeSpec(spec *ast.TypeSpec) {
	head := "type " + spec.Name.Name + typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		a.add(spec.Pos(), "%s = %s", head, typeText(spec.Type))
		return
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		a.add(spec.Pos(), "%s struct", head)
		a.fields(head+" struct", typ.Fields)
	case *ast.InterfaceType:
		a.add(spec.Pos(), "%s interface", head)
		a.methods(head+" interface", typ.Methods)
	default:
		a.add(spec.Pos(), "%s %s", head, typeText(typ))
	}
}

func (a *apiLister) fields(head string, fields *ast.FieldList) {
	for _, field := range fields.List {
		if len(field.Names) == 0 && ast.IsExported(embeddedName(field.Type)) {
			a.add(field.Pos(), "%s, embedded %s", head, typeText(field.Type))
		}
		for _, name := range field.Names {
			if name.IsExported() {
				a.add(name.Pos(), "%s, %s %s", head, name.Name, typeText(field.Type))
			}
		}
	}
}

func (a *apiLister) methods(head string, methods *ast.FieldList) {
	for _, method := range methods.List {
		if len(method.Names) == 0 {
			a.add(method.Pos(), "%s, embedded %s", head, typeText(method.Type))
		}
		for _, name := range method.Names {
			if function, ok := method.Type.(*ast.FuncType); ok && name.IsExported() {
				a.add(name.Pos(), "%s, %s%s", head, name.Name, signature(function))
			} else {
				// Nobody outside can implement such an interface: that is API too.
				a.add(name.Pos(), "%s, unexported method %s", head, name.Name)
			}
		}
	}
}

func embeddedName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.StarExpr:
		return embeddedName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	case *ast.IndexExpr:
		return embeddedName(expr.X)
	case *ast.IndexListExpr:
		return embeddedName(expr.X)
	}
	return ""
}

// signature prints parameters and results without their names, which callers
// never write.
func signature(function *ast.FuncType) string {
	text := "(" + strings.Join(fieldTypes(function.Params), ", ") + ")"
	switch results := fieldTypes(function.Results); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

func fieldTypes(fields *ast.FieldList) []string {
	var texts []string
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		text := typeText(field.Type)
		for range max(1, len(field.Names)) {
			texts = append(texts, text)
		}
	}
	return texts
}

func typeParams(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	var texts []string
	for _, field := range fields.List {
		for _, name := range field.Names {
			texts = append(texts, name.Name+" "+typeText(field.Type))
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// typeText prints an expression on one line. Function types lose the names of
// their parameters, also inside other types.
func typeText(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.FuncType:
		return "func" + signature(expr)
	case *ast.StarExpr:
		return "*" + typeText(expr.X)
	case *ast.Ellipsis:
		return "..." + typeText(expr.Elt)
	case *ast.ParenExpr:
		return "(" + typeText(expr.X) + ")"
	case *ast.MapType:
		return "map[" + typeText(expr.Key) + "]" + typeText(expr.Value)
	case *ast.ArrayType:
		if expr.Len == nil {
			return "[]" + typeText(expr.Elt)
		}
		return "[" + typeText(expr.Len) + "]" + typeText(expr.Elt)
	}
	var text strings.Builder
	_ = printer.Fprint(&text, token.NewFileSet(), expr) // a Builder refuses nothing
	return oneLine(text.String())
}
