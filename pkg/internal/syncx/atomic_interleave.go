//go:build interleave

package syncx

import (
	"sync/atomic"
	"unsafe"
)

// The hooked atomics wrap the real ones, so that the race detector sees the same
// edges with and without an explorer.
type (
	Bool           = cell[bool, atomic.Bool, *atomic.Bool]
	Pointer[T any] = cell[*T, atomic.Pointer[T], *atomic.Pointer[T]]

	Int32  = number[int32, atomic.Int32, *atomic.Int32]
	Int64  = number[int64, atomic.Int64, *atomic.Int64]
	Uint32 = number[uint32, atomic.Uint32, *atomic.Uint32]
	Uint64 = number[uint64, atomic.Uint64, *atomic.Uint64]
)

type atomicCell[V, A any] interface {
	*A
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(old, new V) bool
}

type atomicNumber[V, A any] interface {
	atomicCell[V, A]
	Add(V) V
	And(V) V
	Or(V) V
}

// cell is an atomic value of type V, held in the atomic type A.
type cell[V, A any, P atomicCell[V, A]] struct{ v A }

func (c *cell[V, A, P]) Load() V {
	step(Load, unsafe.Pointer(c))
	v := P(&c.v).Load()
	if telling {
		explorer.Tell("= %v", v)
	}
	return v
}

func (c *cell[V, A, P]) Store(v V) {
	step(Store, unsafe.Pointer(c))
	P(&c.v).Store(v)
	if telling {
		explorer.Tell("%v", v)
	}
}

func (c *cell[V, A, P]) Swap(v V) V {
	step(Swap, unsafe.Pointer(c))
	old := P(&c.v).Swap(v)
	if telling {
		explorer.Tell("%v, was %v", v, old)
	}
	return old
}

func (c *cell[V, A, P]) CompareAndSwap(old, new V) bool {
	step(CompareAndSwap, unsafe.Pointer(c))
	ok := P(&c.v).CompareAndSwap(old, new)
	if !ok {
		idle()
	}
	if telling {
		explorer.Tell("%v to %v: %t", old, new, ok)
	}
	return ok
}

// number is a cell that can count.
type number[V, A any, P atomicNumber[V, A]] struct{ cell[V, A, P] }

func (n *number[V, A, P]) Add(delta V) V { return n.update(Add, delta) }
func (n *number[V, A, P]) And(mask V) V  { return n.update(And, mask) }
func (n *number[V, A, P]) Or(mask V) V   { return n.update(Or, mask) }

func (n *number[V, A, P]) update(op Op, v V) (result V) {
	step(op, unsafe.Pointer(n))
	switch p := P(&n.v); op {
	case Add:
		result = p.Add(v)
	case And:
		result = p.And(v)
	default:
		result = p.Or(v)
	}
	if telling {
		explorer.Tell("%v = %v", v, result)
	}
	return result
}
