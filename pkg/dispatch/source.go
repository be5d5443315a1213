package dispatch

import (
	"context"
	"time"
)

// Source is who has the members of a Balancer. [DirectorySource] makes one.
//
// # Concurrency
//
// A Source belongs to one Balancer, which calls its methods from one goroutine, but
// for Changed and Failed.
type Source[E comparable] interface {
	// Changed returns once there is a list that the last Take has not seen, or the
	// source has ended; else the error of the context.
	Changed(context.Context) error
	// Take returns the newest list. Each member has an incarnation above 0, and those
	// that are new have numbers above all before. Accept is called with it once, and
	// the endpoints that are new are closed if it fails.
	Take(accept func(members []Member[E], incarnations []uint64) error) error
	// FinishDrains is told how many calls a draining member holds, and returns when to
	// ask again; 0 is not before the next change.
	FinishDrains(now time.Time, outstanding func(incarnation uint64) (calls uint64, known bool)) (time.Duration, error)
	// Failed returns why nothing may be called any more; nil if it may.
	Failed() error
}
