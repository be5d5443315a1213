//go:build interleave

package walk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// driver is a replay.Stepper over the hooked types. Each call runs on a coroutine
// that stops before every operation; nothing runs but the call that was told to.
type driver struct {
	tasks   map[string]*task
	current *task
	outcome int // of an operation that may have several
}

type task struct {
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	op     poise.SyncOp // the pending one
	gate   poise.SyncGate
	ctx    context.Context // whose end opens the gate too; nil for none
	result any
	ended  bool
}

var _ replay.Stepper = (*driver)(nil)

func newDriver() replay.Stepper { return newStepper() }

func newStepper() *driver {
	d := &driver{tasks: map[string]*task{}}
	poise.SetExplorer(explorer{d}, false)
	return d
}

// Start implements replay.Stepper.
func (d *driver) Start(name string, call func() any) error {
	if t := d.tasks[name]; t != nil && !t.ended {
		return fmt.Errorf("%s begins a call inside a call", name)
	}
	t := new(task)
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		t.result = call()
		t.ended = true
	})
	d.tasks[name] = t
	d.run(t)
	return nil
}

// Step implements replay.Stepper.
func (d *driver) Step(name string) error {
	t := d.tasks[name]
	switch {
	case t == nil || t.ended:
		return errors.New("the call has ended already")
	case d.Waits(name):
		return fmt.Errorf("%v has to wait", t.op)
	}
	d.run(t)
	return nil
}

// Waits implements replay.Stepper.
func (d *driver) Waits(name string) bool {
	t := d.tasks[name]
	return t != nil && !t.ended && t.gate != nil && !t.gate.Open(t.op) &&
		(t.ctx == nil || t.ctx.Err() == nil)
}

func (d *driver) run(t *task) {
	d.current = t
	t.resume()
	d.current = nil
}

// Ended implements replay.Stepper.
func (d *driver) Ended(name string) (result any, ended bool) {
	t := d.tasks[name]
	if t == nil {
		return nil, true
	}
	return t.result, t.ended
}

// Close implements replay.Stepper. A call that has not ended leaves by Goexit,
// which runs its deferred calls; they find no explorer any more.
func (d *driver) Close() {
	poise.SetExplorer(nil, false)
	for _, t := range d.tasks {
		if t.ended {
			continue
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			t.stop()
		}()
		<-gone
	}
}

// pause stops the running call before an operation.
func (d *driver) pause(op poise.SyncOp, gate poise.SyncGate, ctx context.Context) {
	t := d.current
	if t == nil {
		return // the walk itself looks at the state
	}
	t.op, t.gate, t.ctx = op, gate, ctx
	d.stop(t)
	t.gate, t.ctx = nil, nil
}

// stop gives the floor back until the next step.
func (d *driver) stop(t *task) {
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// explorer is the driver as the hooked types see it.
type explorer struct{ *driver }

func (e explorer) Step(op poise.SyncOp, _ unsafe.Pointer) { e.pause(op, nil, nil) }

func (e explorer) Wait(op poise.SyncOp, _ unsafe.Pointer, gate poise.SyncGate) {
	e.pause(op, gate, nil)
}

func (e explorer) WaitContext(op poise.SyncOp, _ unsafe.Pointer, gate poise.SyncGate, ctx context.Context) {
	e.pause(op, gate, ctx)
}

func (explorer) Err(ctx context.Context) error { return ctx.Err() }
func (explorer) Also(unsafe.Pointer)           {}
func (explorer) Idle()                         {}
func (e explorer) Choose(_ string, n int) int  { return min(e.outcome, n-1) }
func (explorer) Go(func())                     { panic("walk: a call starts a goroutine") }
func (explorer) Tell(string, ...any)           {}
