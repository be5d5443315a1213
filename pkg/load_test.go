package poise_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// loadAware are the policies that read loads.
func loadAware(t *testing.T) map[string]poise.Policy {
	t.Helper()
	two := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 3})
	return map[string]poise.Policy{"LeastLoaded": new(policy.LeastLoaded), "PowerOfTwoChoices": two}
}

// metered returns a View of n candidates with meters.
func metered(t *testing.T, n int) (*poise.View, []*meter) {
	t.Helper()
	samples, meters := named(n), make([]*meter, n)
	for i := range samples {
		meters[i] = &meter{load: uint64(i)}
		samples[i].Load = meters[i]
	}
	return view(t, samples...), meters
}

// queries are the ways to ask, each of which takes its own path.
func queries() map[string]poise.Query {
	tried := new(poise.Tried)
	tried.Add("backend-0001", 0)
	return map[string]poise.Query{
		"plain":      {},
		"with tried": {Tried: tried},
		"with why":   {Why: new(poise.Decision)},
		"with both":  {Tried: tried, Why: new(poise.Decision)},
	}
}

// Claim: A pick asks the tracker of each compared candidate at most once.
// Code: View.Load
func TestLoadTracker_IsReadAtMostOncePerPick(t *testing.T) {
	for name, p := range loadAware(t) {
		for asked, query := range queries() {
			v, meters := metered(t, 6)
			query.Now = time.Unix(5, 6)
			picker, err := p.Prepare(v)
			if err != nil {
				t.Fatal(err)
			}
			for pick := 1; pick <= 20; pick++ {
				before := readsOf(meters)
				if _, err := picker.Pick(query); err != nil {
					t.Fatal(err)
				}
				read := 0
				for i, reads := range readsOf(meters) {
					read += reads - before[i]
					if reads-before[i] > 1 {
						t.Errorf("%s, %s: candidate %d was read %d times", name, asked, i, reads-before[i])
					}
					if reads > before[i] && !meters[i].now.Equal(query.Now) {
						t.Errorf("%s, %s: read at %v, not at the instant of the query", name, asked, meters[i].now)
					}
				}
				if read < 2 {
					t.Errorf("%s, %s: %d loads were read", name, asked, read)
				}
			}
		}
	}
}

func readsOf(meters []*meter) []int {
	reads := make([]int, len(meters))
	for i, m := range meters {
		reads[i] = m.reads
	}
	return reads
}

// Claim: A load that a tracker cannot tell fails the pick with ErrLoadOverflow.
// Code: View.Load
func TestLoadTracker_ThatFailsFailsThePick(t *testing.T) {
	for name, p := range loadAware(t) {
		for asked, query := range queries() {
			v, meters := metered(t, 6)
			cause := errors.New("not a number")
			for _, m := range meters {
				m.err = cause
			}
			picker, err := p.Prepare(v)
			if err != nil {
				t.Fatal(err)
			}
			selection, err := picker.Pick(query)
			if !errors.Is(err, poise.ErrLoadOverflow) || !errors.Is(err, cause) || selection != (poise.Selection{}) {
				t.Errorf("%s, %s: %v, %v", name, asked, selection, err)
			}
			if query.Why != nil && (query.Why.Rule != poise.RuleNone || !errors.Is(query.Why.Err, poise.ErrLoadOverflow)) {
				t.Errorf("%s, %s: the reason given is %v", name, asked, query.Why)
			}
		}
	}
}
