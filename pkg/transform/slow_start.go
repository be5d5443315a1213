// Explorable.

package transform

import (
	"math"
	"math/bits"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// SlowStartConfig are the settings of a SlowStart.
type SlowStartConfig struct {
	_ struct{}
	// Window is how long a member takes to its full weight. Deliberately no default;
	// more than 0.
	Window time.Duration
	// Aggression bends the way: after a fraction x of the window a member has the
	// fraction x^(1/Aggression) of its weight. 0 means 1, a straight line; above it the
	// weight rises faster at first. More than 0, and finite.
	Aggression float64
	// MinPercent is the percentage of its weight that a member has at least. 0 means
	// 10; at most 100.
	MinPercent uint32
	// Refresh is how long weights stand while members warm up, so that a policy need
	// not make its tables again for each publication. 0 means a twentieth of the
	// window; not negative.
	Refresh time.Duration
	// Steps is in how many steps the fraction rises from 0 to 1. A policy whose table
	// grows with its weights, such as RingHash, wants few. 0 means 1000; at most 1000.
	Steps uint32
}

// SlowStart lowers the weights of members that have just become eligible, so that
// weighted policies give them work little by little.
//
// The formula is Envoy's: weight · max(MinPercent, (time/Window)^(1/Aggression)),
// without its first second that counts as one.
//
// The zero value is not usable; call NewSlowStart.
//
// # Contract
//
//   - A member that becomes eligible has the given fraction of its weight, rounded down to a step, until its window is over.
//   - At the end of its window a member has its full weight, and Edit asks to be called then.
//   - The fractions are those of one instant, which moves on when Refresh has passed and Edit is called; Edit asks to be called then.
//   - A member that becomes eligible again starts anew, and so does another incarnation.
//   - Members that become eligible when nobody who was eligible before still is have their full weight at once.
//   - While nobody warms up, no sample is edited.
//   - While somebody warms up, all weights are multiplied by one factor, so that a fraction of a small weight is not lost: by Steps, or where the largest weight would not fit by a tenth of it or less, but at least by 1.
//   - The common factor stays until nobody warms up, but that it falls where a larger weight would not fit.
//   - SlowStart changes nothing but weights.
//   - The same calls give the same weights on every platform.
//
// # Cost
//
// Edit is O(changed) while nobody warms up, else O(members).
//
// # Concurrency
//
// A SlowStart belongs to one Chain. Warming is safe for concurrent use with Edit.
type SlowStart struct {
	cfg SlowStartConfig

	mu syncx.Mutex
	// warming tells since when each member that is short of its full weight has been
	// eligible. Guarded by mu.
	warming map[incarnation]time.Time
	// eligible is how many members of the last draft were eligible. Guarded by mu.
	eligible uint64
	// factor is what all weights are multiplied by, and tick the instant of the
	// fractions, while anybody warms up; else 0. Guarded by mu.
	factor uint64
	tick   time.Time
}

// incarnation names one life of an identity.
type incarnation struct {
	id     string
	number uint64
}

// NewSlowStart returns a SlowStart, or a [poise.FieldError] of a RangeError that names the field.
func NewSlowStart(cfg SlowStartConfig) (*SlowStart, error) {
	if cfg.Aggression == 0 {
		cfg.Aggression = 1
	}
	if cfg.MinPercent == 0 {
		cfg.MinPercent = 10
	}
	if cfg.Steps == 0 {
		cfg.Steps = 1000
	}
	if cfg.Refresh == 0 {
		cfg.Refresh = max(1, cfg.Window/20)
	}
	switch {
	case cfg.Window <= 0:
		return nil, &poise.FieldError{Field: "Window", Value: cfg.Window, Err: &poise.RangeError{Min: time.Duration(1)}}
	case !(cfg.Aggression > 0 && cfg.Aggression <= math.MaxFloat64): // NaN too
		return nil, &poise.FieldError{Field: "Aggression", Value: cfg.Aggression, Err: &poise.RangeError{Min: math.SmallestNonzeroFloat64, Max: math.MaxFloat64}}
	case cfg.MinPercent > 100:
		return nil, &poise.FieldError{Field: "MinPercent", Value: cfg.MinPercent, Err: &poise.RangeError{Max: uint32(100)}}
	case cfg.Refresh < 0:
		return nil, &poise.FieldError{Field: "Refresh", Value: cfg.Refresh, Err: &poise.RangeError{Min: time.Duration(0)}}
	case cfg.Steps > 1000:
		return nil, &poise.FieldError{Field: "Steps", Value: cfg.Steps, Err: &poise.RangeError{Max: uint32(1000)}}
	}
	return &SlowStart{cfg: cfg, warming: map[incarnation]time.Time{}}, nil
}

// Edit lowers the weights of members that have not been eligible for long. It
// remembers who is eligible, whether or not a View is made of the draft.
//
// # Contract
//
//   - A weight that SlowStart sets is never 0.
func (s *SlowStart) Edit(d *Draft, now time.Time) (again time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(d, now)
	first := s.advance(now)
	if len(s.warming) == 0 {
		s.factor = 0
		return time.Time{}, nil
	}
	heaviest := uint32(1)
	for i := range d.Len() {
		heaviest = max(heaviest, d.edited[i].Weight.Value())
	}
	fits := s.commonFactor(heaviest)
	if s.factor == 0 || fits < s.factor {
		s.factor = fits
	}
	if late := now.Sub(s.tick); s.tick.IsZero() || late < 0 || late >= s.cfg.Refresh {
		s.tick = now
	}
	for i := range d.Len() {
		sample := d.Sample(i)
		steps := uint64(s.cfg.Steps)
		if since, warming := s.warming[lifeOf(&sample)]; warming {
			steps = s.steps(max(0, s.tick.Sub(since)))
		}
		weight := uint64(sample.Weight.Value()) * s.factor * steps / uint64(s.cfg.Steps)
		w, _ := poise.NewWeight(uint32(max(weight, 1))) // never 0
		d.SetWeight(i, w)
	}
	if next := s.tick.Add(s.cfg.Refresh); next.Before(first) {
		return next, nil
	}
	return first, nil
}

// follow takes in who became eligible and who is no more. The caller holds mu.
func (s *SlowStart) follow(d *Draft, now time.Time) {
	for _, gone := range d.Left() {
		if isEligible(&gone) {
			s.leave(&gone)
		}
	}
	var came []incarnation
	for _, i := range d.Changed() {
		was, known := d.Was(i)
		before, is := known && isEligible(&was), isEligible(&d.seen[i])
		switch {
		case before && !is:
			s.leave(&was)
		case is && !before:
			came = append(came, lifeOf(&d.seen[i]))
		}
	}
	if s.eligible > 0 { // somebody who was eligible still is
		for _, life := range came {
			s.warming[life] = now
		}
	}
	s.eligible += uint64(len(came))
}

func (s *SlowStart) leave(sample *poise.Sample) {
	s.eligible--
	delete(s.warming, lifeOf(sample))
}

// advance ends the windows that are over, and returns when the next one is. The
// caller holds mu.
func (s *SlowStart) advance(now time.Time) (first time.Time) {
	for life, since := range s.warming {
		if since.After(now) { // the clock stepped back: what is left is at most one window
			since = now
			s.warming[life] = since
		}
		if now.Sub(since) >= s.cfg.Window {
			delete(s.warming, life)
			continue
		}
		if end := since.Add(s.cfg.Window); first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first
}

// Warming returns how many members of the last draft were short of their full
// weight.
func (s *SlowStart) Warming() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.warming)
}

// steps returns how many steps of its weight a member has at the age.
func (s *SlowStart) steps(age time.Duration) uint64 {
	steps := uint64(s.cfg.Steps)
	least := uint64(s.cfg.MinPercent) * steps / 100
	return max(least, root(age, s.cfg.Window, s.cfg.Aggression, steps))
}

// root returns (age/window)^(1/aggression) in so many steps, rounded down, for an
// age under the window.
//
// It is the largest k with (k/steps)^aggression at most age/window, found with the
// logarithm that all platforms share, so that no power is taken: those of the
// standard library may differ in the last bit. The slack is more than the error of
// the logarithms, so that a power that is met exactly counts as met.
func root(age, window time.Duration, aggression float64, steps uint64) uint64 {
	if age == 0 {
		return 0
	}
	const slack = 1e-12
	target := minusLog(uint64(age), uint64(window))
	low, high := uint64(0), steps // low is small enough, high is not
	for high-low > 1 {
		middle := (low + high) / 2
		if float64(aggression*minusLog(middle, steps)) >= target-slack {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// minusLog returns -ln(part/whole) for a part of less than the whole, the same for
// equal fractions.
func minusLog(part, whole uint64) float64 {
	// Score reads a hash as a fraction: its top 53 bits plus one, over 2^53.
	hash, _ := bits.Div64(part, 0, whole)
	return poise.Score(hash, poise.Weight{})
}

func lifeOf(s *poise.Sample) incarnation { return incarnation{s.ID, s.Incarnation} }

func isEligible(s *poise.Sample) bool {
	return s.Status == poise.Ready && s.Excluded == poise.NotExcluded
}

// commonFactor returns by how much all weights can be multiplied.
func (s *SlowStart) commonFactor(heaviest uint32) uint64 {
	factor := uint64(s.cfg.Steps)
	for factor > 1 && uint64(heaviest)*factor > math.MaxUint32 {
		factor = max(1, factor/10)
	}
	return factor
}
