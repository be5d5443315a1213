package mutation

import "go/ast"

var instant = Operator{
	Name: "instant",
	Doc:  "Before and After of an instant hold at the instant too",
	find: func(w *walker, n ast.Node) {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) != 1 {
			return
		}
		s, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Before" && s.Sel.Name != "After" {
			return
		}
		if t := w.info.TypeOf(s.X); t == nil || t.String() != "time.Time" || w.calls(s.X) || w.calls(c.Args[0]) {
			return
		}
		m := w.mutant("instant", c, "!"+w.text(c.Args[0])+"."+s.Sel.Name+"("+w.text(s.X)+")")
		w.edit(c, inner, []*Mutant{m}, func(r *render) string {
			return "(" + r.inner() + " || " + at(m) + " && " + r.node(s.X) + ".Equal(" + r.node(c.Args[0]) + "))"
		})
	},
}
