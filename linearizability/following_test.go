package linearizability

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// group is a Directory, a source, and a Balancer that follows.
type group struct {
	t testing.TB
	d *discovery.Directory[int]
	s *discovery.Session[int]
	b *dispatch.Balancer[*int]

	mu sync.Mutex // of those who change the directory
}

func newGroup(t testing.TB) *group {
	g := &group{t: t, d: newDirectory(t)}
	g.s = newSession(t, g.d, "x")
	source, err := dispatch.DirectorySource(dispatch.DirectoryConfig[int, *int]{
		Directory: g.d,
		Connect: func(m discovery.Member[int]) (*int, error) {
			n, err := strconv.Atoi(m.ID)
			return &n, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.change(0b0011)
	g.b, err = dispatch.New(dispatch.Config[*int]{Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin)}, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	instead(t, g.b)
	return g
}

// change makes the members of the directory new incarnations of those in the set,
// has the others drain, and returns the newest incarnation.
func (g *group) change(set uint64) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		var changes []discovery.Change[int]
		for i := range 4 {
			id := fmt.Sprint(i)
			if set&(1<<i) != 0 {
				changes = append(changes, discovery.Change[int]{Op: discovery.Replace, ID: id, Value: 1})
			} else if _, there := g.d.Load().Lookup(id); there {
				changes = append(changes, discovery.Change[int]{Op: discovery.Remove, ID: id})
			}
		}
		_, err := g.s.Apply(changes...)
		if errors.Is(err, discovery.ErrUnknown) {
			continue // the Balancer has let one go that had drained
		} else if err != nil {
			g.t.Error(err)
		}
		newest := uint64(0)
		for _, m := range g.d.Load().All() {
			newest = max(newest, m.Incarnation)
		}
		return newest
	}
}

// taken waits until the Balancer has the incarnation, or a newer one.
func (g *group) taken(incarnation uint64) {
	for {
		for _, s := range g.b.Endpoints() {
			if s.Incarnation >= incarnation {
				return
			}
		}
		runtime.Gosched()
	}
}

// A change is there for calls once the Balancer shows it. Members are replaced, drain
// and are let go meanwhile.
var following = subject{
	spec: seq.Members(0b0011),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		g := newGroup(t)
		return func(c *Caller, _, pick int) {
			if set := uint64(pick % 16); pick >= 224 && set != 0 {
				c.Call("Update", set, func() any { g.taken(g.change(set)); return nil })
				return
			}
			c.Call("Call", nil, func() any { return callOnce(t, g.b) })
		}
	},
	good:    publication.good,
	mutants: publication.mutants,
}

// Claim: A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
// Claim: A Balancer has the members and incarnations of the newest snapshot of its Directory, and one endpoint for each incarnation.
func TestFollowing_Linearizable(t *testing.T)     { allowed(t, following) }
func TestFollowing_Linearizable_Law(t *testing.T) { law(t, following) }

// Whoever does not wait for the Balancer sees that a directory does not wait for it
// either: the recorder must catch that.
func TestFollowing_IsNotThereBeforeTheBalancerShowsIt(t *testing.T) {
	for seed := range uint64(1000) {
		g := newGroup(t)
		h := Record(seed, 2, func(c *Caller) {
			for i := range 8 {
				set := uint64(1) << (2*c.Number + i%2)
				c.Call("Update", set, func() any { g.change(set); return nil })
				c.Call("Call", nil, func() any { return callOnce(t, g.b) })
			}
		})
		if Judge(following.spec, h) == Illegal {
			t.Logf("after %d histories", seed+1)
			return
		}
	}
	t.Error("no history in 1000 showed it")
}

// However a drain and the last calls race, the member leaves: nobody needs to look
// again later, and there is no DrainFor here. A call that is refused holds a slot
// for a moment, and the end of that counts as well.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func TestFollowing_EveryDrainEnds(t *testing.T) {
	const trials = 400
	g := newGroup(t)
	for trial := range trials {
		incarnation := g.change(0b0001)
		g.taken(incarnation)
		Record(uint64(trial), callers, func(c *Caller) {
			c.Meet()
			for i := range 6 {
				if c.Number == 0 && i == 3 {
					if _, err := g.s.Remove("0"); err != nil {
						t.Error(err)
					}
				} else {
					_ = g.b.Do(context.Background(), dispatch.Query{}, func(context.Context, *int) error { return nil })
				}
			}
		})
		for began := time.Now(); g.d.Load().Len() > 0; runtime.Gosched() {
			if time.Since(began) > 5*time.Second {
				t.Fatalf("trial %d: %+v does not leave, %+v", trial, g.d.Load(), g.b.Endpoints())
			}
		}
	}
	t.Logf("counts: drains=%d", trials)
}
