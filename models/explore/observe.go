//go:build interleave

package explore

import (
	"slices"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Reduction keeps the final state of every execution and loses states on the
// way: two writes to different objects commute, so only one order of them is
// run, and a predicate over both objects is never asked in between. Therefore
// writes to whatever a predicate reads count as dependent on each other.
//
// What a predicate reads is learnt in the first state of each execution. If it
// reads anything else in a later state, the exploration starts over with every
// object visible.

// lockHeld leaves a predicate that would have to wait.
type lockHeld struct{}

// learn notes what the predicates read in the first state.
func (e *engine) learn() {
	e.visible = e.visible[:0]
	if raceBuild || e.allVisible {
		return
	}
	e.learning = true
	for _, p := range e.always {
		e.holds(p)
	}
	for _, p := range e.sometimes {
		e.holds(p)
	}
	e.learning = false
}

// note is told every object that a predicate reads.
func (e *engine) note(obj unsafe.Pointer) {
	switch {
	case !e.reduce || e.allVisible || slices.Contains(e.visible, obj):
	case e.learning:
		e.visible = append(e.visible, obj)
	default:
		e.allVisible, e.again, e.ended = true, true, true
	}
}

// sees reports whether a predicate may read the object.
func (e *engine) sees(obj unsafe.Pointer) bool {
	return obj != nil && (e.allVisible || slices.Contains(e.visible, obj))
}

// observe judges the state between two steps. The races of this state need no
// predicate, so a race build does not ask any: it would order the tasks.
func (e *engine) observe() {
	if raceBuild {
		return
	}
	if e.last >= 0 {
		n := &e.path[e.last]
		n.visible = n.effect != poise.SyncRead && e.sees(n.obj)
	}
	for _, p := range e.always {
		if !e.holds(p) && !e.held {
			e.fail("always "+p.name, "does not hold")
		}
	}
	for i, p := range e.sometimes {
		if !e.seen.sometimes[i] && e.holds(p) && !e.held {
			e.seen.sometimes[i] = true
		}
	}
}

// holds asks a predicate. The answer means nothing when held is set.
func (e *engine) holds(p programPred) (yes bool) {
	mode := e.mode
	e.mode, e.held = observing, false
	defer func() {
		e.mode = mode
		switch r := recover(); {
		case e.held:
			e.seen.unjudged++
		case r != nil:
			panic(r)
		}
	}()
	return p.holds(e.state)
}
