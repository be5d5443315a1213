package mutation

import (
	"go/ast"
	"go/token"
)

var removal = Operator{
	Name: "removal",
	Doc:  "a statement is left out: a call, an assignment, ++, a send, break or continue",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(ast.Stmt)
		if !ok || !w.inBlock(s) {
			return
		}
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); !ok || w.isLock(c) || w.isPanic(c) {
				return
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || allBlank(s.Lhs) {
				return
			}
		case *ast.IncDecStmt, *ast.SendStmt:
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				return
			}
		default:
			return
		}
		w.leaveOut("removal", s)
	},
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}
