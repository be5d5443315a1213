package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

func TestRoundRobin_LawOfOneCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		d := open(t, newRoundRobin(t, rapid.Uint64().Draw(t, "seed")), samples)
		if d.view.Check() != nil {
			return
		}
		for i, count := range d.counts(t, d.view.EligibleLen()) {
			want := 0
			if d.view.Reason(i) == poise.NotExcluded {
				want = 1
			}
			if count != want {
				t.Fatalf("candidate %d got %d turns in one cycle, want %d", i, count, want)
			}
		}
	})
}

func TestRoundRobin_LawOfSuccession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		p := newRoundRobin(t, rapid.Uint64().Draw(t, "seed"))
		if open(t, p, samples).view.Check() != nil {
			return
		}
		// The next turn is the next eligible one, however often it is prepared anew.
		last := open(t, p, samples).pick(t, poise.Query{})
		for range 2 * len(samples) {
			d := open(t, p, samples)
			next := d.view.Eligible(d.view.NextEligible((last + 1) % len(samples)))
			if last = d.pick(t, poise.Query{}); last != next {
				t.Fatalf("picked %d, want the next eligible one, %d", last, next)
			}
		}
	})
}
