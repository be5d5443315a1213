package mutation

import "go/ast"

var locking = Operator{
	Name: "locking",
	Doc:  "Lock, Unlock, RLock or RUnlock is left out",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(*ast.ExprStmt)
		if !ok || !w.inBlock(s) {
			return
		}
		if c, ok := s.X.(*ast.CallExpr); ok && w.isLock(c) {
			w.leaveOut("locking", s)
		}
	},
}
