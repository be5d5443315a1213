//go:build interleave && !race

package explore

import (
	"iter"
	"runtime"
	"testing"
)

// raceBuild is whether this process looks for data races instead of verdicts.
const raceBuild = false

// coroutine is what a task runs on: a coroutine of package iter, kept from one
// execution to the next, because making one costs more than a whole execution.
//
// The decision who goes on is taken inside the hook, on the task's own stack. A
// task that may go on just returns; only a change of tasks pays for a switch.
type coroutine struct {
	resumeFunc func() (struct{}, bool)
	stopFunc   func()
	yield      func(struct{}) bool
}

// resume lets the task run until it yields.
func (t *task) resume() {
	if t.resumeFunc == nil {
		t.resumeFunc, t.stopFunc = iter.Pull(t.loop)
	}
	t.resumeFunc()
}

// loop runs one body per execution.
func (t *task) loop(yield func(struct{}) bool) {
	t.yield = yield
	for again := true; again; again = yield(struct{}{}) {
		t.runBody()
		t.finish()
		if t.e.mode == running {
			t.e.next = t.e.decide()
		}
	}
}

// pause announces the pending step and returns when the task may make it.
func (t *task) pause() {
	if t.e.mode == running {
		if t.e.next = t.e.decide(); t.e.next == t {
			return
		}
	}
	t.yield(struct{}{})
	if t.e.mode == unwinding {
		runtime.Goexit()
	}
}

func (t *task) choose(n int) int       { return t.e.choose(n) }
func (t *task) spawn(f func())         { t.e.spawn(f) }
func (t *task) attach(c *modelContext) { t.e.attach(c) }

// advance lets t go on and returns who goes on after it.
func (e *engine) advance(t *task) *task {
	e.next = nil
	t.resume()
	return e.next
}

// unwind makes every task that has not ended leave its body by Goexit, because a
// panic could be recovered by the model. Goexit goes through the coroutine to
// whoever resumed it, so that is a goroutine made for the purpose.
func (e *engine) unwind() {
	e.mode = unwinding
	for _, t := range e.tasks {
		if t.done || !t.begun {
			continue
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			t.resumeFunc()
		}()
		<-gone
		t.coroutine = coroutine{}
	}
}

// launched returns the number of goroutines that the engine keeps.
func (e *engine) launched() (n int) {
	for _, t := range e.slots {
		if t.resumeFunc != nil {
			n++
		}
	}
	return n
}

// dismiss ends the coroutines.
func (e *engine) dismiss() {
	for _, t := range e.slots {
		if t.stopFunc != nil {
			t.stopFunc()
		}
	}
}

// release orders New before every task for the race detector; here there is none.
func (e *engine) release() {}

// races returns the number of data races reported so far.
func races() int { return 0 }

// findRace is what a race build does with a planted data race.
func findRace(t *testing.T, p program) { t.Fatalf("%s: this is not a race build", p.name) }
