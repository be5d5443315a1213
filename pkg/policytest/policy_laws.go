package policytest

import (
	"fmt"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: Prepare accepts a View that is empty or has no eligible candidate.
func acceptsHopelessViews(l *lab) error {
	p := l.suite.New()
	for _, w := range l.worlds() {
		if eligible, _ := w.count(&plain); eligible > 0 {
			continue
		}
		if _, err := l.open(p, w); err != nil {
			return err
		}
	}
	return nil
}

// Claim: Preparing again from an equal View leaves the sequence of picks as it would have been.
func preparingAgainChangesNothing(l *lab) error {
	for _, w := range l.worlds() {
		once, err := l.open(l.suite.New(), w)
		if err != nil {
			return err
		}
		p := l.suite.New()
		again, err := l.open(p, w)
		if err != nil {
			return err
		}
		queries := l.queries(w)
		for k := range 2*len(w.samples) + len(queries) {
			q := queries[k%len(queries)]
			index, pickErr := once.pick(q)
			other, otherErr := again.pick(q)
			if err := same(index, pickErr, other, otherErr); err != nil {
				return again.complain(&q, "pick %d differs after Prepare: %v", k, err)
			}
			// Every third pick goes on with the Picker that is there, the others with
			// a new one.
			if k%3 == 0 {
				continue
			}
			if again, err = l.open(p, w); err != nil {
				return fmt.Errorf("prepared once more: %w", err)
			}
		}
	}
	return nil
}

// refusal makes of candidates what some policies refuse to prepare.
type refusal struct {
	name  string
	spoil func(samples []poise.Sample)
}

// refusals are tried on every policy. One that accepts what comes of it does not have
// that refusal.
var refusals = []refusal{
	{"the last without a load tracker", func(samples []poise.Sample) { samples[len(samples)-1].Load = nil }},
	{"none with a load tracker", func(samples []poise.Sample) {
		for i := range samples {
			samples[i].Load = nil
		}
	}},
	{"loads in nanoseconds", func(samples []poise.Sample) {
		for i := range samples {
			samples[i].Load = &meter{unit: poise.CostNanoseconds}
		}
	}},
	{"weights far apart", func(samples []poise.Sample) {
		heaviest, _ := poise.NewWeight(1<<32 - 1)
		for i := range samples {
			samples[i].Weight = poise.Weight{}
			if i%2 == 1 {
				samples[i].Weight = heaviest
			}
		}
	}},
}

// Claim: A refused Prepare leaves the picks, of the Pickers there are and of those to come, as they would have been without it.
func refusedPrepareChangesNothing(l *lab) error {
	for _, r := range refusals {
		for n := 1; n <= 7; n++ {
			refused, err := l.isUnmovedBy(r, n)
			if err != nil {
				return err
			}
			if !refused {
				break
			}
		}
	}
	return nil
}

// isUnmovedBy has a policy refuse a View in the middle of its picks, and compares
// with one that never saw it. It reports whether the View was refused.
func (l *lab) isUnmovedBy(r refusal, n int) (refused bool, err error) {
	all := func(int) bool { return true }
	w := l.newWorld(fmt.Sprintf("all of %d", n), n, onlyInFlight, all)
	spoiled := l.newWorld(r.name, n+3, onlyInFlight, all)
	r.spoil(spoiled.samples)
	bad, err := poise.NewView(asCandidates(spoiled.samples))
	if err != nil {
		return false, fmt.Errorf("%s: its View was refused: %w", r.name, err)
	}

	p := l.suite.New()
	s, err := l.open(p, w)
	if err != nil {
		return false, err
	}
	control := l.suite.New()
	calm, err := l.open(control, w)
	if err != nil {
		return false, err
	}
	queries := l.queries(w)
	for k := range 4 * len(queries) {
		if k%len(queries) == 3 { // in the middle, and then again and again
			if _, err := p.Prepare(bad); err == nil {
				return false, nil
			}
		}
		if k == 2*len(queries) { // from here on with Pickers that come after
			if s, err = l.open(p, w); err != nil {
				return true, fmt.Errorf("after a refusal of %s: %w", r.name, err)
			}
			if calm, err = l.open(control, w); err != nil {
				return true, err
			}
		}
		q := queries[k%len(queries)]
		index, pickErr := s.pick(q)
		other, otherErr := calm.pick(q)
		if err := same(index, pickErr, other, otherErr); err != nil {
			return true, s.complain(&q, "pick %d differs after a refusal of %s: %v", k, r.name, err)
		}
	}
	return true, nil
}

func asCandidates(samples []poise.Sample) []poise.Candidate {
	candidates := make([]poise.Candidate, len(samples))
	for i, s := range samples {
		candidates[i] = s
	}
	return candidates
}
