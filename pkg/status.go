package poise

// Status is what an operator or a directory says of a candidate.
//
// The zero value is Ready.
type Status uint8

const (
	// Ready candidates may get new work.
	Ready Status = iota
	// Draining candidates finish what they hold and get no new work, not even in
	// a panic.
	Draining
	// Unavailable candidates get no new work; a scope for panic may bring them
	// back.
	Unavailable
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Ready:
		return "ready"
	case Draining:
		return "draining"
	case Unavailable:
		return "unavailable"
	}
	return "unknown status"
}

// Reason is why a candidate is not eligible. It is a fixed enumeration, so it can
// label a metric.
//
// The zero value, NotExcluded, means eligible.
type Reason uint8

const (
	// NotExcluded: the candidate is eligible.
	NotExcluded Reason = iota
	// ExcludedDraining: its Status is Draining.
	ExcludedDraining
	// ExcludedUnavailable: its Status is Unavailable.
	ExcludedUnavailable
	// ExcludedUnhealthy: active probing found it unhealthy.
	ExcludedUnhealthy
	// ExcludedCircuitOpen: its circuit is open.
	ExcludedCircuitOpen
	// ExcludedOutlier: outlier detection ejected it.
	ExcludedOutlier
	// ExcludedEjected: passive health ejected it, by how its calls ended.
	ExcludedEjected
	// ExcludedNotReady: it has no usable connection yet.
	ExcludedNotReady
	// ExcludedByUser: the user's own code left it out.
	ExcludedByUser
	// ExcludedOutOfScope: eligible, but not in the scope of this View.
	ExcludedOutOfScope
	reasons
)

var reasonNames = [reasons]string{
	"eligible", "draining", "unavailable", "unhealthy", "circuit open",
	"outlier", "ejected", "not ready", "left out by user", "out of scope",
}

// String returns the reason in lower case.
func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return "unknown reason"
}
