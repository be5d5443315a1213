//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// keyed answers where a key goes.
type keyed interface{ owner(key uint64) int }

type realKeyed realChooser

func (k realKeyed) owner(key uint64) int {
	selection, err := k.picker.Pick(poise.Query{Key: poise.Uint64Key(key)})
	if err != nil {
		return -1
	}
	at, err := k.view.Index(selection)
	if err != nil {
		return -1
	}
	return at
}

// pausing is FNV-1a that lets others run before it reads the stream.
func pausing(gate *explore.Uint64) func([]byte) uint64 {
	return func(stream []byte) uint64 {
		gate.Load()
		return uint64(poise.FNVBasis.Raw(string(stream)))
	}
}

func newPausing() keyed {
	p, err := policy.NewRendezvous(policy.RendezvousConfig{Hash: pausing(new(explore.Uint64))})
	if err != nil {
		panic(err)
	}
	k := realKeyed(prepared(view(true, true), p))
	k.owner(9) // the next pick finds a buffer
	return k
}

// oneBuffer is a rendezvous whose picks build their streams in one buffer.
type oneBuffer struct {
	gate   explore.Uint64
	buffer []byte
}

func (o *oneBuffer) owner(key uint64) int {
	o.buffer = append(poise.Uint64Key(key).AppendStream(append(o.buffer[:0], 0)), 1)
	prefix := len(o.buffer)
	at, highest := 0, uint64(0)
	for i := range 2 {
		o.buffer = append(o.buffer[:prefix], byte('0'+i), 0xff)
		if hash := poise.Mix64(pausing(&o.gate)(o.buffer)); hash > highest {
			at, highest = i, hash
		}
	}
	return at
}

// The keys of the two callers, which go to different candidates.
var keysApart = func() [2]uint64 {
	k := realKeyed(prepared(view(true, true), new(policy.Rendezvous)))
	second := uint64(1)
	for k.owner(second) == k.owner(0) {
		second++
	}
	return [2]uint64{0, second}
}()

// Claim: Picks that overlap, with each other or with Prepare, keep every one of these laws.
func TestKeyedPicks_ShareNoBuffer(t *testing.T) {
	alone := realKeyed(prepared(view(true, true), new(policy.Rendezvous)))
	explore.Check(t, explore.Model[keyed]{
		Name:     "rendezvous with a custom hash: two callers with different keys and one spare buffer",
		NotShown: "More callers than there are slots for buffers.",
		New:      newPausing,
		Tasks: numbered(2, "caller", func(n int, s keyed, h *explore.T) {
			for range 2 {
				h.Call("Pick", nil, func() any { return s.owner(keysApart[n]) })
			}
		}),
		Final: func(_ keyed, r *explore.Run) error {
			for _, op := range r.History {
				if want := alone.owner(keysApart[op.Task]); op.Result != want {
					return fmt.Errorf("key %d went to %v, alone to %d", keysApart[op.Task], op.Result, want)
				}
			}
			return nil
		},
		Outcome: results[keyed],
		Bugs:    []explore.Bug[keyed]{bug("one buffer for all picks", "final", func() keyed { return new(oneBuffer) })},
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

func newMaglev() poise.Policy {
	p, err := policy.NewMaglev(policy.MaglevConfig{TableSize: 7})
	if err != nil {
		panic(err)
	}
	return p
}

// moved is a key of the candidate that the second View leaves out.
var moved = func() uint64 {
	k := realKeyed(prepared(view(true, true, true), newMaglev()))
	key := uint64(0)
	for k.owner(key) != 1 {
		key++
	}
	return key
}()

// Tables that are carried over from View to View: whichever Prepare is first, and
// whatever it leaves for the other, each View's picks are its own.
func TestTables_CarriedOverServeTheirView(t *testing.T) {
	views := [2]*poise.View{view(true, true, true), view(true, false, true)}
	explore.Check(t, explore.Model[compiler]{
		Name:     "Maglev: two callers that prepare for two Views, each twice, and pick",
		NotShown: "Which of two tables that were made at once the next Prepare finds.",
		New:      func() compiler { return realCompiler{newMaglev()} },
		Tasks: numbered(2, "publisher", func(n int, s compiler, h *explore.T) {
			for k := range 2 {
				h.Call("Pick", nil, func() any {
					s := s.compile(views[(n+k)%2])
					return [2]int{s.owner(moved), s.owner(moved + 1)}
				})
			}
		}),
		Final: func(_ compiler, r *explore.Run) error {
			for task := range 2 {
				for k, got := range r.Results(task) {
					fresh := realKeyed(prepared(views[(task+k)%2], newMaglev()))
					if want := [2]int{fresh.owner(moved), fresh.owner(moved + 1)}; got != want {
						return fmt.Errorf("keys went to %v, afresh to %v", got, want)
					}
				}
			}
			return nil
		},
		Outcome: results[compiler],
		Bugs: []explore.Bug[compiler]{
			bug("the newest table for every View", "final", func() compiler { return &sharedCompiler{policy: newMaglev()} }),
		},
	})
}
