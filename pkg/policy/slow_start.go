// Explorable.

package policy

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
	// Window is how long a candidate takes to its full weight. Deliberately no
	// default; more than 0.
	Window time.Duration
	// Aggression bends the way: after a fraction x of the window a candidate has
	// the fraction x^(1/Aggression) of its weight. 0 means 1, a straight line; above
	// it the weight rises faster at first. More than 0, and finite.
	Aggression float64
	// MinPercent is the percentage of its weight that a candidate has at least. 0
	// means 10; at most 100.
	MinPercent uint32
}

// SlowStart scales the weights of candidates that have just become eligible, so
// that weighted policies give them work little by little. It stands between the
// candidates and NewView and is told the instant.
//
// The formula is Envoy's: weight · max(MinPercent, (time/Window)^(1/Aggression)),
// without its first second that counts as one.
//
// The zero value is not usable; call NewSlowStart.
//
// # Contract
//
//   - A candidate that becomes eligible has the given fraction of its weight, rounded down to a thousandth, until its window is over.
//   - A candidate that becomes eligible again starts anew, and so does another incarnation.
//   - Candidates that become eligible when no other was eligible before have their full weight at once.
//   - All weights are scaled by one factor, so that a fraction of a small weight is not lost: by 1000, or by 100, 10 or 1 where the largest weight would not fit.
//   - A scaled weight is never 0.
//   - Apply changes nothing but weights and asks each Candidate for its Sample exactly once.
//   - The same calls give the same weights on every platform.
//
// # Cost
//
// Apply is O(n) time, and O(n) memory is kept until the next call.
//
// # Concurrency
//
// A SlowStart is safe for concurrent use; each Apply is one atomic step.
type SlowStart struct {
	cfg SlowStartConfig

	mu syncx.Mutex
	// warm holds the eligible candidates of the last Apply. Guarded by mu.
	warm map[incarnation]warmth
}

// warmth is how far an eligible candidate has come.
type warmth struct {
	since time.Time
	done  bool // at full weight from now on, whatever the clock does
}

// NewSlowStart returns a SlowStart, or a [poise.FieldError] of ErrTooSmall or
// ErrTooLarge that names the field.
func NewSlowStart(cfg SlowStartConfig) (*SlowStart, error) {
	if cfg.Aggression == 0 {
		cfg.Aggression = 1
	}
	if cfg.MinPercent == 0 {
		cfg.MinPercent = 10
	}
	switch {
	case cfg.Window <= 0:
		return nil, &poise.FieldError{Field: "Window", Value: cfg.Window, Err: poise.ErrTooSmall}
	case !(cfg.Aggression > 0): // NaN too
		return nil, &poise.FieldError{Field: "Aggression", Value: cfg.Aggression, Err: poise.ErrTooSmall}
	case math.IsInf(cfg.Aggression, 1):
		return nil, &poise.FieldError{Field: "Aggression", Value: cfg.Aggression, Err: poise.ErrTooLarge}
	case cfg.MinPercent > 100:
		return nil, &poise.FieldError{Field: "MinPercent", Value: cfg.MinPercent, Err: poise.ErrTooLarge}
	}
	return &SlowStart{cfg: cfg, warm: map[incarnation]warmth{}}, nil
}

// Apply samples the candidates and returns them as of now, in order, with scaled
// weights. A nil Candidate stays, for NewView to refuse. Apply remembers who is
// eligible, whether or not a View is made of what it returns.
func (s *SlowStart) Apply(candidates []poise.Candidate, now time.Time) []poise.Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	scaled := make([]poise.Candidate, len(candidates))
	samples := make([]poise.Sample, len(candidates))
	heaviest, elders := uint32(1), false
	for i, candidate := range candidates {
		if candidate == nil {
			continue
		}
		samples[i] = candidate.Sample()
		heaviest = max(heaviest, samples[i].Weight.Value())
		_, known := s.warm[lifeOf(&samples[i])]
		elders = elders || known && isEligible(&samples[i])
	}
	warm := make(map[incarnation]warmth, len(candidates))
	factor := commonFactor(heaviest)
	for i := range samples {
		if candidates[i] == nil {
			continue
		}
		sample := &samples[i]
		thousandths := uint64(1000)
		if isEligible(sample) {
			life := lifeOf(sample)
			w, known := s.warm[life]
			if !known {
				w = warmth{since: now, done: !elders}
			}
			thousandths = s.advance(&w, now)
			warm[life] = w
		}
		weight := uint64(sample.Weight.Value()) * factor * thousandths / 1000
		sample.Weight, _ = poise.NewWeight(uint32(max(weight, 1))) // never 0
		scaled[i] = *sample
	}
	s.warm = warm
	return scaled
}

// Warming returns how many candidates of the last Apply were short of their full
// weight. While it is not 0, calling Apply again changes weights.
func (s *SlowStart) Warming() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.warm {
		if !w.done {
			n++
		}
	}
	return n
}

// advance returns the thousandths of its weight that a candidate has now.
func (s *SlowStart) advance(w *warmth, now time.Time) uint64 {
	age := now.Sub(w.since)
	if age < 0 { // the clock stepped back: what is left is at most one window
		w.since, age = now, 0
	}
	if w.done = w.done || age >= s.cfg.Window; w.done {
		return 1000
	}
	return max(uint64(s.cfg.MinPercent)*10, root(age, s.cfg.Window, s.cfg.Aggression))
}

// root returns (age/window)^(1/aggression) in thousandths, rounded down, for an
// age under the window.
//
// It is the largest k with (k/1000)^aggression at most age/window, found with the
// logarithm that all platforms share, so that no power is taken: those of the
// standard library may differ in the last bit. The slack is more than the error of
// the logarithms, so that a power that is met exactly counts as met.
func root(age, window time.Duration, aggression float64) uint64 {
	if age == 0 {
		return 0
	}
	const slack = 1e-12
	target := minusLog(uint64(age), uint64(window))
	low, high := uint64(0), uint64(1000) // low is small enough, high is not
	for high-low > 1 {
		middle := (low + high) / 2
		if float64(aggression*minusLog(middle, 1000)) >= target-slack {
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

// commonFactor returns by how much all weights can be scaled.
func commonFactor(heaviest uint32) uint64 {
	factor := uint64(1000)
	for factor > 1 && uint64(heaviest)*factor > math.MaxUint32 {
		factor /= 10
	}
	return factor
}
