package mutation

import (
	"go/ast"
	"go/token"
)

var logical = Operator{
	Name: "logical",
	Doc:  "&& and || are exchanged",
	find: func(w *walker, n ast.Node) {
		e, ok := n.(*ast.BinaryExpr)
		if !ok || e.Op != token.LAND && e.Op != token.LOR || w.constant(e) || !w.plainBool(e) {
			return
		}
		becomes := "||"
		if e.Op == token.LOR {
			becomes = "&&"
		}
		m := w.mutant("logical", e, w.text(e.X)+" "+becomes+" "+w.text(e.Y))
		op := e.Op.String()
		w.edit(e, inner, []*Mutant{m}, func(r *render) string {
			// By De Morgan, so that the second operand is asked exactly when it would be.
			f := at(m)
			return "((((" + r.node(e.X) + ") != " + f + ") " + op + " ((" + r.node(e.Y) + ") != " + f + ")) != " + f + ")"
		})
	},
}
