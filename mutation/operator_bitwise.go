package mutation

import (
	"go/ast"
	"go/token"
)

var bitwise = Operator{
	Name: "bitwise",
	Doc:  "& and | are exchanged, ^ becomes |, &^ becomes &, << and >> are exchanged",
	find: func(w *walker, n ast.Node) {
		w.binary("bitwise", n, map[token.Token]exchange{
			token.AND: {"And", "|", false}, token.OR: {"Or", "&", false}, token.XOR: {"Xor", "|", false},
			token.AND_NOT: {"AndNot", "&", false}, token.SHL: {"Shl", ">>", false}, token.SHR: {"Shr", "<<", false},
		})
	},
}
