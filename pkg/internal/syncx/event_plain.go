//go:build !interleave

package syncx

import (
	"context"
	"sync"
)

// Event happens once. It stands for the channel that a type would close, which
// an explorer cannot see. The zero value is an event that has not happened.
type Event struct {
	mu    sync.Mutex
	fired bool
	ch    chan struct{} // made by the first waiter
}

// Fire makes the event happen. Firing again changes nothing. Everything before
// Fire synchronizes before the return of every Wait that returns nil.
func (e *Event) Fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fired {
		return
	}
	e.fired = true
	if e.ch != nil {
		close(e.ch)
	}
}

// Fired reports whether the event has happened.
func (e *Event) Fired() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fired
}

// Wait returns nil once the event has happened, or ctx's error once ctx has
// ended. When both hold either may be returned, as in a select statement.
func (e *Event) Wait(ctx context.Context) error {
	select {
	case <-e.done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Event) done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch == nil {
		e.ch = make(chan struct{})
		if e.fired {
			close(e.ch)
		}
	}
	return e.ch
}

// Go runs f in a new goroutine. It stands for the go statement, which an
// explorer cannot see.
func Go(f func()) { go f() }
