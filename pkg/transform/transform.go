// Package transform holds what edits a View's samples before a policy sees them. (stub: the helper TRANSFORM owns this folder.)
package transform

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Transform edits the samples of a View to be: weights, exclusions.
type Transform interface {
	// Edit edits the draft at the instant, and returns when it wants to be asked again
	// without another change; the zero time for never. On an error nothing is published.
	Edit(d *Draft, now time.Time) (again time.Time, err error)
}

// Draft is the samples of a View to be, with who changed since the last one.
type Draft struct {
	base    []poise.Sample
	edited  []poise.Sample
	changed []int
}
