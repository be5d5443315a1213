package dispatch

import (
	"context"
	"time"
)

// Source is who has the members of a Balancer in place of its list.
// [DirectorySource] makes one.
//
// # Contract
//
//   - Revision rises with every change of what Take returns.
//   - Take connects each incarnation that the Balancer does not know, and no other.
//
// # Cost
//
// Take should not dial: changes wait for it.
//
// # Concurrency
//
// A Source belongs to one Balancer, which calls one method at a time, but for Watch
// and Failed.
type Source[E comparable] interface {
	// Watch runs the function after each change, until the context has ended or no
	// more changes come.
	Watch(ctx context.Context, changed func())
	// Revision is the number of the newest list.
	Revision() uint64
	// Take returns the newest list. Known returns the endpoint of an incarnation that
	// the Balancer has.
	Take(known func(incarnation uint64) (E, bool)) SourceList[E]
	// FinishDrains lets those go whose drain is over, and returns when to ask again; 0
	// is not before the next change. Outstanding is how many calls a draining
	// incarnation holds.
	FinishDrains(now time.Time, outstanding func(incarnation uint64) uint64) (time.Duration, error)
	// Failed reports whether nothing may be called or changed any more.
	Failed() bool
}

// SourceList is a list that a Source has taken.
type SourceList[E comparable] struct {
	// Revision is its number.
	Revision uint64
	// Members are the members, each with its Endpoint, and Incarnations their numbers,
	// which are above 0 and rise from one that is new to the next.
	Members      []Member[E]
	Incarnations []uint64
	// Connected says of each member whether its Endpoint is new.
	Connected []bool
	// Left are those that could not be had. They are asked for again after a second.
	Left []*MemberError
}
