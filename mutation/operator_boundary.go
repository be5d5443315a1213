package mutation

import (
	"go/ast"
	"go/token"
)

var boundary = Operator{
	Name: "boundary",
	Doc:  "< and <= are exchanged, and > and >=",
	find: func(w *walker, n ast.Node) {
		e, ok := n.(*ast.BinaryExpr)
		if !ok || w.constant(e) {
			return
		}
		helper, becomes := "", ""
		switch e.Op {
		case token.LSS:
			helper, becomes = "Less", "<="
		case token.LEQ:
			helper, becomes = "AtMost", "<"
		case token.GTR:
			helper, becomes = "Greater", ">="
		case token.GEQ:
			helper, becomes = "AtLeast", ">"
		default:
			return
		}
		of, ok := w.operandType(e)
		if !ok {
			return
		}
		m := w.mutant("boundary", e, w.text(e.X)+" "+becomes+" "+w.text(e.Y))
		w.edit(e, inner, []*Mutant{m}, func(r *render) string { return call(helper, of, m, r.node(e.X), r.node(e.Y)) })
	},
}
