package policytest

import (
	"errors"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// meter is a load tracker that counts how often it is read. Each reading differs
// from the one before.
type meter struct {
	load  uint64
	unit  poise.LoadUnit
	reads int
	err   error // not nil: it cannot tell
}

func (m *meter) Load(time.Time) (uint64, error) {
	m.reads++
	m.load = poise.Mix64(m.load + 1)
	return m.load, m.err
}

func (m *meter) Unit() poise.LoadUnit { return m.unit }

// errMeter is why a meter cannot tell.
var errMeter = errors.New("the meter cannot tell")

// metered returns the world with meters in place of the trackers there are; those for
// whom fails is true cannot tell.
func (w *world) metered(fails func(i int) bool) (*world, []*meter) {
	metered := &world{name: w.name + ", metered", samples: append([]poise.Sample(nil), w.samples...), scope: w.scope}
	meters := make([]*meter, len(w.samples))
	for i := range meters {
		meters[i] = &meter{load: uint64(i)}
		if fails(i) {
			meters[i].err = errMeter
		}
		if of := w.samples[i].Load; of != nil {
			meters[i].unit = of.Unit()
			metered.samples[i].Load = meters[i]
		}
	}
	return metered, meters
}

// eachMetered asks every query of every world, with meters set back to no reading.
func (l *lab) eachMetered(fails func(i int) bool, ask func(*stage, []*meter, poise.Query) error) error {
	for _, w := range l.worlds() {
		w, meters := w.metered(fails)
		s, err := l.open(l.suite.New(), w)
		if err != nil {
			return err
		}
		for _, q := range l.queries(w) {
			for _, why := range []*poise.Decision{nil, new(poise.Decision)} {
				for _, m := range meters {
					m.reads = 0
				}
				q.Why = why
				if err := ask(s, meters, q); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Claim: A pick asks the tracker of each compared candidate at most once.
func readsEachLoadOnce(l *lab) error {
	none := func(int) bool { return false }
	return l.eachMetered(none, func(s *stage, meters []*meter, q poise.Query) error {
		_, _ = s.pick(q)
		for i, m := range meters {
			if m.reads > 1 {
				return s.complain(&q, "the load of %d was read %d times", i, m.reads)
			}
		}
		return nil
	})
}

// Claim: A load that a tracker cannot tell fails the pick with ErrLoadOverflow.
func untoldLoadIsErrLoadOverflow(l *lab) error {
	some := func(i int) bool { return i%3 != 1 }
	return l.eachMetered(some, func(s *stage, meters []*meter, q poise.Query) error {
		index, err := s.pick(q)
		for i, m := range meters {
			if m.reads > 0 && m.err != nil && !errors.Is(err, poise.ErrLoadOverflow) {
				return s.complain(&q, "picked %d (%v) though the load of %d could not be told", index, err, i)
			}
		}
		if q.Why != nil {
			return s.checkWhy(&q, index, err)
		}
		return nil
	})
}
