package mutation

import "go/ast"

var loop = Operator{
	Name: "loop",
	Doc:  "a for with a condition does not begin",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(*ast.ForStmt)
		if !ok || s.Cond == nil || !w.plainBool(s.Cond) {
			return
		}
		m := w.mutant("loop", s.Cond, "false")
		m.plain = "(" + w.text(s.Cond) + ") && false" // variables stay in use
		w.edit(s.Cond, outermost, []*Mutant{m}, func(r *render) string { return "((" + r.inner() + ") && !" + at(m) + ")" })
	},
}
