package observe

// Observer is told what a loop does. Embed [Nobody] to be told of some events only.
//
// # Contract
//
//   - An Observer is told of every attempt that ended and of every call that was refused.
//   - Publications are told in their order, one after the other.
//   - An Observer is told under no lock, and may call the loop.
//   - A panic of an Observer is dropped.
//
// # Cost
//
// Refused and Ended run inside calls: they should take nanoseconds.
//
// # Concurrency
//
// Refused and Ended are called by many goroutines at once, on those that caused
// them.
type Observer interface {
	// Refused is told of a call for which nobody was found.
	Refused(Refusal)
	// Ended is told of an attempt that has ended.
	Ended(Ended)
	// Published is told of a publication.
	Published(Published)
}

// Nobody is an Observer that does nothing.
type Nobody struct{}

// Refused does nothing.
func (Nobody) Refused(Refusal) {}

// Ended does nothing.
func (Nobody) Ended(Ended) {}

// Published does nothing.
func (Nobody) Published(Published) {}

var _ Observer = Nobody{}
