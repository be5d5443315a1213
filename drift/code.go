package drift

import (
	"cmp"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// CodeGroup is what one name means: a function, or methods of which one is enough.
type CodeGroup struct {
	Name   string
	Ranges []CodeRange
}

// CodeRange is a function or a method of the library, and the lines of its body.
type CodeRange struct {
	Name string // as pkg/health.Circuit.Allow
	File string
	From int
	To   int
}

// code is every function of the library by its folder and name, and every method by
// its type.
type code struct {
	byName  map[string]CodeRange   // pkg/health.Circuit.Allow
	methods map[string][]CodeRange // pkg/health.Circuit
	shapes  map[string]shape       // the methods of a type
	faces   map[string]shape       // of an interface
}

// shape is the number of parameters and results of each method, by name.
type shape map[string][2]int

func codeOf(repo *Repo) code {
	c := code{map[string]CodeRange{}, map[string][]CodeRange{}, map[string]shape{}, map[string]shape{}}
	for _, file := range repo.product() {
		for _, decl := range file.functions() {
			c.add(file, decl)
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if face, ok := spec.Type.(*ast.InterfaceType); ok {
					c.faces[file.Folder+"."+spec.Name.Name] = methodsOf(face)
				}
			}
			return true
		})
	}
	return c
}

// add takes a function that has statements: nothing reaches the others.
func (c code) add(file *GoFile, decl *ast.FuncDecl) {
	receiver, _ := receiverOf(decl)
	owner := file.Folder + "." + receiver
	if receiver != "" {
		if c.shapes[owner] == nil {
			c.shapes[owner] = shape{}
		}
		c.shapes[owner][decl.Name.Name] = arity(decl.Type)
	}
	if decl.Body == nil || len(decl.Body.List) == 0 {
		return
	}
	name := strings.TrimSuffix(owner, ".") + "." + decl.Name.Name
	found := CodeRange{name, file.Path, file.line(decl.Body.Lbrace), file.line(decl.Body.Rbrace)}
	c.byName[name] = found
	if receiver != "" {
		c.methods[owner] = append(c.methods[owner], found)
	}
}

func methodsOf(face *ast.InterfaceType) shape {
	found := shape{}
	for _, field := range face.Methods.List {
		if typ, ok := field.Type.(*ast.FuncType); ok {
			for _, name := range field.Names {
				found[name.Name] = arity(typ)
			}
		}
	}
	return found
}

func arity(typ *ast.FuncType) [2]int { return [2]int{typ.Params.NumFields(), typ.Results.NumFields()} }

// of is the code of a bullet that no Code line narrows: the function or the method
// that carries it, or the methods of the type. What an interface promises, those
// types keep that have its methods.
func (c code) of(bullet sentence) []CodeRange {
	folder := path.Dir(bullet.file)
	name := folder + "." + bullet.of
	if one, ok := c.byName[name]; ok {
		return []CodeRange{one}
	}
	if face := c.faces[name]; len(face) > 0 {
		return c.implementing(face, "")
	}
	if owner, method, ok := strings.Cut(bullet.of, "."); ok {
		return c.implementing(c.faces[folder+"."+owner], method)
	}
	return c.methods[name]
}

// implementing are the methods of all types that have those of the interface; only
// one of them if it is named.
func (c code) implementing(face shape, only string) []CodeRange {
	var found []CodeRange
	for owner, has := range c.shapes {
		if len(face) == 0 || !has.covers(face) {
			continue
		}
		for _, method := range c.methods[owner] {
			name := method.Name[strings.LastIndexByte(method.Name, '.')+1:]
			if _, ok := face[name]; ok && (only == "" || name == only) {
				found = append(found, method)
			}
		}
	}
	slices.SortFunc(found, func(a, b CodeRange) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func (s shape) covers(face shape) bool {
	for name, want := range face {
		if got, ok := s[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// named is what a Code line means by a name: a function, a method, a type or an
// interface of the folder, or of another one that stands in front, as
// pkg/health.Circuit.Allow.
func (c code) named(folder, name string) []CodeRange {
	for _, full := range []string{folder + "." + name, name} {
		if one, ok := c.byName[full]; ok {
			return []CodeRange{one}
		}
		if face := c.faces[full]; len(face) > 0 {
			return c.implementing(face, "")
		}
		if methods := c.methods[full]; len(methods) > 0 {
			return methods
		}
	}
	return nil
}
