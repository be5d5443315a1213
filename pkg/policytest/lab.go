package policytest

import (
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// lab is what a law works with: the policy's maker, and inputs that the seed
// decides.
type lab struct {
	suite  Suite
	chance *poise.Generator
}

// stage is a world made into a View and a Picker.
type stage struct {
	*world
	base      *poise.View // what selections resolve on
	view      *poise.View // what picks happen on: base, or a scope of it
	picker    poise.Picker
	witnesses []*witness
}

// open makes the world into a View and has the policy prepare it.
func (l *lab) open(p poise.Policy, w *world) (*stage, error) {
	s := &stage{world: w, witnesses: make([]*witness, len(w.samples))}
	candidates := make([]poise.Candidate, len(w.samples))
	for i, sample := range w.samples {
		s.witnesses[i] = &witness{sample: sample}
		candidates[i] = s.witnesses[i]
	}
	var err error
	if s.base, err = poise.NewView(candidates); err != nil {
		return nil, fmt.Errorf("%s: its View was refused: %w", w.name, err)
	}
	s.view = s.base
	if w.scope != nil {
		if s.view, err = s.base.Scope(w.scope); err != nil {
			return nil, fmt.Errorf("%s: its scope was refused: %w", w.name, err)
		}
	}
	if l.suite.shown != nil {
		l.suite.shown(s.witnesses)
	}
	if s.picker, err = p.Prepare(s.view); err != nil {
		return nil, fmt.Errorf("%s: Prepare answered %w", w.name, err)
	}
	if s.picker == nil {
		return nil, fmt.Errorf("%s: Prepare returned neither a Picker nor an error", w.name)
	}
	return s, nil
}

// errUnresolved is what pick answers for a Selection that names nobody.
var errUnresolved = errors.New("the Selection does not resolve on the View of the pick")

// pick picks and resolves: the index on the base View, or -1 and the error.
func (s *stage) pick(q poise.Query) (int, error) {
	selection, err := s.picker.Pick(q)
	if err != nil {
		return -1, err
	}
	index, err := s.base.Index(selection)
	if err != nil {
		return -1, errUnresolved
	}
	return index, nil
}

// complain describes a pick that broke a law.
func (s *stage) complain(q *poise.Query, format string, args ...any) error {
	eligible, untried := s.count(q)
	return fmt.Errorf("%s (%d eligible, %d untried, key %v, %d named as tried): %s",
		s.name, eligible, untried, !q.Key.IsZero(), q.Tried.Len(), fmt.Sprintf(format, args...))
}

// same compares what two picks answered.
func same(index int, err error, other int, otherErr error) error {
	if index != other || !errors.Is(err, otherErr) && fmt.Sprint(err) != fmt.Sprint(otherErr) {
		return fmt.Errorf("picked %d (%v) and %d (%v)", index, err, other, otherErr)
	}
	return nil
}

// fullyTried is up to how many candidates every set of tried ones is asked.
const fullyTried = 4

// queries returns questions to the world, with all kinds of keys and of Tried.
func (l *lab) queries(w *world) []poise.Query {
	var list []poise.Query
	add := func(tried *poise.Tried) {
		list = append(list, poise.Query{Key: l.key(len(list)), Tried: tried, Now: time.Unix(int64(len(list)), 0)})
	}
	n := len(w.samples)
	for range 6 {
		add(nil)
	}
	add(new(poise.Tried))
	if n <= fullyTried {
		for set := range 1 << n {
			add(w.triedIf(func(i int) bool { return set>>i&1 == 1 }))
		}
	} else {
		for range 8 {
			share := l.chance.Below(5)
			add(w.triedIf(func(int) bool { return l.chance.Below(4) < share }))
		}
		spared := int(l.chance.Below(uint64(n)))
		add(w.triedIf(func(i int) bool { return i != spared }))
		add(w.triedIf(w.eligible))
	}
	add(w.strangers())
	return list
}

// key returns one of the kinds of key, none among them.
func (l *lab) key(kind int) poise.Key {
	number := l.chance.Uint64()
	switch kind % 6 {
	case 0:
		return poise.Key{}
	case 1:
		return poise.StringKey(fmt.Sprintf("customer-%d", number))
	case 2:
		return poise.BytesKey([]byte{byte(number), byte(number >> 8), 0xff})
	case 3:
		return poise.StringKey("")
	case 4:
		return poise.BytesKey(nil)
	}
	return poise.Uint64Key(number)
}

// triedIf returns a Tried of the candidates that chosen accepts.
func (w *world) triedIf(chosen func(i int) bool) *poise.Tried {
	tried := new(poise.Tried)
	for i := range w.samples {
		if chosen(i) {
			tried.Add(w.samples[i].ID, w.samples[i].Incarnation)
		}
	}
	return tried
}

// strangers returns a Tried of other lives of the candidates, and of identities
// that the world does not have. It tries none of the world.
func (w *world) strangers() *poise.Tried {
	tried := new(poise.Tried)
	tried.Add("stranger", 0)
	for i := range min(len(w.samples), 3) {
		tried.Add(w.samples[i].ID, w.samples[i].Incarnation+1)
	}
	return tried
}
