package policytest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// plain is the query that asks for anyone.
var plain poise.Query

// openAll has one policy prepare every world, so that its Pickers are in use in
// turn.
func (l *lab) openAll() ([]*stage, error) {
	p := l.suite.New()
	var stages []*stage
	for _, w := range l.worlds() {
		s, err := l.open(p, w)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// each asks every query of every world, going from View to View.
func (l *lab) each(ask func(*stage, poise.Query) error) error {
	stages, err := l.openAll()
	if err != nil {
		return err
	}
	queries := make([][]poise.Query, len(stages))
	longest := 0
	for i, s := range stages {
		queries[i] = l.queries(s.world)
		longest = max(longest, len(queries[i]))
	}
	for k := range longest {
		for i, s := range stages {
			if k >= len(queries[i]) {
				continue
			}
			if err := ask(s, queries[i][k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Claim: Pick returns only candidates that are eligible in its View.
func picksOnlyEligible(l *lab) error {
	return l.each(func(s *stage, q poise.Query) error {
		index, err := s.pick(q)
		return s.checkEligible(&q, index, err)
	})
}

func (s *stage) checkEligible(q *poise.Query, index int, err error) error {
	if errors.Is(err, errUnresolved) {
		return s.complain(q, "%v", err)
	}
	if err == nil && !s.eligible(index) {
		return s.complain(q, "picked %d, which is not eligible: %v", index, s.view.Reason(index))
	}
	return nil
}

// Claim: Pick answers ErrEmpty when its View has no candidates.
func emptyIsErrEmpty(l *lab) error { return l.refuses(poise.ErrEmpty) }

// Claim: Pick answers ErrNoEligible when its View has candidates and none is eligible.
func noneEligibleIsErrNoEligible(l *lab) error { return l.refuses(poise.ErrNoEligible) }

// Claim: Pick answers ErrAllTried when every eligible candidate was tried.
// Code: Picker
func allTriedIsErrAllTried(l *lab) error { return l.refuses(poise.ErrAllTried) }

// refuses asks the queries that must be refused with the one error.
func (l *lab) refuses(want error) error {
	return l.each(func(s *stage, q poise.Query) error {
		if s.refusal(&q) != want {
			return nil
		}
		index, err := s.pick(q)
		return s.checkRefusal(&q, index, err)
	})
}

// checkRefusal reports a pick that should have been refused and was not, or with
// another of the three errors.
func (s *stage) checkRefusal(q *poise.Query, index int, err error) error {
	want := s.refusal(q)
	for _, sentinel := range []error{poise.ErrEmpty, poise.ErrNoEligible, poise.ErrAllTried} {
		if want != nil && errors.Is(err, sentinel) != (sentinel == want) {
			return s.complain(q, "picked %d (%v), want %v", index, err, want)
		}
	}
	return nil
}

// Claim: Pick returns no tried candidate while an untried eligible one exists.
// Code: Picker
//
// Cases: B49 (selection), Q1.
func untriedComeFirst(l *lab) error {
	err := l.each(func(s *stage, q poise.Query) error {
		index, err := s.pick(q)
		return s.checkUntried(&q, index, err)
	})
	if err != nil {
		return err
	}
	return l.each(func(s *stage, q poise.Query) error {
		if q.Tried.Len() > 0 || len(s.samples) > 12 {
			return nil
		}
		return s.retry(q.Key)
	})
}

func (s *stage) checkUntried(q *poise.Query, index int, err error) error {
	if err == nil && s.eligible(index) && s.tried(q, index) {
		return s.complain(q, "picked %d, which was tried", index)
	}
	if s.refusal(q) == nil && errors.Is(err, poise.ErrAllTried) {
		return s.complain(q, "%v", err)
	}
	return nil
}

// retry makes one call that fails everywhere: every pick must be somebody new.
func (s *stage) retry(key poise.Key) error {
	q := poise.Query{Key: key, Tried: new(poise.Tried)}
	for s.refusal(&q) == nil {
		index, err := s.pick(q)
		if err != nil {
			return nil // whether it may refuse is the matter of another law
		}
		if !q.Tried.Add(s.samples[index].ID, s.samples[index].Incarnation) {
			return s.complain(&q, "a retry went to %d again", index)
		}
	}
	return nil
}

// Claim: Pick succeeds while an untried eligible candidate exists, unless the policy states a refusal of its own.
//
// Cases: B11.
func succeedsWhereItCan(l *lab) error {
	return l.each(func(s *stage, q poise.Query) error {
		index, err := s.pick(q)
		return s.checkSuccess(&q, index, err, l.suite.Refusals)
	})
}

func (s *stage) checkSuccess(q *poise.Query, _ int, err error, refusals []error) error {
	if err == nil || s.refusal(q) != nil || q.Key.IsZero() && errors.Is(err, poise.ErrNoKey) {
		return nil
	}
	for _, stated := range refusals {
		if errors.Is(err, stated) {
			return nil
		}
	}
	return s.complain(q, "%v", err)
}

// Claim: A Pick that fails for want of a candidate or a key leaves the later picks as they would have been without it.
//
// Cases: B07.
func failedPickLeavesNoTrace(l *lab) error {
	hopeless := []*world{
		{name: "empty"},
		l.newWorld("none eligible", 3, onlyInFlight, func(int) bool { return false }),
	}
	for _, w := range l.worlds() {
		undisturbed, err := l.open(l.suite.New(), w)
		if err != nil {
			return err
		}
		p := l.suite.New()
		disturbed, err := l.open(p, w)
		if err != nil {
			return err
		}
		everyone := poise.Query{Key: poise.Uint64Key(1), Tried: w.triedIf(w.eligible)}
		for k, q := range l.queries(w) {
			for _, h := range hopeless {
				s, err := l.open(p, h)
				if err != nil {
					return err
				}
				_, _ = s.pick(q)
			}
			_, _ = disturbed.pick(everyone)
			if l.needsKey(w) {
				_, _ = disturbed.pick(plain)
			}
			index, pickErr := undisturbed.pick(q)
			other, otherErr := disturbed.pick(q)
			if err := same(index, pickErr, other, otherErr); err != nil {
				return disturbed.complain(&q, "query %d differs after failed picks: %v", k, err)
			}
		}
	}
	return nil
}

// needsKey reports whether the policy refuses queries without a key in this world.
func (l *lab) needsKey(w *world) bool {
	s, err := l.open(l.suite.New(), w)
	if err != nil {
		return false
	}
	_, err = s.pick(plain)
	return errors.Is(err, poise.ErrNoKey)
}

// Claim: Pick uses what its View sampled and asks no Candidate again.
//
// Cases: G1, G2, G3.
func asksNoCandidateAgain(l *lab) error {
	return l.each(func(s *stage, q poise.Query) error {
		_, _ = s.pick(q)
		for i, w := range s.witnesses {
			if w.asked != 1 {
				return s.complain(&q, "candidate %d was asked for its sample %d times", i, w.asked)
			}
		}
		return nil
	})
}

// Claim: Equal policies asked the same from one goroutine pick the same.
//
// Cases: G25.
func equalPoliciesPickTheSame(l *lab) error {
	p, twin := l.suite.New(), l.suite.New()
	for _, w := range l.worlds() {
		if err := l.agree(w, p, twin, func(*poise.Query, *poise.Query) {}); err != nil {
			return err
		}
	}
	return nil
}

// Claim: Asking for Why changes no pick.
// Code: Picker
func whyChangesNoPick(l *lab) error {
	p, twin := l.suite.New(), l.suite.New()
	for _, w := range l.worlds() {
		err := l.agree(w, p, twin, func(_, asked *poise.Query) { asked.Why = new(poise.Decision) })
		if err != nil {
			return fmt.Errorf("asked for Why: %w", err)
		}
	}
	return nil
}

// agree asks two policies the same queries, but for what change does to them, and
// compares the picks.
func (l *lab) agree(w *world, p, twin poise.Policy, change func(q, twins *poise.Query)) error {
	s, err := l.open(p, w)
	if err != nil {
		return err
	}
	other, err := l.open(twin, w)
	if err != nil {
		return err
	}
	queries := l.queries(w)
	for k := range len(w.samples) + len(queries) {
		q := queries[k%len(queries)]
		twins := q
		change(&q, &twins)
		index, pickErr := s.pick(q)
		otherIndex, otherErr := other.pick(twins)
		if err := same(index, pickErr, otherIndex, otherErr); err != nil {
			return s.complain(&q, "pick %d: %v", k, err)
		}
	}
	return nil
}

// Claim: Pick describes the very candidate it returns in Query.Why.
// Code: Picker
func whyIsTheTruth(l *lab) error {
	return l.each(func(s *stage, q poise.Query) error {
		// A Decision is filled whole, whatever it held before.
		q.Why = &poise.Decision{
			Policy: "another", Rule: poise.RuleNone, Chosen: 1 << 20, Err: errUnresolved,
			Considered: 1 << 20, Tried: 1 << 20, ComparedLen: 2,
			Compared: [2]poise.Compared{{Index: 1 << 20}, {Index: 1 << 20}},
		}
		index, err := s.pick(q)
		return s.checkWhy(&q, index, err)
	})
}

// isDecidedOn reports whether a pick that ended with that candidate, or -1, can
// have been decided on v: the View of the pick, or a scope that the policy made of
// it.
func (s *stage) isDecidedOn(v *poise.View, index int) bool {
	if v == s.view || v == nil {
		return v != nil
	}
	someone := index
	if index < 0 {
		someone = v.Eligible(0)
	}
	selection, err := v.Select(someone)
	if err != nil {
		return false
	}
	resolved, err := s.base.Index(selection)
	return err == nil && resolved == someone
}

// passedOver returns how many candidates that are eligible in the View the query
// names as tried.
func passedOver(v *poise.View, q *poise.Query) int {
	rest := v.Untried(q.Tried)
	return v.EligibleLen() - rest.Len()
}

// isLabel reports whether a text can label a metric and stand in a line.
func isLabel(text string) bool {
	return len(text) <= 64 && strings.ToLower(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (s *stage) checkWhy(q *poise.Query, index int, err error) error {
	d := q.Why
	_, untried := s.count(q)
	rules := []struct {
		broken bool
		what   string
	}{
		{!s.isDecidedOn(d.View, index), "View is neither the View of the pick nor a scope of it"},
		{d.Policy == "" || d.Policy == "another", "Policy is not set"},
		{d.Chosen != index, "Chosen is not the index of the Selection, or -1"},
		{d.Err != err, "Err is not the error of the pick"},
		{(d.Rule == poise.RuleNone) != (err != nil), "Rule is set exactly if a candidate was chosen"},
		{!isLabel(string(d.Rule)), "Rule is no label: a few words in lower case"},
		{d.View != nil && d.Tried != passedOver(d.View, q), "Tried is not how many eligible candidates were passed over"},
		{err == nil && d.Considered < 1, "Considered is less than 1"},
		{d.Considered < 0 || d.Considered > untried, "Considered is more than the untried"},
		{d.ComparedLen < 0 || d.ComparedLen > len(d.Compared), "ComparedLen is out of range"},
	}
	for _, r := range rules {
		if r.broken {
			return s.complain(q, "%s: picked %d (%v), Why is %+v", r.what, index, err, *d)
		}
	}
	for k, c := range d.Compared[:d.ComparedLen] {
		if c.Index < 0 || c.Index >= len(s.samples) || !s.eligible(c.Index) || s.tried(q, c.Index) {
			return s.complain(q, "Compared[%d] is candidate %d, which could not be picked", k, c.Index)
		}
		if k == 0 && c.Index != index {
			return s.complain(q, "Compared begins with %d, and %d was picked", c.Index, index)
		}
	}
	if text := d.String(); index >= 0 && !strings.Contains(text, s.samples[index].ID) {
		return s.complain(q, "Why does not name the candidate: %s", text)
	}
	return nil
}

// Claim: Pick allocates nothing while at most eight of its candidates are tried.
//
// Cases: E12.
func allocatesNothing(l *lab) error {
	stages, err := l.openAll()
	if err != nil {
		return err
	}
	for _, s := range stages {
		for _, q := range s.frugalQueries() {
			// Whether it fails is the matter of other laws: a refusal is to be as free.
			if n := testing.AllocsPerRun(20, func() { _, _ = s.picker.Pick(q) }); n != 0 {
				return s.complain(&q, "%v allocations a pick (Why asked: %v)", n, q.Why != nil)
			}
		}
	}
	return nil
}

// frugalQueries are queries that try none, one and eight, each without and with
// Why.
func (s *stage) frugalQueries() []poise.Query {
	key := poise.StringKey("customer-42")
	list := []poise.Query{{}, {Key: key}}
	for _, most := range []int{1, 8} {
		tried := new(poise.Tried)
		for i := len(s.samples) - 1; i >= 0 && tried.Len() < most; i-- {
			tried.Add(s.samples[i].ID, s.samples[i].Incarnation)
		}
		list = append(list, poise.Query{Key: key, Tried: tried})
	}
	for _, q := range list {
		q.Why = new(poise.Decision)
		list = append(list, q)
	}
	return list
}
