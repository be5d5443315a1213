package mutation

import (
	"go/ast"
	"go/types"
)

var zeroReturn = Operator{
	Name: "zero return",
	Doc:  "a result that is no error is its zero value",
	find: func(w *walker, n ast.Node) {
		w.results(n, func(e ast.Expr, t types.Type) {
			if types.Identical(t, errorType) || w.info.Types[e].IsNil() || w.isZero(e) {
				return
			}
			of, ok := w.typeName(t)
			if !ok {
				return
			}
			m := w.mutant("zero return", e, "zero value")
			m.plain = "func(_ " + of + ") (zero " + of + ") { return }(" + w.text(e) + ")" // variables stay in use
			w.edit(e, outer, []*Mutant{m}, func(r *render) string { return call("Zero", of, m, r.inner()) })
		})
	},
}

var errorReturn = Operator{
	Name: "swallowed error",
	Doc:  "a result that is an error is nil",
	find: func(w *walker, n ast.Node) {
		w.results(n, func(e ast.Expr, t types.Type) {
			if !types.Identical(t, errorType) || w.info.Types[e].IsNil() {
				return
			}
			m := w.mutant("swallowed error", e, "nil")
			m.plain = "func(error) error { return nil }(" + w.text(e) + ")" // variables stay in use
			w.edit(e, outer, []*Mutant{m}, func(r *render) string { return call("Zero", "error", m, r.inner()) })
		})
	},
}

var errorType = types.Universe.Lookup("error").Type()

// results calls the function for each result of a return that gives one expression
// for each.
func (w *walker) results(n ast.Node, each func(e ast.Expr, t types.Type)) {
	s, ok := n.(*ast.ReturnStmt)
	if !ok || w.signature == nil || len(s.Results) != w.signature.Results().Len() {
		return
	}
	for i, e := range s.Results {
		each(e, w.signature.Results().At(i).Type())
	}
}
