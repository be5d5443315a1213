package mutation

import "go/ast"

var deferral = Operator{
	Name: "defer",
	Doc:  "a deferred call is left out",
	find: func(w *walker, n ast.Node) {
		if s, ok := n.(*ast.DeferStmt); ok && w.inBlock(s) {
			w.leaveOut("defer", s)
		}
	},
}
