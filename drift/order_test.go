package drift

import "testing"

func TestOrder(t *testing.T) { judge(t, Order) }

const soundOrder = `
-- pkg/dispatch/doc.go --
// Package dispatch has an order.
//
// # Files
//
// The lowest first:
//
//	low.go
//	middle.go
//	high.go
package dispatch
-- pkg/dispatch/low.go --
package dispatch

type low[T any] struct{ field T }

func (l *low[T]) method() T { return l.field }

const bound = 3
-- pkg/dispatch/middle.go --
package dispatch

import "example.com/m/pkg/other"

type middle struct{ low[int] }

func (m *middle) call() int { high := m.method() + bound; return high + other.Value().N }
-- pkg/dispatch/high.go --
package dispatch

func high(m *middle) int { return m.call() + m.field }
-- pkg/dispatch/hooks.go --
//go:build interleave

package dispatch

func hook() { high(nil) }
-- pkg/dispatch/high_test.go --
package dispatch

var _ = high
-- pkg/other/other.go --
// Package other is another one.
package other

type T struct{ N int }

func Value() T { return T{} }
`

func TestOrder_ReportsEveryFault(t *testing.T) {
	plant(t, Order, soundOrder, []fault{
		{"a function above", "-- pkg/dispatch/low.go --\npackage dispatch\n\ntype low[T any] struct{ field T }\n\nfunc (l *low[T]) method() T { high(nil); return l.field }\n\nconst bound = 3\n",
			[]string{"pkg/dispatch/low.go:5 low.go refers to high of high.go"}},
		{"a method above, of a generic type", "-- pkg/dispatch/middle.go --\npackage dispatch\n\ntype middle struct{ low[int] }\n\nfunc (m *middle) call() int { return m.method() + bound }\n-- pkg/dispatch/doc.go --\n// Package dispatch has an order.\n//\n// # Files\n//\n//\tmiddle.go\n//\tlow.go\n//\thigh.go\npackage dispatch\n",
			[]string{"pkg/dispatch/middle.go:3 middle.go refers to low of low.go"}},
		{"a file without a place", "-- pkg/dispatch/more.go --\npackage dispatch\n",
			[]string{"pkg/dispatch/more.go:1 no place in the order"}},
		{"a place without a file", "-- pkg/dispatch/high.go --\n",
			[]string{"pkg/dispatch/doc.go:1 high.go is listed and does not exist"}},
		{"a place twice", "-- pkg/dispatch/doc.go --\n// Package dispatch has an order.\n//\n// # Files\n//\n//\tlow.go\n//\tlow.go\n//\tmiddle.go\n//\thigh.go\npackage dispatch\n",
			[]string{"pkg/dispatch/doc.go:1 low.go is listed twice"}},
		{"no order", "-- pkg/dispatch/doc.go --\n// Package dispatch has none.\npackage dispatch\n",
			[]string{"pkg/dispatch/doc.go:1 the order of the files is not stated"}},
	})
}
