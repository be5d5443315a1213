package mutation

import "go/ast"

var atomicStep = Operator{
	Name: "atomic step",
	Doc:  "CompareAndSwap stores without looking, and Add loads and stores in two steps",
	find: func(w *walker, n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			x, method, ok := w.atomic(n)
			if !ok || method != "CompareAndSwap" || len(n.Args) != 2 {
				return
			}
			m := w.mutant("atomic step", n, w.text(x)+".Store("+w.text(n.Args[1])+")")
			m.plain = "func() bool { " + m.plain + "; return true }()"
			w.edit(n, inner, []*Mutant{m}, func(r *render) string {
				args := r.node(n.Args[0]) + ", " + r.node(n.Args[1])
				return "((" + at(m) + " && func() bool { " + r.node(x) + ".Store(" + r.node(n.Args[1]) + "); return true }()) || (!" +
					at(m) + " && " + r.node(x) + ".CompareAndSwap(" + args + ")))"
			})
		case *ast.ExprStmt:
			c, ok := n.X.(*ast.CallExpr)
			if !ok || !w.inBlock(n) {
				return
			}
			x, method, ok := w.atomic(c)
			if !ok || method != "Add" || len(c.Args) != 1 {
				return
			}
			w.instead("atomic step", n, w.text(x)+".Store("+w.text(x)+".Load() + "+w.text(c.Args[0])+")", func(r *render) string {
				return r.node(x) + ".Store(" + r.node(x) + ".Load() + " + r.node(c.Args[0]) + ")"
			})
		}
	},
}

var storeOrder = Operator{
	Name: "store order",
	Doc:  "two stores to atomics, one after the other, change places",
	find: func(w *walker, n ast.Node) {
		b, ok := n.(*ast.BlockStmt)
		if !ok {
			return
		}
		for i := 0; i+1 < len(b.List); i++ {
			first, second := b.List[i], b.List[i+1]
			if !w.isStore(first) || !w.isStore(second) {
				continue
			}
			i++ // pairs do not overlap
			m := w.mutantOf("store order", first.Pos(), second.End(), w.text(second)+"; "+w.text(first))
			w.editRange(first.Pos(), second.End(), outermost, []*Mutant{m}, func(r *render) string {
				return "if " + at(m) + " { " + r.node(second) + "; " + r.node(first) + " } else { " + r.inner() + " }"
			})
		}
	},
}

func (w *walker) isStore(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	c, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	_, method, ok := w.atomic(c)
	return ok && method == "Store"
}
