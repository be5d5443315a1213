package mutation

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// walker looks for the places of one file.
type walker struct {
	pkg    *packages.Package
	info   *types.Info
	file   *ast.File
	path   string // in the module
	source []byte
	base   int // offset of the file in the file set

	parents   []ast.Node
	function  string
	signature *types.Signature

	edits   []*edit
	mutants []*Mutant
}

// find returns the edits of the file.
func (w *walker) find() {
	ast.Inspect(w.file, func(n ast.Node) bool {
		if n == nil {
			w.parents = w.parents[:len(w.parents)-1]
			return true
		}
		if w.skips(n) {
			return false
		}
		w.enter(n)
		for _, o := range Operators {
			o.find(w, n)
		}
		// A constant expression is one place, whatever it is made of.
		if e, ok := n.(ast.Expr); ok && w.constant(e) {
			return false
		}
		w.parents = append(w.parents, n)
		return true
	})
}

// skips reports whether nothing in the node can be switched at run time: types,
// constants, imports, labels and the lengths of arrays.
func (w *walker) skips(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.FuncType, *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.MapType, *ast.ChanType, *ast.FieldList, *ast.CommentGroup:
		return true
	case ast.Expr:
		tv, ok := w.info.Types[n]
		return ok && tv.IsType()
	}
	return false
}

// enter notes which function the walk is in.
func (w *walker) enter(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		w.function = n.Name.Name
		if n.Recv != nil && len(n.Recv.List) == 1 {
			t := w.text(n.Recv.List[0].Type)
			if strings.HasPrefix(t, "*") {
				t = "(" + t + ")"
			}
			w.function = t + "." + n.Name.Name
		}
		if o, ok := w.info.Defs[n.Name].(*types.Func); ok {
			w.signature = o.Signature()
		}
	case *ast.GenDecl:
		if len(w.parents) == 1 {
			w.function, w.signature = "init", nil
		}
	case *ast.ReturnStmt:
		w.signature = w.enclosing()
	}
}

// enclosing returns the signature of the innermost function.
func (w *walker) enclosing() *types.Signature {
	for i := len(w.parents) - 1; i >= 0; i-- {
		switch f := w.parents[i].(type) {
		case *ast.FuncLit:
			s, _ := w.info.TypeOf(f).(*types.Signature)
			return s
		case *ast.FuncDecl:
			if o, ok := w.info.Defs[f.Name].(*types.Func); ok {
				return o.Signature()
			}
		}
	}
	return nil
}

// text is the source of the node.
func (w *walker) text(n ast.Node) string {
	return string(w.source[w.offset(n.Pos()):w.offset(n.End())])
}

func (w *walker) offset(p token.Pos) int { return int(p) - w.base }

// constant reports whether the compiler knows the value.
func (w *walker) constant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

// wholeConstant reports whether the expression is a constant written out here, that is
// no name and no part of another constant, in a place where a variable may stand.
func (w *walker) wholeConstant(e ast.Expr) bool {
	if !w.constant(e) {
		return false
	}
	named := true
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind != token.STRING {
			named = false
		}
		return true
	})
	if id, ok := astutil.Unparen(e).(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") && w.info.Uses[id].Parent() == types.Universe {
		named = false
	}
	if named {
		return false
	}
	parent := w.parents[len(w.parents)-1]
	switch p := parent.(type) {
	case ast.Expr:
		if w.constant(p) {
			return false
		}
		if kv, ok := p.(*ast.KeyValueExpr); ok && kv.Key == e {
			return false // an index of an array has to be a constant
		}
		if b, ok := p.(*ast.BinaryExpr); ok && (b.Op == token.SHL || b.Op == token.SHR) && b.X == e {
			return false // its type comes from elsewhere
		}
		if c, ok := p.(*ast.CallExpr); ok {
			if tv := w.info.Types[c.Fun]; tv.IsType() {
				return false // a conversion of a constant is one
			}
		}
	case *ast.CaseClause:
		return false
	}
	return true
}

// isZero reports whether the expression is the zero value already.
func (w *walker) isZero(e ast.Expr) bool {
	switch v := w.info.Types[e].Value; {
	case v != nil:
		s := v.ExactString()
		return s == "0" || s == "false" || s == `""`
	}
	c, ok := e.(*ast.CompositeLit)
	return ok && len(c.Elts) == 0 && !w.isMapOrSlice(c)
}

func (w *walker) isMapOrSlice(e ast.Expr) bool {
	switch w.info.TypeOf(e).Underlying().(type) {
	case *types.Map, *types.Slice:
		return true
	}
	return false
}

// plainBool reports whether the type is bool itself.
func (w *walker) plainBool(e ast.Expr) bool {
	t, ok := w.info.TypeOf(e).(*types.Basic)
	return ok && t.Info()&types.IsBoolean != 0
}

// typeName returns how this file writes the type, and false if it cannot.
func (w *walker) typeName(t types.Type) (string, bool) {
	ok := true
	t = types.Default(t)
	name := types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg.Types {
			return ""
		}
		for _, i := range w.file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); path == p.Path() {
				if i.Name != nil {
					return i.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return ""
	})
	return name, ok && !strings.Contains(name, "untyped")
}

// operandType returns the type of the operands of a comparison or of arithmetic, and
// false if it is no type that helpers take.
func (w *walker) operandType(e *ast.BinaryExpr) (string, bool) {
	t := w.info.TypeOf(e.X)
	if w.constant(e.X) {
		t = w.info.TypeOf(e.Y)
	}
	if _, generic := t.(*types.TypeParam); generic {
		return "", false
	}
	if b, ok := t.Underlying().(*types.Basic); !ok || b.Info()&types.IsOrdered == 0 {
		return "", false
	}
	return w.typeName(t)
}

// exchange is a helper, the operator it stands for, and whether floats have it.
type exchange struct {
	helper, becomes string
	floats          bool
}

// binary adds the mutant of a binary expression.
func (w *walker) binary(rule string, n ast.Node, by map[token.Token]exchange) {
	e, ok := n.(*ast.BinaryExpr)
	if !ok || w.constant(e) {
		return
	}
	x, ok := by[e.Op]
	if !ok {
		return
	}
	t := w.info.TypeOf(e)
	b, ok := t.Underlying().(*types.Basic)
	if _, generic := t.(*types.TypeParam); !ok || generic || b.Info()&types.IsNumeric == 0 || b.Info()&types.IsComplex != 0 || b.Info()&types.IsInteger == 0 && !x.floats {
		return
	}
	of, ok := w.typeName(t)
	if !ok {
		return
	}
	if e.Op == token.SHL || e.Op == token.SHR {
		count, ok := w.typeName(w.info.TypeOf(e.Y))
		if !ok {
			return
		}
		of += ", " + count
	}
	m := w.mutant(rule, e, w.text(e.X)+" "+x.becomes+" "+w.text(e.Y))
	w.edit(e, inner, []*Mutant{m}, func(r *render) string { return call(x.helper, of, m, r.node(e.X), r.node(e.Y)) })
}

// inBlock reports whether the statement stands in a block, where an if may stand.
func (w *walker) inBlock(s ast.Stmt) bool {
	switch p := w.parents[len(w.parents)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	case *ast.CommClause:
		return p.Comm != s
	}
	return false
}

// isLock reports whether the call takes or gives back a lock.
func (w *walker) isLock(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || len(c.Args) != 0 {
		return false
	}
	switch s.Sel.Name {
	case "Lock", "Unlock", "RLock", "RUnlock":
		return true
	}
	return false
}

func (w *walker) isPanic(c *ast.CallExpr) bool {
	id, ok := c.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// atomic takes a call of a method of an atomic apart.
func (w *walker) atomic(c *ast.CallExpr) (x ast.Expr, method string, ok bool) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, "", false
	}
	t := w.info.TypeOf(s.X)
	if t == nil {
		return nil, "", false
	}
	if p, isPointer := t.(*types.Pointer); isPointer {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil, "", false
	}
	switch path := named.Obj().Pkg().Path(); {
	case path == "sync/atomic", strings.HasSuffix(path, "/syncx"):
		return s.X, s.Sel.Name, true
	}
	return nil, "", false
}

// calls reports whether evaluating the expression calls anything.
func (w *walker) calls(e ast.Expr) (calls bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.CallExpr); ok {
			calls = true
		}
		return !calls
	})
	return calls
}

// mutant makes a mutant of the node.
func (w *walker) mutant(rule string, n ast.Node, becomes string) *Mutant {
	return w.mutantOf(rule, n.Pos(), n.End(), becomes)
}

func (w *walker) mutantOf(rule string, from, to token.Pos, becomes string) *Mutant {
	at := w.pkg.Fset.Position(from)
	return &Mutant{
		Rule: rule, Func: w.pkg.Name + "." + w.function, File: w.path, Line: at.Line, Column: at.Column,
		at: at, to: w.offset(to), plain: becomes,
		Was: oneLine(string(w.source[w.offset(from):w.offset(to)])), Becomes: oneLine(becomes),
	}
}

// oneLine makes a text one line.
func oneLine(s string) string {
	const most = 160
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// leaveOut adds the mutant that leaves the statement out.
func (w *walker) leaveOut(rule string, s ast.Stmt) {
	m := w.mutant(rule, s, "nothing")
	m.plain = "if false { " + w.text(s) + " }" // variables stay in use
	w.edit(s, outer, []*Mutant{m}, func(r *render) string { return "if !" + at(m) + " { " + r.inner() + " }" })
}

// instead adds the mutant that does something else in place of the statement.
func (w *walker) instead(rule string, s ast.Stmt, becomes string, other func(*render) string) {
	m := w.mutant(rule, s, becomes)
	w.edit(s, outermost, []*Mutant{m}, func(r *render) string {
		return "if " + at(m) + " { " + other(r) + " } else { " + r.inner() + " }"
	})
}
