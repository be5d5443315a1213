//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// keyed answers where a key goes.
type keyed interface{ owner(key uint64) int }

type realKeyed realChooser

func (k realKeyed) owner(key uint64) int {
	q := realChooser(k).query(0)
	q.Key = poise.Uint64Key(key)
	selection, err := k.picker.Pick(q)
	if err != nil {
		return -1
	}
	at, err := k.view.Index(selection)
	if err != nil {
		return -1
	}
	return at
}

// pausing is FNV-1a that lets others run before it reads the stream. The gate
// changes, since among steps that only read all orders count as one.
func pausing(gate *explore.Uint64) func([]byte) uint64 {
	return func(stream []byte) uint64 {
		gate.Add(1)
		return uint64(poise.FNVBasis.Raw(string(stream)))
	}
}

// hashing are the keyed policies with a custom hash, and how many picks of a
// caller can be explored: one that reads loads has more steps.
var hashing = []struct {
	name  string
	picks int
	fresh func(hash func([]byte) uint64) (poise.Policy, error)
}{
	{"rendezvous", 2, func(hash func([]byte) uint64) (poise.Policy, error) {
		return policy.NewRendezvous(policy.RendezvousConfig{Hash: hash}), nil
	}},
	{"weighted rendezvous", 2, func(hash func([]byte) uint64) (poise.Policy, error) {
		return policy.NewWeightedRendezvous(policy.WeightedRendezvousConfig{Hash: hash}), nil
	}},
	{"bounded load rendezvous", 1, func(hash func([]byte) uint64) (poise.Policy, error) {
		return policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{Hash: hash})
	}},
	{"ring hash", 2, func(hash func([]byte) uint64) (poise.Policy, error) {
		return policy.NewRingHash(policy.RingHashConfig{PointsPerWeight: 3, Hash: hash})
	}},
	{"Maglev", 2, func(hash func([]byte) uint64) (poise.Policy, error) {
		return policy.NewMaglev(policy.MaglevConfig{TableSize: 7, Hash: hash})
	}},
}

// made is a policy of the library, of a config that is legal.
func made(p poise.Policy, err error) poise.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

// oneBuffer is a hash that copies every stream into one buffer first. While it
// pauses, others put theirs there.
func oneBuffer() func([]byte) uint64 {
	var buffer []byte
	var gate explore.Uint64
	return func(stream []byte) uint64 {
		gate.Add(1)
		buffer = append(buffer[:0], stream...)
		gate.Add(1)
		return uint64(poise.FNVBasis.Raw(string(buffer)))
	}
}

// apart returns two keys that go to different candidates.
func apart(k keyed) [2]uint64 {
	second := uint64(1)
	for k.owner(second) == k.owner(0) {
		second++
	}
	return [2]uint64{0, second}
}

// Claim: Picks that overlap, with each other or with Prepare, keep every one of these laws.
func TestKeyedPicks_ShareNoBuffer(t *testing.T) {
	for _, p := range hashing {
		t.Run(p.name, func(t *testing.T) {
			with := func(hash func([]byte) uint64) keyed {
				return realKeyed(prepared(view(true, true), made(p.fresh(hash))))
			}
			alone := with(func(stream []byte) uint64 { return uint64(poise.FNVBasis.Raw(string(stream))) })
			keys := apart(alone)
			explore.Check(t, explore.Model[keyed]{
				Name:     p.name + " with a custom hash: two callers with different keys and one spare buffer",
				NotShown: "More callers than there are slots for buffers.",
				New: func() keyed {
					k := with(pausing(new(explore.Uint64)))
					k.owner(9) // the next pick finds a buffer
					return k
				},
				Tasks: numbered(2, "caller", func(n int, s keyed, h *explore.T) {
					if of, is := s.(realKeyed); is && n == 1 {
						s = realKeyed(realChooser(of).slowly())
					}
					for range p.picks {
						h.Call("Pick", nil, func() any { return s.owner(keys[n]) })
					}
				}),
				Final: func(_ keyed, r *explore.Run) error {
					for _, op := range r.History {
						if want := alone.owner(keys[op.Task]); op.Result != want {
							return fmt.Errorf("key %d went to %v, alone to %d", keys[op.Task], op.Result, want)
						}
					}
					return nil
				},
				Outcome: results[keyed],
				Bugs:    []explore.Bug[keyed]{bug("one buffer for all picks", "final", func() keyed { return with(oneBuffer()) })},
			})
		})
	}
}

// gatedLoad is a load that never changes, and lets others run after it was read.
type gatedLoad struct {
	load uint64
	gate *explore.Uint64
}

func (l gatedLoad) Load(time.Time) (uint64, error) {
	l.gate.Add(1)
	return l.load, nil
}

func (gatedLoad) Unit() poise.LoadUnit { return poise.RequestsInFlight }

// twoLoads is one policy that bounds loads, under two Views whose loads differ: in
// the first the first candidate is full, in the second the second.
type twoLoads [2]keyed

func newTwoLoads() *twoLoads {
	p := made(policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{Percent: 100}))
	s, gate := new(twoLoads), new(explore.Uint64)
	for full := range s {
		candidates := make([]poise.Candidate, len(s))
		for i := range candidates {
			load := gatedLoad{0, gate}
			if i == full {
				load.load = 3
			}
			candidates[i] = candidate{ID: fmt.Sprint(i), Load: load}
		}
		v, err := poise.NewView(candidates)
		if err != nil {
			panic(err)
		}
		s[full] = realKeyed(prepared(v, p))
	}
	s[0].owner(0) // the next pick finds a buffer
	return s
}

// oneList reads the loads of its View into a list that all Views share, and picks
// by that.
type oneList struct {
	list  *[2]explore.Uint64
	loads [2]uint64
}

func (o oneList) owner(uint64) int {
	for i, load := range o.loads {
		o.list[i].Store(load)
	}
	if o.list[0].Load() < 2 {
		return 0
	}
	return 1
}

// Loads that were read stay in buffers that all Pickers of a policy share; whoever
// has one has it alone.
func TestBoundedLoadRendezvous_PicksByTheLoadsItRead(t *testing.T) {
	keys := apart(realKeyed(prepared(view(true, true), new(policy.BoundedLoadRendezvous))))
	explore.Check(t, explore.Model[*twoLoads]{
		Name:     "bounded load rendezvous: picks on two Views, in each of which another candidate is full",
		NotShown: "Loads that change; InFlights, which are read in a loop of their own; more callers than there are slots for buffers.",
		New:      newTwoLoads,
		Tasks: numbered(2, "caller", func(n int, s *twoLoads, h *explore.T) {
			for _, key := range keys {
				h.Call("Pick", nil, func() any { return s[n].owner(key) })
			}
		}),
		Final: func(_ *twoLoads, r *explore.Run) error {
			for _, op := range r.History {
				if op.Result != 1-op.Task {
					return fmt.Errorf("on View %d picked %v", op.Task, op.Result)
				}
			}
			return nil
		},
		Outcome: results[*twoLoads],
		Bugs: []explore.Bug[*twoLoads]{bug("one list of loads for all Views", "final", func() *twoLoads {
			list := new([2]explore.Uint64)
			return &twoLoads{oneList{list, [2]uint64{3, 0}}, oneList{list, [2]uint64{0, 3}}}
		})},
	})
}

// compiler prepares for one of two Views, and says where keys go there.
type compiler interface{ compile(v *poise.View) keyed }

type realCompiler struct{ policy poise.Policy }

func (c realCompiler) compile(v *poise.View) keyed { return realKeyed(prepared(v, c.policy)) }

// sharedCompiler keeps the newest table for the picks of every View.
type sharedCompiler struct {
	policy poise.Policy
	newest explore.Pointer[realKeyed]
}

func (c *sharedCompiler) compile(v *poise.View) keyed {
	k := realKeyed(prepared(v, c.policy))
	c.newest.Store(&k)
	return c
}

func (c *sharedCompiler) owner(key uint64) int { return c.newest.Load().owner(key) }

// moved is a key of the candidate that the second View leaves out.
func moved(p poise.Policy) uint64 {
	k := realKeyed(prepared(view(true, true, true), p))
	key := uint64(0)
	for k.owner(key) != 1 {
		key++
	}
	return key
}

// Tables that are carried over from View to View: whichever Prepare is first, and
// whatever it leaves for the other, each View's picks are its own.
func TestTables_CarriedOverServeTheirView(t *testing.T) {
	for _, p := range hashing {
		t.Run(p.name, func(t *testing.T) {
			views := [2]*poise.View{view(true, true, true), view(true, false, true)}
			fresh := func() poise.Policy { return made(p.fresh(nil)) }
			key := moved(fresh())
			explore.Check(t, explore.Model[compiler]{
				Name:     p.name + ": two callers that prepare for two Views, each twice, and pick",
				NotShown: "Which of two tables that were made at once the next Prepare finds.",
				New:      func() compiler { return realCompiler{fresh()} },
				Tasks: numbered(2, "publisher", func(n int, s compiler, h *explore.T) {
					for k := range 2 {
						h.Call("Pick", nil, func() any { return s.compile(views[(n+k)%2]).owner(key) })
					}
				}),
				Final: func(_ compiler, r *explore.Run) error {
					for task := range 2 {
						for k, got := range r.Results(task) {
							if want := realKeyed(prepared(views[(task+k)%2], fresh())).owner(key); got != want {
								return fmt.Errorf("the key went to %v, afresh to %v", got, want)
							}
						}
					}
					return nil
				},
				Outcome: results[compiler],
				Bugs: []explore.Bug[compiler]{
					bug("the newest table for every View", "final", func() compiler { return &sharedCompiler{policy: fresh()} }),
				},
			})
		})
	}
}

// numbering makes tables and says their numbers.
type numbering interface{ generation(v *poise.View) int }

type realNumbering struct{ policy poise.Policy }

func (n realNumbering) generation(v *poise.View) int {
	var why poise.Decision
	if _, err := prepared(v, n.policy).picker.Pick(poise.Query{Key: poise.Uint64Key(1), Why: &why}); err != nil {
		panic(err)
	}
	number, _ := why.Note(policy.NoteTable)
	return int(number)
}

// tornNumbering counts tables in two steps.
type tornNumbering struct{ generations explore.Uint64 }

func (n *tornNumbering) generation(*poise.View) int {
	next := n.generations.Load() + 1
	n.generations.Store(next)
	return int(next)
}

// Claim: Maglev numbers its tables from 1, and a View with the same eligible identities gets the table there is, whatever their order.
func TestTables_AreNumberedOnce(t *testing.T) {
	for _, p := range hashing[3:] {
		t.Run(p.name, func(t *testing.T) {
			// From each to the other takes a table: a third of the ring is too little of it.
			views := [2]*poise.View{view(true, true, true), view(true, false, false)}
			explore.Check(t, explore.Model[numbering]{
				Name:     p.name + ": two callers that make tables for two Views at once",
				NotShown: "Two that make a table for the same View at once: each may make one.",
				New:      func() numbering { return realNumbering{made(p.fresh(nil))} },
				Tasks: numbered(2, "publisher", func(n int, s numbering, h *explore.T) {
					h.Call("Prepare", n, func() any { return s.generation(views[n]) })
				}),
				Final: func(_ numbering, r *explore.Run) error {
					if numbers := [2]any{r.Results(0)[0], r.Results(1)[0]}; numbers != [2]any{1, 2} && numbers != [2]any{2, 1} {
						return fmt.Errorf("the tables have the numbers %v", numbers)
					}
					return nil
				},
				Outcome: results[numbering],
				Bugs:    []explore.Bug[numbering]{bug("a number that is loaded and stored", "final", func() numbering { return new(tornNumbering) })},
			})
		})
	}
}
