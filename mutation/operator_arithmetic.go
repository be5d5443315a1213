package mutation

import (
	"go/ast"
	"go/token"
)

var arithmetic = Operator{
	Name: "arithmetic",
	Doc:  "+ and − are exchanged, × becomes +, / becomes ×, % becomes ×",
	find: func(w *walker, n ast.Node) {
		w.binary("arithmetic", n, map[token.Token]exchange{
			token.ADD: {"Add", "-", true}, token.SUB: {"Sub", "+", true}, token.MUL: {"Mul", "+", true},
			token.QUO: {"Quo", "*", true}, token.REM: {"Rem", "*", false},
		})
	},
}
