package policytest

import "fmt"

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
