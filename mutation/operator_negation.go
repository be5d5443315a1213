package mutation

import (
	"go/ast"
	"go/token"
)

var negation = Operator{
	Name: "negation",
	Doc:  "a comparison says the opposite, and ! is left out",
	find: func(w *walker, n ast.Node) {
		var e ast.Expr
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch n.Op {
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				e = n
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				e = n
			}
		}
		if e == nil || w.constant(e) || !w.plainBool(e) {
			return
		}
		m := w.mutant("negation", e, "!("+w.text(e)+")")
		w.edit(e, outer, []*Mutant{m}, func(r *render) string { return "((" + r.inner() + ") != " + at(m) + ")" })
	},
}
