package policytest

import (
	"fmt"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// world is one candidate set. It is made into as many equal Views as a law wants.
type world struct {
	name    string
	samples []poise.Sample
	// scope lists the members of the scope in which picks happen; nil is no scope,
	// and the samples say who is eligible.
	scope []int
}

// witness is a Candidate that says its sample once. Whoever asks again hears of
// another status, another exclusion and another identity.
type witness struct {
	sample poise.Sample
	asked  int
}

// Sample returns the sample, and something else at every later call.
func (w *witness) Sample() poise.Sample {
	w.asked++
	if w.asked == 1 {
		return w.sample
	}
	changed := w.sample
	changed.ID = fmt.Sprintf("%s as of reading %d", changed.ID, w.asked)
	changed.Status = poise.Status(w.asked % 3)
	changed.Excluded = poise.Reason(w.asked % 2)
	return changed
}

// steady is a load that never changes and is no InFlight.
type steady uint64

func (s steady) Load(time.Time) (uint64, error) { return uint64(s), nil }
func (s steady) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

// inFlight returns an InFlight that holds so much work.
func inFlight(load uint64) *poise.InFlight {
	f := poise.NewInFlight(0)
	for range load {
		if _, err := f.Acquire(); err != nil {
			panic(err) // an unlimited InFlight that is far from exhausted
		}
	}
	return f
}

// eligible reports whether a pick may return candidate i, tried or not. It is told
// from the samples, not from the View.
func (w *world) eligible(i int) bool {
	if w.scope == nil {
		return w.samples[i].Status == poise.Ready && w.samples[i].Excluded == poise.NotExcluded
	}
	return slices.Contains(w.scope, i)
}

// tried reports whether the query names candidate i.
func (w *world) tried(q *poise.Query, i int) bool {
	return q.Tried.Has(w.samples[i].ID, w.samples[i].Incarnation)
}

// count returns how many candidates are eligible, and how many of those the query
// leaves.
func (w *world) count(q *poise.Query) (eligible, untried int) {
	for i := range w.samples {
		if w.eligible(i) {
			eligible++
			if !w.tried(q, i) {
				untried++
			}
		}
	}
	return eligible, untried
}

// refusal is the error that a pick must answer, or nil where it can pick.
func (w *world) refusal(q *poise.Query) error {
	eligible, untried := w.count(q)
	switch {
	case len(w.samples) == 0:
		return poise.ErrEmpty
	case eligible == 0:
		return poise.ErrNoEligible
	case untried == 0:
		return poise.ErrAllTried
	}
	return nil
}

// kinds of load tracker in a world.
const (
	onlyInFlight = iota
	onlySteady
	mixed
	trackerKinds
)

// newWorld returns a world of n candidates of which those for whom ready is true
// are eligible.
func (l *lab) newWorld(name string, n, trackers int, ready func(i int) bool) *world {
	w := &world{name: name, samples: make([]poise.Sample, n)}
	chance := l.chance
	for i := range w.samples {
		s := &w.samples[i]
		s.ID = l.identity(i)
		s.Incarnation = chance.Below(3)
		s.Weight, _ = poise.NewWeight(1 + uint32(chance.Below(20)))
		s.Priority = uint32(chance.Below(3))
		at := chance.Below(uint64(max(1, len(l.suite.Localities))))
		if len(l.suite.Localities) > 0 {
			s.Locality = l.suite.Localities[at]
		}
		s.LocalityWeight, _ = poise.NewWeight(1 + s.Priority + uint32(len(s.Locality)))
		load := chance.Below(4)
		if trackers == onlyInFlight || trackers == mixed && i%2 == 0 {
			s.Load = inFlight(load)
		} else {
			s.Load = steady(load)
		}
		if !ready(i) {
			leaveOut(s, chance)
		}
	}
	return w
}

func (l *lab) identity(i int) string {
	if i < len(l.suite.Identities) {
		return l.suite.Identities[i]
	}
	return fmt.Sprintf("candidate-%d", i)
}

// users are the candidate sets of the user.
func (l *lab) users() []*world {
	var list []*world
	for k, samples := range l.suite.Samples {
		list = append(list, &world{name: fmt.Sprintf("Suite.Samples[%d]", k), samples: samples})
	}
	return list
}

// leaveOut makes the sample ineligible in one of the ways there are.
func leaveOut(s *poise.Sample, chance *poise.Generator) {
	reasons := uint64(poise.ExcludedOutOfScope - poise.ExcludedDraining)
	switch chance.Below(3) {
	case 0:
		s.Status = poise.Draining
	case 1:
		s.Status = poise.Unavailable
	default:
		s.Excluded = poise.ExcludedDraining + poise.Reason(chance.Below(reasons))
	}
	s.PanicOptOut = chance.Below(2) == 0
}

// worlds returns candidate sets of many shapes, the corners first.
func (l *lab) worlds() []*world {
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	only := func(wanted int) func(int) bool { return func(i int) bool { return i == wanted } }
	every := func(step, at int) func(int) bool { return func(i int) bool { return i%step == at } }

	var list []*world
	add := func(name string, n int, ready func(int) bool) {
		trackers := len(list) % trackerKinds
		list = append(list, l.newWorld(fmt.Sprintf("%s of %d", name, n), n, trackers, ready))
	}
	add("empty", 0, none)
	for n := 1; n <= 7; n++ {
		add("all", n, all)
		add("none", n, none)
	}
	for _, n := range []int{2, 3, 10} {
		add("only the first", n, only(0))
		add("only the last", n, only(n-1))
	}
	add("only number 7", 10, only(7))
	for _, n := range []int{4, 7, 12} {
		add("every second", n, every(2, 0))
		add("every other second", n, every(2, 1))
	}
	add("every fifth", 64, every(5, 3))
	add("large", 130, func(int) bool { return l.chance.Below(4) > 0 })
	add("all", 65, all)
	for range 24 {
		share := l.chance.Below(5)
		add("random", 1+int(l.chance.Below(12)), func(int) bool { return l.chance.Below(4) < share })
	}
	list = append(list, l.users()...)
	for _, w := range list[:len(list):len(list)] {
		list = append(list, l.scoped(w))
	}
	return list
}

// scoped returns the world with picks in a scope: a draw of those whom a scope may
// hold, eligible or not.
func (l *lab) scoped(w *world) *world {
	scoped := &world{name: "a scope of " + w.name, samples: w.samples, scope: []int{}}
	share := l.chance.Below(4)
	for i, s := range w.samples {
		if s.Status == poise.Draining || s.Excluded == poise.ExcludedDraining || s.PanicOptOut && !w.eligible(i) {
			continue
		}
		if l.chance.Below(3) < share {
			scoped.scope = append(scoped.scope, i)
		}
	}
	return scoped
}
