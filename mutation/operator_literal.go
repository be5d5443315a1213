package mutation

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

var literal = Operator{
	Name: "literal",
	Doc:  "a constant number is one more, 1 is 0 as well, and true and false are exchanged",
	find: func(w *walker, n ast.Node) {
		e, ok := n.(ast.Expr)
		if !ok || !w.wholeConstant(e) {
			return
		}
		tv := w.info.Types[e]
		of, ok := w.typeName(tv.Type)
		basic, isBasic := tv.Type.Underlying().(*types.Basic)
		if !ok || !isBasic {
			return
		}
		switch {
		case basic.Info()&types.IsBoolean != 0:
			w.is(e, of, "!("+w.text(e)+")")
		case basic.Info()&types.IsNumeric != 0 && basic.Info()&types.IsComplex == 0:
			one := constant.MakeInt64(1)
			more := constant.BinaryOp(tv.Value, token.ADD, one)
			switch {
			case representable(more, basic):
				w.is(e, of, w.text(e)+" + 1")
			default:
				w.is(e, of, w.text(e)+" - 1")
			}
			if constant.Compare(tv.Value, token.EQL, one) {
				w.is(e, of, "0")
			}
		}
	},
}

func representable(v constant.Value, b *types.Basic) bool {
	if b.Info()&types.IsInteger == 0 {
		return true
	}
	bits := map[types.BasicKind]uint{
		types.Int8: 7, types.Int16: 15, types.Int32: 31, types.Int64: 63, types.Int: 31,
		types.Uint8: 8, types.Uint16: 16, types.Uint32: 32, types.Uint64: 64, types.Uint: 32, types.Uintptr: 32,
	}[b.Kind()]
	return constant.Compare(v, token.LSS, constant.Shift(constant.MakeInt64(1), token.SHL, bits))
}

// is adds a mutant of the expression that is another constant.
func (w *walker) is(e ast.Expr, of, becomes string) {
	m := w.mutant("literal", e, becomes)
	m.plain = of + "(" + becomes + ")"
	w.edit(e, inner, []*Mutant{m}, func(r *render) string { return call("Is", of, m, r.inner(), becomes) })
}
