package observe

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Published is one publication: what calls that begin after it are decided on.
type Published struct {
	_ struct{}
	// Number counts the publications of the loop from 1.
	Number uint64
	// At is the instant.
	At time.Time
	// Members is how many members there are, and Eligible how many of them are
	// eligible.
	Members, Eligible int
	// Changed are the members whose Reason this publication changed, in the order of
	// the members. One that was not there before counts as eligible before; of those
	// that have left nothing is said.
	Changed []ReasonChange
}

// ReasonChange is one member whose Reason a publication changed.
type ReasonChange struct {
	_ struct{}
	// ID and Incarnation name the member.
	ID          string
	Incarnation uint64
	// Was and Is are why it was and is not eligible.
	Was, Is poise.Reason
}
