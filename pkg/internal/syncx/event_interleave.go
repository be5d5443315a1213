//go:build interleave

package syncx

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Event is the hooked twin of the plain Event. When it has happened and the
// context has ended too, which of the two a Wait returns is a choice.
type Event struct {
	fired atomic.Bool
	open  bool // fired, as the explorer reads it
	mu    sync.Mutex
	ch    chan struct{} // made by the first waiter without an explorer
}

func (e *Event) Fire() {
	step(EventFire, unsafe.Pointer(e))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fired.Swap(true) {
		idle()
		return
	}
	e.mark()
	if e.ch != nil {
		close(e.ch)
	}
}

func (e *Event) Fired() bool {
	step(EventFired, unsafe.Pointer(e))
	return e.fired.Load()
}

func (e *Event) Wait(ctx context.Context) error {
	if explorer == nil {
		return e.block(ctx)
	}
	explorer.WaitContext(EventWait, unsafe.Pointer(e), e, ctx)
	err := explorer.Err(ctx)
	if e.fired.Load() && (err == nil || explorer.Choose("event or end of context", 2) == 0) {
		return nil
	}
	return err
}

func (e *Event) block(ctx context.Context) error {
	e.mu.Lock()
	if e.ch == nil {
		e.ch = make(chan struct{})
		if e.fired.Load() {
			close(e.ch)
		}
	}
	ch := e.ch
	e.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mark and Open are hidden from the race detector: the explorer looks at events
// that a task has only just made, and its hand-offs to that task are hidden too.
//
//go:norace
func (e *Event) mark() { e.open = true }

// Open implements Gate.
//
//go:norace
func (e *Event) Open(Op) bool { return e.open }

// Go runs f in a new goroutine, or as a new task of the explorer.
func Go(f func()) {
	if explorer == nil {
		go f()
		return
	}
	explorer.Go(f)
}
