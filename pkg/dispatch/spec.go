package dispatch

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Spec is one member of a loop as its caller has it: what a View shows of it, how
// many calls it may hold, and its opaque value.
//
// Where parts disagree on whether a member is eligible, the first of these lines
// that applies decides, and is the Reason that a View gives:
//
//	Draining       the Status of the Spec, or SetStatus
//	Unavailable    the Status of the Spec, or SetStatus
//	by user        Excluded of the Spec, whichever reason it names
//	not ready      SetConnected
//	unhealthy      Report
//	ejected        passive health
//	a transform's  whichever reason it gives
type Spec struct {
	// Sample is what policies see. Incarnation is above 0, and no other member has it,
	// nor one that was removed and holds calls. Load is the loop's to set.
	poise.Sample
	// Limit is how many calls the member may hold at once; 0 is no limit. It may
	// change in place.
	Limit uint64
	// Offline says that a new member has no connection yet, and Unhealthy why it is left
	// out before the first Report. What SetConnected and Report say stands above them.
	Offline   bool
	Unhealthy poise.Reason
	// Value is the endpoint, whatever it is. It may change within an incarnation: calls
	// that began before keep the old value, which the caller then disposes of.
	Value any
}

// check returns the first field of a list of members that is not legal in itself.
func check(specs []Spec) error {
	ids, numbers := make(map[string]struct{}, len(specs)), make(map[uint64]struct{}, len(specs))
	for i := range specs {
		s := &specs[i]
		ids[s.ID], numbers[s.Incarnation] = struct{}{}, struct{}{}
		field, value, err := "", any(nil), error(nil)
		switch {
		case s.ID == "":
			field, value, err = "ID", s.ID, poise.ErrEmptyIdentity
		case len(ids) != i+1:
			field, value, err = "ID", s.ID, poise.ErrDuplicateIdentity
		case s.Incarnation == 0:
			field, value, err = "Incarnation", s.Incarnation, ErrMissing
		case len(numbers) != i+1:
			field, value, err = "Incarnation", s.Incarnation, ErrOldIncarnation
		case s.Load != nil:
			field, value, err = "Load", s.Load, ErrOutOfRange
		default:
			continue
		}
		return refuse(fmt.Sprintf("members[%d].%s", i, field), value, err)
	}
	return nil
}
