package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// CallTracker is a load tracker that is told of calls. The loop tells the tracker of
// a member if it is one.
//
// # Contract
//
//   - Each call that began ends once, and is answered at most once, in between.
//
// # Cost
//
// The methods run inside calls: they should take nanoseconds and allocate nothing.
//
// # Concurrency
//
// The methods are called by many goroutines at once. Answered may be called under
// a lock of its call, and none of them may call the loop.
type CallTracker interface {
	poise.LoadTracker
	// Began notes a call that was admitted at the instant.
	Began(now time.Time)
	// Answered notes that the answer of a call that began at an instant has begun at
	// another one, and how it is judged.
	Answered(r poise.Result, began, now time.Time)
	// Ended notes the end of a call. If its answer never began, the result is how it
	// is judged; else it is what became of the answer.
	Ended(r poise.Result, answered bool, began, now time.Time)
}
