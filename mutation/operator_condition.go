package mutation

import "go/ast"

var condition = Operator{
	Name: "condition",
	Doc:  "the condition of an if is always true, or never",
	find: func(w *walker, n ast.Node) {
		s, ok := n.(*ast.IfStmt)
		if !ok || w.constant(s.Cond) || !w.plainBool(s.Cond) {
			return
		}
		always, never := w.mutant("condition", s.Cond, "true"), w.mutant("condition", s.Cond, "false")
		always.plain, never.plain = "("+w.text(s.Cond)+") || true", "("+w.text(s.Cond)+") && false" // variables stay in use
		w.edit(s.Cond, outermost, []*Mutant{always, never}, func(r *render) string {
			return "(((" + r.inner() + ") || " + at(always) + ") && !" + at(never) + ")"
		})
	},
}
