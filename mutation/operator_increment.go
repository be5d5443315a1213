package mutation

import (
	"go/ast"
	"go/token"
)

var increment = Operator{
	Name: "increment",
	Doc:  "++ and −− are exchanged",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(*ast.IncDecStmt)
		if !ok || !w.inBlock(s) {
			return
		}
		other := "--"
		if s.Tok == token.DEC {
			other = "++"
		}
		w.instead("increment", s, w.text(s.X)+other, func(r *render) string { return r.node(s.X) + other })
	},
}
