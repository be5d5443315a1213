//go:build interleave

package syncx

import (
	"context"
	"unsafe"
)

// Op is a synchronising operation.
type Op uint8

// The operations. Values from Foreign on belong to the explorer.
const (
	Load Op = iota
	Store
	Swap
	CompareAndSwap
	Add
	And
	Or
	Lock
	TryLock
	Unlock
	RLock
	TryRLock
	RUnlock
	Announce // a writer to an RWMutex: from here on new readers wait
	Acquire  // the announced writer gets the lock
	GroupAdd
	GroupDone
	GroupWait
	CondEnter
	CondWake
	CondSignal
	CondBroadcast
	EventFire
	EventFired
	EventWait
	Start // of a goroutine
	Foreign
)

var opNames = [...]string{
	"Load", "Store", "Swap", "CompareAndSwap", "Add", "And", "Or",
	"Lock", "TryLock", "Unlock", "RLock", "TryRLock", "RUnlock", "announce Lock", "Lock",
	"WaitGroup.Add", "WaitGroup.Done", "WaitGroup.Wait",
	"Cond.Wait", "woken", "Cond.Signal", "Cond.Broadcast",
	"Event.Fire", "Event.Fired", "Event.Wait", "start",
}

// String returns the name under which the operation appears in a table of steps.
func (o Op) String() string {
	if o >= Foreign {
		return "explorer"
	}
	return opNames[o]
}

// Effect says how an operation orders against others on the same object.
type Effect uint8

// Two operations on one object commute when both only read it or both share it.
const (
	Write Effect = iota
	Read
	Share
)

// Effect returns the operation's effect when it succeeds; Explorer.Idle corrects
// it to Read when it does not.
func (o Op) Effect() Effect {
	switch o {
	case Load, EventFired, EventWait, GroupWait:
		return Read
	case RLock, RUnlock, TryRLock:
		return Share
	default:
		return Write
	}
}

// Changes reports whether the operation is more than a look, locks taken and
// given back not counted.
func (o Op) Changes() bool {
	switch o {
	case Load, Lock, Unlock, RLock, RUnlock, Announce, Acquire, EventFired:
		return false
	default:
		return o < Foreign
	}
}

// Frees reports whether the operation o, when it comes before next on the same
// object, is what lets next happen. Such a pair is ordered but cannot be turned
// round, so it is no race: with Unlock and Lock, the race is between the locks.
func (o Op) Frees(next Op) bool {
	switch next {
	case Lock, Announce, RLock:
		return o == Unlock
	case Acquire:
		return o == RUnlock
	case GroupWait:
		return o == GroupDone
	case CondWake:
		return o == CondSignal || o == CondBroadcast
	default:
		return false
	}
}

// Waits reports whether the operation can block.
func (o Op) Waits() bool {
	switch o {
	case Lock, RLock, Announce, Acquire, GroupWait, CondWake, EventWait:
		return true
	default:
		return false
	}
}

// Takes reports whether the operation, when it succeeds, takes a lock that was
// free for it.
func (o Op) Takes() bool {
	switch o {
	case Lock, TryLock, RLock, TryRLock, Announce:
		return true
	default:
		return false
	}
}

// Meets reports whether the order of the two operations on one object can matter
// at all. An announced writer has closed the lock already, so that it gets the
// lock concerns only the readers that leave.
func (o Op) Meets(other Op) bool {
	return (o != Acquire || other == RUnlock) && (other != Acquire || o == RUnlock)
}

// Gate tells whether an operation that can block could happen now.
type Gate interface{ Open(Op) bool }

// Explorer decides who makes the next step. Every operation of a hooked type
// asks it first and acts when the call returns; nothing else of the model runs
// between that return and the next question of any task.
type Explorer interface {
	// Step announces an operation that can always happen.
	Step(op Op, obj unsafe.Pointer)
	// Wait announces an operation that can happen while gate is open.
	Wait(op Op, obj unsafe.Pointer, gate Gate)
	// WaitContext is Wait for an operation that the end of ctx opens too.
	WaitContext(op Op, obj unsafe.Pointer, gate Gate, ctx context.Context)
	// Err returns ctx's error without making a step.
	Err(ctx context.Context) error
	// Also says that the operation just made concerns obj too: it lets on who
	// waits there.
	Also(obj unsafe.Pointer)
	// Idle says that the operation just made changed nothing.
	Idle()
	// Choose returns one of 0 to n-1; an explorer tries them all.
	Choose(label string, n int) int
	// Go adds a task.
	Go(f func())
	// Tell adds what happened to the table of steps, while one is written.
	Tell(format string, args ...any)
}

// explorer is nil unless a model runs; then one goroutine at a time reads it.
var explorer Explorer

// telling is set while a table of steps is written.
var telling bool

// SetExplorer installs e, or removes the explorer when e is nil. It must not be
// called while another goroutine uses a hooked type.
func SetExplorer(e Explorer, tell bool) { explorer, telling = e, tell && e != nil }

func step(op Op, obj unsafe.Pointer) {
	if explorer != nil {
		explorer.Step(op, obj)
	}
}

func wait(op Op, obj unsafe.Pointer, gate Gate) {
	if explorer != nil {
		explorer.Wait(op, obj, gate)
	}
}

func idle() {
	if explorer != nil {
		explorer.Idle()
	}
}

// spurious reports whether an operation that may fail without cause fails now.
func spurious(label string) bool {
	return explorer != nil && explorer.Choose(label, 2) == 1
}
