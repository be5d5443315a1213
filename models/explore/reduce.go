//go:build interleave

package explore

import (
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// clock says of every task how many of its steps happened before.
type clock [maxTasks]uint16

func (c *clock) join(d *clock) {
	for i, n := range d {
		c[i] = max(c[i], n)
	}
}

// covers reports whether the step happened before whatever has the clock.
func (c *clock) covers(s *step) bool { return c[s.task] >= s.index }

// dependent reports whether the order of two steps of different tasks can
// matter: to an object, to a predicate, or to which of two calls came first.
func dependent(a, b *step) bool {
	return a.obj == b.obj && a.obj != nil && a.op.Meets(b.op) && !commute(a.effect, b.effect) ||
		a.also != nil && a.also == b.obj && b.effect != poise.SyncRead ||
		b.also != nil && b.also == a.obj && a.effect != poise.SyncRead ||
		len(a.more) > 0 && slices.Contains(a.more, b.obj) ||
		len(b.more) > 0 && slices.Contains(b.more, a.obj) ||
		a.visible && b.visible ||
		a.ret && b.call || a.call && b.ret
}

func commute(a, b poise.SyncEffect) bool {
	return a == b && (a == poise.SyncRead || a == poise.SyncShare)
}

// outlook returns the task's next step as far as it can be known: it may change
// its object, and end the call it is in.
func (e *engine) outlook(t *task) step {
	s := t.pending
	s.task, s.prev, s.index = t.id, t.last, t.index+1
	s.effect = s.op.Effect()
	s.visible = s.effect != poise.SyncRead && e.sees(s.obj)
	s.call, s.ret = e.spec != nil && t.calling && t.fresh, e.spec != nil && t.calling
	return s
}

// sleepers returns the tasks whose next step leads only to executions that are
// equivalent to explored ones: their step was explored before the last step was
// tried, and commutes with it.
func (e *engine) sleepers() set {
	if e.last < 0 {
		return 0
	}
	parent := &e.path[e.last]
	var sleep set
	for rest := (parent.sleep | parent.done).without(only(parent.task)); rest != 0; rest &= rest - 1 {
		t := e.tasks[rest.lowest()]
		if next := e.outlook(t); !dependent(&parent.step, &next) {
			sleep |= only(t.id)
		}
	}
	return sleep
}

// findRaces looks for pairs of steps in the last execution whose order could be
// turned round, and marks where to go back to for it.
func (e *engine) findRaces() {
	first := min(max(e.prefix-1, 0), len(e.path))
	for first > 0 && first < len(e.path) && e.path[first].choices > 0 {
		first-- // a choice decides about the effect of the step before it
	}
	for i := first; i < len(e.path); i++ {
		if n := &e.path[i]; n.choices == 0 {
			e.turn(i, &n.step)
		}
	}
	if !e.draining {
		e.hold(0)
	}
	for i := range e.pending {
		e.turn(len(e.path), &e.pending[i])
	}
	e.pending = e.pending[:0]
}

// hold keeps the steps that never came: in a deadlock, at the end of a context
// that outlived the tasks, or behind tasks that only repeat what is known. They
// could have come earlier, so they may race like the others.
func (e *engine) hold(except set) {
	for _, t := range e.tasks {
		if !t.done && !except.has(t.id) {
			e.pending = append(e.pending, e.outlook(t))
		}
	}
}

// turn computes the clock of the step at i and marks its races with the steps
// before it.
//
// A race is a pair of dependent steps with nothing in between that orders them.
// Where a race stands in between, turning that one round comes first, so covered
// hides what lies behind it. A step that frees what the later one waits for is no
// race and hides nothing, and neither does a step that may have been possible
// only while the later one was not: with Lock, a failed TryLock, Unlock and Lock,
// what can be turned round are the two locks.
func (e *engine) turn(i int, s *step) {
	s.clock = clock{}
	if s.prev >= 0 {
		s.clock = e.path[s.prev].clock
	}
	covered := s.clock
	var races [64]int
	found := races[:0]
	for j := i - 1; j >= 0; j-- {
		m := &e.path[j]
		if m.choices > 0 || m.task == s.task || covered.covers(&m.step) || !dependent(&m.step, s) {
			continue
		}
		if !frees(&m.step, s) {
			found = append(found, j)
			if together(&m.step, s) {
				covered.join(&m.clock)
			}
		}
		s.clock.join(&m.clock)
	}
	s.clock[s.task] = s.index
	for _, j := range found {
		e.mark(j, i, s)
	}
}

// frees reports whether the later step could have waited for the earlier one. Steps of
// different objects never do, although a call and a return may make them depend on each
// other.
func frees(earlier, later *step) bool {
	return earlier.op.Frees(later.op) &&
		(earlier.obj == later.obj || earlier.also == later.obj || later.also != nil && later.also == earlier.obj)
}

// together reports whether the later step was surely possible, but for steps
// that come after the earlier one, when the earlier one was made.
func together(earlier, later *step) bool {
	return !later.op.Waits() || later.op.Takes() && earlier.op.Takes() && earlier.effect != poise.SyncRead
}

// mark makes sure that some execution turns the race between the step at j and
// the later step s at i round. The steps between them that do not come after the
// one at j, and then s, could all be made before it; any task that could make the
// first of those will do.
func (e *engine) mark(j, i int, s *step) {
	at := &e.path[j]
	var moved, firsts set
	var begins [maxTasks]uint16
	place := func(m *step) {
		if moved.has(m.task) {
			return
		}
		free := true
		for rest := moved; rest != 0; rest &= rest - 1 {
			if r := rest.lowest(); m.clock[r] >= begins[r] {
				free = false
			}
		}
		moved |= only(m.task)
		begins[m.task] = m.index
		if free {
			firsts |= only(m.task)
		}
	}
	for k := j + 1; k < i; k++ {
		if m := &e.path[k]; m.choices == 0 && !m.clock.covers(&at.step) {
			place(&m.step)
		}
	}
	direct := !moved.has(s.task)
	place(s)

	switch open := firsts & at.enabled; {
	case firsts&(at.todo|at.sleep) != 0: // one of them is, or was, on the way
	case open.has(s.task):
		at.todo |= only(s.task)
	case open != 0:
		at.todo |= only(open.lowest())
	case direct: // s could not have come before the step at j: that freed it
	default:
		at.todo |= at.enabled
	}
}
