package mutation

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// imported is the name under which instrumented files know package mutant.
const imported = "mutantʹ"

// Several edits of one range lie in each other in this order.
const (
	outermost = iota
	outer
	inner
)

// edit replaces a range of a file by code that has the mutants in it.
type edit struct {
	from, to int
	depth    int
	mutants  []*Mutant
	build    func(*render) string
	children []*edit
}

func (w *walker) edit(n ast.Node, depth int, mutants []*Mutant, build func(*render) string) {
	w.editRange(n.Pos(), n.End(), depth, mutants, build)
}

func (w *walker) editRange(from, to token.Pos, depth int, mutants []*Mutant, build func(*render) string) {
	w.edits = append(w.edits, &edit{from: w.offset(from), to: w.offset(to), depth: depth, mutants: mutants, build: build})
	w.mutants = append(w.mutants, mutants...)
}

// render writes the range of one edit.
type render struct {
	w *walker
	e *edit
}

// inner is the text of the range with the edits that lie within.
func (r *render) inner() string { return r.w.written(r.e.from, r.e.to, r.e.children) }

// node is the text of a part of the range with the edits that lie within.
func (r *render) node(n ast.Node) string {
	return r.w.written(r.w.offset(n.Pos()), r.w.offset(n.End()), r.e.children)
}

// written is the text of a range with the edits that lie within it.
func (w *walker) written(from, to int, edits []*edit) string {
	var b strings.Builder
	at := from
	for _, e := range edits {
		switch {
		case e.to <= from || e.from >= to:
			continue
		case e.from < from || e.to > to: // a wider one: its children are meant
			return w.written(from, to, e.children)
		}
		b.Write(w.source[at:e.from])
		b.WriteString(e.build(&render{w, e}))
		at = e.to
	}
	b.Write(w.source[at:to])
	return b.String()
}

// instrumented returns the source of the file with all its mutants that are not
// dropped, and the same lines.
func (w *walker) instrumented(dropped map[*Mutant]bool) string {
	edits := slices.DeleteFunc(slices.Clone(w.edits), func(e *edit) bool {
		return slices.ContainsFunc(e.mutants, func(m *Mutant) bool { return dropped[m] })
	})
	slices.SortStableFunc(edits, func(a, b *edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.depth, b.depth))
	})
	var roots, open []*edit
	for _, e := range edits {
		e.children = nil
		for len(open) > 0 && open[len(open)-1].to <= e.from {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			roots = append(roots, e)
		} else {
			top := open[len(open)-1]
			top.children = append(top.children, e)
		}
		open = append(open, e)
	}
	text := w.written(0, len(w.source), roots)
	name := w.offset(w.file.Name.End())
	return text[:name] + "; import " + imported + " " + `"` + runtimePath + `"` + text[name:] + "\nvar _ = " + imported + ".At\n"
}

// at is the question whether the mutant is active.
func at(m *Mutant) string { return fmt.Sprintf("%s.At(%d)", imported, m.number) }

// call is a call of a helper of package mutant.
func call(helper, of string, m *Mutant, args ...string) string {
	return fmt.Sprintf("%s.%s[%s](%d, %s)", imported, helper, of, m.number, strings.Join(args, ", "))
}
