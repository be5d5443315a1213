// Explorable.

package health

import (
	"math"
	"time"
)

// PassiveHealthConfig are the settings of a [PassiveHealth]. The zero value of each
// field is its default. The defaults were found by simulation; docs/health.md has
// what they reach and what changing them costs.
type PassiveHealthConfig struct {
	_ struct{}
	// Off switches ejection, trials and lowered shares off.
	Off bool
	// Seed makes jitter replay. 0 draws from the runtime.
	Seed uint64
	// Divert makes a suspect wait for the verdict until other endpoints were asked
	// what was meant for it; see [PassiveEndpoint.Accused]. It is for policies that
	// tie calls to endpoints by a key. Without it a suspect is ejected at once.
	Divert bool

	// Odds is how much more probable a run of failures must be of an endpoint that
	// serves nothing than of one that does as well as its peers. A greater number
	// ejects fewer wrongly and the rightly ejected later. 10 to 1e15, default 1e7.
	Odds float64
	// PeerRate is the least share of failed calls that peers are taken to have,
	// however well they do. Above 0 and under 1, default 0.01.
	PeerRate float64
	// Misses is how many calls in a row it must have been impossible to send before an
	// endpoint that served within the last second or so is ejected; one is enough for any
	// other. 1 or more, default 3.
	Misses int
	// MaxPartialPercent bounds how many endpoints may be out because they serve, but
	// worse than their peers, in percent of all; one may always. 1 to 100, default 33.
	MaxPartialPercent int
	// Silence is how long an endpoint must have been silent before that is held
	// against it. Positive, up to 100 years, default 0.5 s.
	Silence time.Duration
	// SilenceLatencies is the same in mean times to the answer, of its own or of the
	// fleet; the longest of the three counts. At least 1, default 8.
	SilenceLatencies float64
	// BusyTime is how long an endpoint must have said nothing but "too busy" before
	// that is held against it; and four of its mean times to the answer at least.
	// Positive, up to 100 years, default 0.3 s.
	BusyTime time.Duration

	// UnreachableBackoff is the first time out of an endpoint that nothing could be
	// sent to, before jitter. Positive, up to 100 years, default 0.1 s.
	UnreachableBackoff time.Duration
	// Backoff is the first time out for every other cause, before jitter. Positive, up
	// to 100 years, default 0.5 s.
	Backoff time.Duration
	// MaxBackoff is the longest time out, before jitter. At least both others, up to
	// 100 years, default 30 s or the longest of them.
	MaxBackoff time.Duration
	// TrialShare is how many trials may fail, as a share of the calls that succeed;
	// those that succeed, or that could not be sent, are free. Above 0, up to 1,
	// default 0.004.
	TrialShare float64
	// Trials is how many failed trials may be saved up, and how many trials may run at
	// once. 1 to 1000, default 3.
	Trials int
	// ReturnSuccesses is how many calls must succeed before a returning endpoint is
	// back. 1 or more, default 6.
	ReturnSuccesses int

	// MinShare is the least share of an endpoint that returns or is overloaded. Above
	// 0, up to 1, default 0.1.
	MinShare float64
	// MaxRetryAfter bounds what an endpoint may ask for. Positive, up to 100 years,
	// default 5 s.
	MaxRetryAfter time.Duration
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c PassiveHealthConfig) withDefaults() (PassiveHealthConfig, error) {
	c.Odds = defaultTo(c.Odds, 1e7)
	c.PeerRate = defaultTo(c.PeerRate, 0.01)
	c.Misses = defaultTo(c.Misses, 3)
	c.MaxPartialPercent = defaultTo(c.MaxPartialPercent, 33)
	c.Silence = defaultTo(c.Silence, 500*time.Millisecond)
	c.SilenceLatencies = defaultTo(c.SilenceLatencies, 8)
	c.BusyTime = defaultTo(c.BusyTime, 300*time.Millisecond)
	c.UnreachableBackoff = defaultTo(c.UnreachableBackoff, 100*time.Millisecond)
	c.Backoff = defaultTo(c.Backoff, 500*time.Millisecond)
	c.MaxBackoff = defaultTo(c.MaxBackoff, max(30*time.Second, c.Backoff, c.UnreachableBackoff))
	c.TrialShare = defaultTo(c.TrialShare, 0.004)
	c.Trials = defaultTo(c.Trials, 3)
	c.ReturnSuccesses = defaultTo(c.ReturnSuccesses, 6)
	c.MinShare = defaultTo(c.MinShare, 0.1)
	c.MaxRetryAfter = defaultTo(c.MaxRetryAfter, 5*time.Second)
	// Negated, so that what is not a number is refused.
	switch {
	case !(c.Odds >= 10 && c.Odds <= 1e15):
		return c, outOfRange("Odds", c.Odds)
	case !(c.PeerRate > 0 && c.PeerRate < 1):
		return c, outOfRange("PeerRate", c.PeerRate)
	case c.Misses < 1:
		return c, outOfRange("Misses", c.Misses)
	case c.MaxPartialPercent < 1 || c.MaxPartialPercent > 100:
		return c, outOfRange("MaxPartialPercent", c.MaxPartialPercent)
	case !(c.SilenceLatencies >= 1 && c.SilenceLatencies <= math.MaxInt32):
		return c, outOfRange("SilenceLatencies", c.SilenceLatencies)
	case !(c.TrialShare > 0 && c.TrialShare <= 1):
		return c, outOfRange("TrialShare", c.TrialShare)
	case c.Trials < 1 || c.Trials > 1000:
		return c, outOfRange("Trials", c.Trials)
	case c.ReturnSuccesses < 1:
		return c, outOfRange("ReturnSuccesses", c.ReturnSuccesses)
	case !(c.MinShare > 0 && c.MinShare <= 1):
		return c, outOfRange("MinShare", c.MinShare)
	}
	return c, c.checkDurations()
}

// checkDurations returns the duration that is out of range.
func (c PassiveHealthConfig) checkDurations() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Silence", c.Silence},
		{"BusyTime", c.BusyTime},
		{"UnreachableBackoff", c.UnreachableBackoff},
		{"Backoff", c.Backoff},
		{"MaxBackoff", c.MaxBackoff},
		{"MaxRetryAfter", c.MaxRetryAfter},
	} {
		if d.value <= 0 || d.value > longest {
			return outOfRange(d.field, d.value)
		}
	}
	if c.MaxBackoff < max(c.Backoff, c.UnreachableBackoff) {
		return outOfRange("MaxBackoff", c.MaxBackoff)
	}
	return nil
}
