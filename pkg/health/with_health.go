package health

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// WithHealth is a candidate together with what is known of its health. It is made anew
// for each View, from parts that last as long as the member.
//
// The zero value has no candidate, and NewView refuses its empty identity. A part
// that is nil excludes nobody.
//
// # Contract
//
//   - A sample that is not Ready, or that its candidate excludes, stays as it is; so health undoes no draining.
//   - Of the parts that exclude, active health gives its reason before the circuit, and the circuit before outlier detection.
//   - Everything but the reason is the candidate's, priority, locality and load among it.
//   - WithHealth values nest: whom one of them excludes is not eligible.
//   - Sampling changes none of the parts.
//
// # Cost
//
// Sample costs what that of the candidate does, and the asking of each part. It
// allocates nothing itself.
//
// # Concurrency
//
// Each part is asked by itself, so a sample may miss what changes meanwhile. The
// circuit is asked once more by the call that is admitted.
type WithHealth struct {
	_ struct{}
	// Candidate is who is checked. Required.
	Candidate poise.Candidate
	// Active is what probes found.
	Active *ActiveHealth
	// Circuit is what calls in a row found.
	Circuit *Circuit
	// Outlier is what the comparison with the others found.
	Outlier *OutlierSubject
	// Now is the instant at which the circuit is asked.
	Now time.Time
}

var _ poise.Candidate = WithHealth{}

// Sample returns the sample of the candidate, with the reason why its health
// excludes it.
func (c WithHealth) Sample() poise.Sample {
	if c.Candidate == nil {
		return poise.Sample{}
	}
	sample := c.Candidate.Sample()
	if sample.Status == poise.Ready && sample.Excluded == poise.NotExcluded {
		sample.Excluded = c.excluded()
	}
	return sample
}

// excluded returns the reason of the first part that excludes.
func (c WithHealth) excluded() poise.Reason {
	if c.Active != nil {
		if reason := c.Active.Excluded(); reason != poise.NotExcluded {
			return reason
		}
	}
	if c.Circuit != nil && !c.Circuit.Available(c.Now) {
		return poise.ExcludedCircuitOpen
	}
	return c.Outlier.Excluded()
}
