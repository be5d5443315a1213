//go:build interleave && race

package explore

import (
	"runtime"
	"unsafe"
)

// raceBuild is whether this process looks for data races instead of verdicts.
const raceBuild = true

// coroutine is what a task runs on: a goroutine. The bookkeeping of package iter
// would order the tasks for the race detector, and so would channels; so channels
// it is, hidden from the detector. What the detector then sees of a model are its
// own operations and nothing else.
type coroutine struct {
	wake, back chan struct{}
	over       chan struct{} // closed, and not hidden, when the goroutine ends

	// What the task asks of the engine when it comes back, because the engine's
	// variables belong to the engine's goroutine here.
	asked   question
	ways    int
	answer  int
	started func()
	context *modelContext
}

// handOffsSeen lets the detector see them. A test sets it, because then the
// detector finds nothing.
var handOffsSeen bool

//go:norace
func hide() {
	if !handOffsSeen {
		runtime.RaceDisable()
	}
}

//go:norace
func show() {
	if !handOffsSeen {
		runtime.RaceEnable()
	}
}

type question uint8

const (
	askStep question = iota
	askChoice
	askSpawn
	askContext
)

//go:norace
func (t *task) resume() {
	if t.wake == nil {
		t.wake, t.back, t.over = make(chan struct{}), make(chan struct{}), make(chan struct{})
		go t.loop()
	}
	for {
		hide()
		t.wake <- struct{}{}
		<-t.back
		show()
		switch t.asked {
		case askChoice:
			t.answer = t.e.choose(t.ways)
		case askSpawn:
			t.e.spawn(t.started)
		case askContext:
			t.e.attach(t.context)
		default:
			return
		}
		t.asked = askStep
	}
}

//go:norace
func (t *task) loop() {
	defer close(t.over)
	for t.await() {
		t.once()
		t.handBack()
	}
}

// once runs one body. A Goexit in it ends the goroutine, and the deferred call
// tells the engine.
//
//go:norace
func (t *task) once() {
	normal := false
	defer t.gone(&normal)
	runtime.RaceAcquire(unsafe.Pointer(&t.e.state))
	runtime.RaceAcquire(unsafe.Pointer(t))
	t.runBody()
	runtime.RaceReleaseMerge(unsafe.Pointer(&t.e.run))
	t.finish()
	normal = true
}

//go:norace
func (t *task) gone(normal *bool) {
	if !*normal {
		t.handBack()
	}
}

//go:norace
func (t *task) handBack() {
	hide()
	t.back <- struct{}{}
	show()
}

//go:norace
func (t *task) await() bool {
	hide()
	_, ok := <-t.wake
	show()
	return ok
}

//go:norace
func (t *task) pause() {
	t.handBack()
	t.await()
	if t.e.mode == unwinding {
		runtime.Goexit()
	}
}

//go:norace
func (t *task) choose(n int) int {
	t.asked, t.ways = askChoice, n
	t.handBack()
	t.await()
	return t.answer
}

// spawn orders what the task did before the new task, as a go statement does.
//
//go:norace
func (t *task) spawn(f func()) {
	t.asked, t.started = askSpawn, f
	t.handBack()
	t.await()
	// The new task has not begun: it waits for a decision.
	runtime.RaceReleaseMerge(unsafe.Pointer(t.e.tasks[len(t.e.tasks)-1]))
}

//go:norace
func (t *task) attach(c *modelContext) {
	t.asked, t.context = askContext, c
	t.handBack()
	t.await()
}

func (e *engine) advance(t *task) *task {
	t.resume()
	return e.decide()
}

func (e *engine) unwind() {
	e.mode = unwinding
	for _, t := range e.tasks {
		if t.done || !t.begun {
			continue
		}
		t.resume()
		<-t.over
		t.coroutine = coroutine{}
	}
}

// launched returns the number of goroutines that the engine keeps.
func (e *engine) launched() (n int) {
	for _, t := range e.slots {
		if t.wake != nil {
			n++
		}
	}
	return n
}

// dismiss ends the goroutines.
func (e *engine) dismiss() {
	for _, t := range e.slots {
		if t.wake != nil {
			close(t.wake)
			<-t.over
		}
	}
}

// release orders New before every task for the race detector.
func (e *engine) release() { runtime.RaceReleaseMerge(unsafe.Pointer(&e.state)) }

// races returns the number of data races reported so far.
func races() int { return runtime.RaceErrors() }
