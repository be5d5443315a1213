package discovery

import "time"

// DrainedMember is a member whose drain has ended.
type DrainedMember[V any] struct {
	// Member is as it was.
	Member Member[V]
	// Outstanding is the work that it still had, if DrainFor was over.
	Outstanding uint64
}

// DrainResult is what FinishDrains did and left.
type DrainResult[V any] struct {
	// Ended are the members that have left, in the order of joining.
	Ended []DrainedMember[V]
	// Left is the number of members that still drain.
	Left int
	// Wait is the time until the next of them reaches DrainFor; 0 if none will.
	Wait time.Duration
	// Revision is that of the directory afterwards.
	Revision uint64
}
