//go:build interleave

package explore

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// The methods in this file run on the goroutines of the model. In a race build
// the engine's hand-offs are hidden from the race detector, so they must not be
// seen to touch the engine's variables either: hence go:norace.

// The explorer's own operations.
const (
	opCall = poise.SyncForeign + iota
	opNow
	opContextErr
	opContextEnd
)

// Step implements poise.Explorer.
//
//go:norace
func (e *engine) Step(op poise.SyncOp, obj unsafe.Pointer) {
	if e.mode != running && e.mode != starting {
		e.apart(op, obj, nil)
		return
	}
	t := e.current
	t.pending.op, t.pending.obj, t.pending.also, t.gate, t.ctx = op, obj, nil, nil, nil
	e.locate(t)
	t.pause()
}

// Wait implements poise.Explorer.
//
//go:norace
func (e *engine) Wait(op poise.SyncOp, obj unsafe.Pointer, gate poise.SyncGate) {
	if e.mode != running && e.mode != starting {
		e.apart(op, obj, gate)
		return
	}
	t := e.current
	t.pending.op, t.pending.obj, t.pending.also, t.gate, t.ctx = op, obj, nil, gate, nil
	e.locate(t)
	t.pause()
}

// WaitContext implements poise.Explorer.
//
//go:norace
func (e *engine) WaitContext(op poise.SyncOp, obj unsafe.Pointer, gate poise.SyncGate, ctx context.Context) {
	if e.mode != running && e.mode != starting {
		e.apart(op, obj, gate)
		return
	}
	t := e.current
	t.pending.op, t.pending.obj, t.pending.also, t.gate, t.ctx = op, obj, nil, gate, nil
	if c, ours := ctx.(*modelContext); ours {
		t.pending.also, t.ctx = unsafe.Pointer(c), c
	} else if ctx.Done() != nil {
		e.refuse("task %s waits with a context that is not from T.Context", t.name)
	}
	e.locate(t)
	t.pause()
}

// Err implements poise.Explorer.
//
//go:norace
func (e *engine) Err(ctx context.Context) error {
	if c, ours := ctx.(*modelContext); !ours || !c.ended {
		return nil
	}
	return context.Canceled
}

// Idle implements poise.Explorer.
//
//go:norace
func (e *engine) Idle() {
	if e.mode == running && !e.draining && !e.ended {
		e.path[e.last].effect = poise.SyncRead
	}
}

// Also implements poise.Explorer.
//
//go:norace
func (e *engine) Also(obj unsafe.Pointer) {
	if e.mode == running && !e.draining && !e.ended {
		n := &e.path[e.last]
		n.more = append(n.more, obj)
	}
}

// Choose implements poise.Explorer.
//
//go:norace
func (e *engine) Choose(label string, n int) int {
	if e.mode != running && e.mode != starting {
		return 0
	}
	v := e.current.choose(n)
	if e.table != nil && n > 1 {
		e.table.tell("%s: %d of %d", label, v, n)
	}
	return v
}

// Go implements poise.Explorer.
//
//go:norace
func (e *engine) Go(f func()) {
	switch e.mode {
	case running, starting:
		e.current.spawn(f)
	case unwinding:
	default:
		e.refuse("New, a predicate, Final or Outcome starts a goroutine")
	}
}

// Tell implements poise.Explorer.
func (e *engine) Tell(format string, args ...any) {
	if e.mode == running && e.table != nil {
		e.table.tell(format, args...)
	}
}

//go:norace
func (e *engine) locate(t *task) {
	if e.table != nil {
		t.where = callSite()
	}
}

// apart is an operation that is not a step.
//
//go:norace
func (e *engine) apart(op poise.SyncOp, obj unsafe.Pointer, gate poise.SyncGate) {
	closed := gate != nil && !gate.Open(op)
	switch e.mode {
	case observing:
		if op.Changes() {
			e.refuse("a predicate changes what it looks at: %v at %s", op, callSite())
		}
		e.note(obj)
		if closed {
			e.held = true
			panic(lockHeld{})
		}
	case unwinding:
		if closed {
			runtime.Goexit()
		}
	case aside:
		if closed {
			panic("explore: New, Final or Outcome waits for something that never comes: " + op.String())
		}
	}
}

// call is T.Call.
//
//go:norace
func (e *engine) call(t *task, op string, arg any, f func() any) any {
	if t.calling {
		e.refuse("task %s: a Call inside a Call", t.name)
	}
	t.calling, t.fresh = true, true
	result := f()
	if t.fresh && e.spec != nil && e.mode != unwinding {
		e.Step(opCall, nil) // a call without a step has no place among the others
	}
	t.calling = false
	if e.mode == running && !e.draining && !e.ended || e.mode == starting {
		e.record(t, op, arg, result)
	}
	return result
}

//go:norace
func (e *engine) record(t *task, op string, arg, result any) {
	o := seq.Op{Task: t.id, Name: op, Arg: arg, Result: result}
	if !t.fresh {
		e.path[t.last].ret = e.spec != nil
		o.Call, o.Return = int64(2*t.first), int64(2*t.last+1)
	}
	e.run.History = append(e.run.History, o)
}

// modelClock is the clock that the tasks of one execution share.
type modelClock struct {
	at    time.Duration
	ticks int
}

// epoch is when every execution begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

//go:norace
func (e *engine) now() time.Time {
	e.Step(opNow, unsafe.Pointer(&e.clock))
	if e.mode == running && e.clock.ticks < e.bounds.Ticks && e.Choose("ticks", 2) == 1 {
		e.clock.ticks++
		e.clock.at += e.bounds.Tick
	} else {
		e.Idle()
	}
	return epoch.Add(e.clock.at)
}

// modelContext is a context whose end is a step of a task of its own.
type modelContext struct {
	e     *engine
	ended bool
}

//go:norace
func (e *engine) newContext() context.Context {
	c := &modelContext{e: e}
	if e.mode == running || e.mode == starting {
		e.current.attach(c)
	}
	return c
}

// Deadline implements context.Context; a model's context ends by a step only.
func (c *modelContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements context.Context.
func (c *modelContext) Value(any) any { return nil }

// Done implements context.Context by refusing the model: what the caller does
// with a channel is not a step.
func (c *modelContext) Done() <-chan struct{} {
	c.e.refuse("a channel is asked of a model's context at %s; only Err and Event.Wait are steps", callSite())
	if c.e.mode == running || c.e.mode == starting {
		c.e.current.pause()
	}
	return nil
}

// Err implements context.Context. It is a step.
//
//go:norace
func (c *modelContext) Err() error {
	c.e.Step(opContextErr, unsafe.Pointer(c))
	return c.e.Err(c)
}
