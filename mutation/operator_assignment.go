package mutation

import (
	"go/ast"
	"go/token"
	"go/types"
)

var assignment = Operator{
	Name: "assignment",
	Doc:  "the operator of an assignment such as += is another one",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(*ast.AssignStmt)
		if !ok || !w.inBlock(s) {
			return
		}
		other := map[token.Token]string{
			token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "+=", token.QUO_ASSIGN: "*=", token.REM_ASSIGN: "*=",
			token.AND_ASSIGN: "|=", token.OR_ASSIGN: "&=", token.XOR_ASSIGN: "|=", token.AND_NOT_ASSIGN: "&=",
			token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
		}[s.Tok]
		if other == "" { // an assignment may have the blank identifier, which has no type
			return
		}
		if b, isBasic := w.info.TypeOf(s.Lhs[0]).Underlying().(*types.Basic); !isBasic || b.Info()&types.IsNumeric == 0 {
			return
		}
		w.instead("assignment", s, w.text(s.Lhs[0])+" "+other+" "+w.text(s.Rhs[0]), func(r *render) string {
			return r.node(s.Lhs[0]) + " " + other + " " + r.node(s.Rhs[0])
		})
	},
}
