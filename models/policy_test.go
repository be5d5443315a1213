//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// candidate is a Candidate that is what it is.
type candidate poise.Sample

func (c candidate) Sample() poise.Sample { return poise.Sample(c) }

// view returns a View of candidates named by their place, of which some are
// eligible.
func view(eligible ...bool) *poise.View {
	candidates := make([]poise.Candidate, len(eligible))
	for i, ok := range eligible {
		c := candidate{ID: fmt.Sprint(i), Load: new(poise.InFlight)}
		if !ok {
			c.Status = poise.Draining
		}
		candidates[i] = c
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	return v
}

// chooser is a picker, or a twin of it with a planted bug.
type chooser interface{ choose() int }

type realChooser struct {
	view   *poise.View
	picker poise.Picker
	slow   bool // each pick explains itself and looks for the tried
	why    bool // each pick explains itself
}

// explained is the same picker, whose picks explain themselves.
func (c realChooser) explained() realChooser {
	c.why = true
	return c
}

// slowly is the same picker, whose picks explain themselves and look for the tried,
// of whom there are none. That is another path through each policy.
func (c realChooser) slowly() realChooser {
	c.slow = true
	return c
}

// query is what the picks ask, who pass over the tried.
func (c realChooser) query(tried int) poise.Query {
	var q poise.Query
	if c.slow || c.why {
		q.Why = new(poise.Decision)
	}
	if !c.slow && tried == 0 {
		return q
	}
	q.Tried = new(poise.Tried)
	q.Tried.Add("stranger", 0)
	for i := range c.view.Len() {
		if tried>>i&1 != 0 {
			q.Tried.Add(fmt.Sprint(i), 0)
		}
	}
	return q
}

func prepared(v *poise.View, p poise.Policy) realChooser {
	picker, err := p.Prepare(v)
	if err != nil {
		panic(err)
	}
	return realChooser{view: v, picker: picker}
}

// choose returns the place of the pick, -1 for an error.
func (c realChooser) choose() int { return c.without(0) }

// without is choose that passes over the tried.
func (c realChooser) without(tried int) int {
	selection, err := c.picker.Pick(c.query(tried))
	if err != nil {
		return -1
	}
	at, err := c.view.Index(selection)
	if err != nil {
		return -1
	}
	return at
}

// ticketChooser is a round robin that loads and stores its cursor.
type ticketChooser struct {
	cursor   explore.Uint64
	eligible []bool
}

func (c *ticketChooser) choose() int {
	at := int(c.cursor.Load())
	for at %= len(c.eligible); !c.eligible[at]; at = (at + 1) % len(c.eligible) {
	}
	c.cursor.Store(uint64(at) + 1)
	return at
}

// ticketThenSkip draws a ticket in one step and passes over whoever is not
// eligible afterwards: each pick is right, and their order is not.
type ticketThenSkip struct{ ticketChooser }

func (c *ticketThenSkip) choose() int {
	at := int(c.cursor.Add(1)-1) % len(c.eligible)
	for ; !c.eligible[at]; at = (at + 1) % len(c.eligible) {
	}
	return at
}

// Claim: Parallel picks on one View take exactly the turns that as many picks in sequence would.
func TestRoundRobin_ParallelPicksTakeTurns(t *testing.T) {
	for _, c := range []struct{ tasks, picks int }{{2, 2}, {3, 1}} {
		t.Run(fmt.Sprintf("%d_tasks_of_%d", c.tasks, c.picks), func(t *testing.T) {
			eligible := []bool{true, false, true}
			explore.Check(t, explore.Model[chooser]{
				Name:     fmt.Sprintf("round robin: %d tasks of %d picks, one candidate of three not eligible", c.tasks, c.picks),
				NotShown: "Tried candidates; more picks.",
				New:      func() chooser { return prepared(view(eligible...), new(policy.RoundRobin)) },
				Tasks: same(c.tasks, "caller", func(s chooser, h *explore.T) {
					for range c.picks {
						h.Call("Pick", nil, func() any { return s.choose() })
					}
				}),
				Outcome: results[chooser],
				Spec:    seq.Turns(eligible, 0),
				Bugs: []explore.Bug[chooser]{
					bug("load and store instead of compare and swap", "history", func() chooser { return &ticketChooser{eligible: eligible} }),
					bug("a ticket, and then whoever is next", "history", func() chooser { return &ticketThenSkip{ticketChooser{eligible: eligible}} }),
				},
			})
		})
	}
}

// passer is a chooser that can pass over some.
type passer interface {
	chooser
	without(tried int) int
}

// Picks that pass over somebody take their turns from the one cursor too.
func TestRoundRobin_RetriesTakeTurnsWithTheOthers(t *testing.T) {
	eligible := []bool{true, true, false, true}
	const tried = 0b0001
	explore.Check(t, explore.Model[passer]{
		Name:     "round robin: a caller of two picks, and one whose two picks pass over the first candidate",
		NotShown: "A caller that has tried everybody.",
		New:      func() passer { return prepared(view(eligible...), new(policy.RoundRobin)) },
		Tasks: numbered(2, "caller", func(n int, s passer, h *explore.T) {
			for range 2 {
				if n == 0 {
					h.Call("Pick", nil, func() any { return s.choose() })
				} else {
					h.Call("Pick", tried, func() any { return s.without(tried) })
				}
			}
		}),
		Outcome: results[passer],
		Spec:    seq.Turns(eligible, 0),
		Bugs: []explore.Bug[passer]{
			bug("a cursor that retries load and store", "history", func() passer {
				return &tornPasser{eligible: eligible}
			}),
			bug("a cursor for retries", "history", func() passer {
				v := view(eligible...)
				return &twoPassers{prepared(v, new(policy.RoundRobin)), prepared(v, new(policy.RoundRobin))}
			}),
		},
	})
}

// tornPasser is a round robin of which retries load and store the cursor.
type tornPasser struct {
	cursor   explore.Uint64
	eligible []bool
}

func (c *tornPasser) from(cursor uint64, tried int) int {
	at := int(cursor)
	for at %= len(c.eligible); !c.eligible[at] || tried>>at&1 != 0; at = (at + 1) % len(c.eligible) {
	}
	return at
}

func (c *tornPasser) choose() int {
	for {
		cursor := c.cursor.Load()
		at := c.from(cursor, 0)
		if c.cursor.CompareAndSwap(cursor, uint64(at)+1) {
			return at
		}
	}
}

func (c *tornPasser) without(tried int) int {
	at := c.from(c.cursor.Load(), tried)
	c.cursor.Store(uint64(at) + 1)
	return at
}

// twoPassers are two policies, of which one has the retries.
type twoPassers struct{ turns, retries passer }

func (c *twoPassers) choose() int           { return c.turns.choose() }
func (c *twoPassers) without(tried int) int { return c.retries.without(tried) }

// twoViews is one policy under an old and a new View.
type twoViews struct{ old, fresh chooser }

// Claim: The cursor outlives the View.
func TestRoundRobin_PicksOnTwoViewsShareTheCursor(t *testing.T) {
	explore.Check(t, explore.Model[*twoViews]{
		Name:     "round robin: picks on an old and on a new View of the same candidates, these slowly",
		NotShown: "Views of different length, where the turns of both are not one rotation.",
		New: func() *twoViews {
			p := new(policy.RoundRobin)
			return &twoViews{prepared(view(true, true, true), p), prepared(view(true, true, true), p).slowly()}
		},
		Tasks: numbered(2, "caller", func(n int, s *twoViews, h *explore.T) {
			for range 2 {
				c := []chooser{s.old, s.fresh}[n]
				h.Call("Pick", nil, func() any { return c.choose() })
			}
		}),
		Outcome: results[*twoViews],
		Spec:    seq.Turns([]bool{true, true, true}, 0),
		Bugs: []explore.Bug[*twoViews]{bug("a cursor for each View", "history", func() *twoViews {
			return &twoViews{prepared(view(true, true, true), new(policy.RoundRobin)), prepared(view(true, true, true), new(policy.RoundRobin))}
		})},
	})
}

// loaded is a load-aware policy over two endpoints.
type loaded struct {
	chooser
	slots [2]*poise.InFlight
}

func newLoaded(p poise.Policy) *loaded {
	s := new(loaded)
	var candidates []poise.Candidate
	for i := range s.slots {
		s.slots[i] = new(poise.InFlight)
		candidates = append(candidates, candidate{ID: fmt.Sprint(i), Load: s.slots[i]})
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	s.chooser = prepared(v, p)
	return s
}

// keeper is a load-aware policy that keeps the best so far in the policy, where
// others see it.
type keeper struct {
	best explore.Int64
	of   *loaded
}

func newKeeper() *loaded {
	s := newLoaded(new(policy.LeastLoaded))
	s.chooser = &keeper{of: s}
	return s
}

func (c *keeper) choose() int {
	c.best.Store(-1)
	for i, slots := range c.of.slots {
		if best := c.best.Load(); best < 0 || slots.Current() < c.of.slots[best].Current() {
			c.best.Store(int64(i))
		}
	}
	return int(c.best.Load())
}

// loadAware are the policies that look at loads and promise no order.
var loadAware = []struct {
	name  string
	fresh func() (poise.Policy, error)
}{
	{"least loaded", func() (poise.Policy, error) { return new(policy.LeastLoaded), nil }},
	{"power of two choices", func() (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 7}), nil
	}},
	{"weighted least request", func() (poise.Policy, error) {
		return policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: 7}), nil
	}},
}

// What load-aware policies promise of picks that overlap is little: a pick is one
// of the candidates, and the loads end where they began. That all callers can meet
// on one candidate is a witness, not a fault.
func TestLoadAware_OverlappingPicksMayMeet(t *testing.T) {
	for _, p := range loadAware {
		t.Run(p.name, func(t *testing.T) {
			explore.Check(t, explore.Model[*loaded]{
				Name:     p.name + ": two callers that pick, one of them explained, hold and release",
				NotShown: "An order of picks; " + p.name + " promises none.",
				New: func() *loaded {
					of, err := p.fresh()
					if err != nil {
						panic(err)
					}
					return newLoaded(of)
				},
				Tasks: numbered(2, "caller", func(n int, s *loaded, h *explore.T) {
					c := s.chooser
					if of, is := c.(realChooser); is && n == 1 {
						c = of.explained()
					}
					at := h.Call("Pick", nil, func() any { return c.choose() }).(int)
					if at < 0 {
						return
					}
					lease, _ := s.slots[at].Acquire()
					lease.Release()
				}),
				Sometimes: []explore.Pred[*loaded]{
					{Name: "Meet", Holds: func(s *loaded) bool { return max(s.slots[0].Current(), s.slots[1].Current()) == 2 }},
					{Name: "Spread", Holds: func(s *loaded) bool { return s.slots[0].Current() == 1 && s.slots[1].Current() == 1 }},
				},
				Final: func(s *loaded, r *explore.Run) error {
					for _, op := range r.History {
						if at := op.Result.(int); at < 0 || at > 1 {
							return fmt.Errorf("picked %d", at)
						}
					}
					if a, b := s.slots[0].Current(), s.slots[1].Current(); a != 0 || b != 0 {
						return fmt.Errorf("loads end at %d and %d", a, b)
					}
					return nil
				},
				Outcome: results[*loaded],
				Bugs:    []explore.Bug[*loaded]{bug("the best so far is kept in the policy", "final", newKeeper)},
			})
		})
	}
}
