package discovery

import "time"

// PollerStatus is what a Poller has met so far.
type PollerStatus struct {
	// Polls is how often the source was asked, without polls that were cancelled.
	Polls uint64
	// Failures is how many of these failed.
	Failures uint64
	// ConsecutiveFailures is how many have failed since the last good list.
	ConsecutiveFailures uint64
	// LastGood is the instant of the last good list; zero if there was none.
	LastGood time.Time
	// Held is how many members the last good list left out and Hold keeps.
	Held int
	// Err is why the last poll failed; nil if it did not.
	Err error
}
