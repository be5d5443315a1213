// Package seq holds what every judge of concurrent behaviour needs and none
// owns: histories of calls, and specifications that say what the same calls may
// return one after the other.
//
// A history is linearizable when every call can be given one instant between its
// call and its return so that the calls, taken in the order of those instants,
// are allowed by the specification. Check decides that for the short histories
// of the explorer; package linearizability decides it for recorded long ones.
package seq

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Op is one finished call.
type Op struct {
	Task   int    // who called; one task has one call at a time
	Name   string // the method
	Arg    any    // comparable
	Result any    // comparable

	// Call and Return are stamps of one monotone counter. The interval is closed:
	// equal stamps of two calls mean that they overlap.
	Call, Return int64
}

// String returns the call as Name(Arg) = Result.
func (o Op) String() string {
	if o.Arg == nil {
		return fmt.Sprintf("%s() = %v", o.Name, o.Result)
	}
	return fmt.Sprintf("%s(%v) = %v", o.Name, o.Arg, o.Result)
}

// History is a set of finished calls in any order.
type History []Op

// String returns one line per call, in the order of the calls.
func (h History) String() string {
	h = slices.SortedFunc(slices.Values(h), func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range h {
		fmt.Fprintf(&b, "[%d,%d] task %d: %v\n", op.Call, op.Return, op.Task, op)
	}
	return b.String()
}

// Width returns the largest number of calls that overlap at one instant.
func (h History) Width() int {
	width := 0
	h.sweep(func(open []int) { width = max(width, len(open)) })
	return width
}

// Overlapping returns how many of the calls overlap another one. The others could
// as well have been made in sequence.
func (h History) Overlapping() int {
	overlaps := make([]bool, len(h))
	h.sweep(func(open []int) {
		for _, i := range open {
			overlaps[i] = overlaps[i] || len(open) > 1
		}
	})
	n := 0
	for _, yes := range overlaps {
		if yes {
			n++
		}
	}
	return n
}

// sweep calls f with the calls that are open after each call has begun.
func (h History) sweep(f func(open []int)) {
	type edge struct {
		at      int64
		call    int
		returns bool
	}
	edges := make([]edge, 0, 2*len(h))
	for i, op := range h {
		edges = append(edges, edge{op.Call, i, false}, edge{op.Return, i, true})
	}
	// The interval is closed, so at one stamp calls come before returns.
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at != b.at || a.returns == b.returns:
			return cmp.Compare(a.at, b.at)
		case a.returns:
			return 1
		default:
			return -1
		}
	})
	var open []int
	for _, e := range edges {
		if e.returns {
			open = slices.DeleteFunc(open, func(i int) bool { return i == e.call })
			continue
		}
		open = append(open, e.call)
		f(open)
	}
}

// Spec is a sequential specification. Its states are comparable values, and its
// methods change nothing.
type Spec interface {
	// Name names the specification in reports.
	Name() string
	// Initial returns the state before the first call.
	Initial() any
	// Next returns every state in which the call may leave a state; none when the
	// call may not return what it returned.
	Next(state any, op Op) []any
	// Parts splits a history into histories that can be judged apart. It returns
	// the whole history unless the specification composes.
	Parts(History) []History
}

// Check reports whether the history is linearizable. Its cost grows
// exponentially with the number of calls that overlap; a part holds at most 64
// calls.
func Check(spec Spec, h History) bool {
	for _, part := range spec.Parts(h) {
		if len(part) > 64 {
			panic("seq: a part of the history has more than 64 calls")
		}
		s := search{spec: spec, ops: part}
		if len(part) > 8 {
			s.failed = make(map[position]struct{})
		}
		if !s.from(0, spec.Initial()) {
			return false
		}
	}
	return true
}

// search looks for an order. A call may come next when no other remaining call
// returned before it was called.
type search struct {
	spec   Spec
	ops    History
	failed map[position]struct{} // nil for histories so short that it costs more
}

// position is a set of calls already placed and the state they led to.
type position struct {
	placed uint64
	state  any
}

func (s *search) from(placed uint64, state any) bool {
	if placed == 1<<len(s.ops)-1 {
		return true
	}
	at := position{placed, state}
	if _, dead := s.failed[at]; dead {
		return false
	}
	horizon := int64(1<<63 - 1) // the first return among the remaining calls
	for i, op := range s.ops {
		if placed&(1<<i) == 0 {
			horizon = min(horizon, op.Return)
		}
	}
	for i, op := range s.ops {
		if placed&(1<<i) != 0 || op.Call > horizon {
			continue
		}
		for _, next := range s.spec.Next(state, op) {
			if s.from(placed|1<<i, next) {
				return true
			}
		}
	}
	if s.failed != nil {
		s.failed[at] = struct{}{}
	}
	return false
}
