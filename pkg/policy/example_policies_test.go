package policy_test

import (
	"fmt"
	"log"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// show prints which candidates a policy picks for the keys, an empty one meaning
// none.
func show(p poise.Policy, candidates []poise.Candidate, keys ...string) {
	view, err := poise.NewView(candidates)
	if err != nil {
		log.Fatal(err)
	}
	picker, err := p.Prepare(view)
	if err != nil {
		log.Fatal(err)
	}
	var picked []string
	for _, key := range keys {
		var q poise.Query
		if key != "" {
			q.Key = poise.StringKey(key)
		}
		selection, err := picker.Pick(q)
		if err != nil {
			log.Fatal(err)
		}
		index, err := view.Index(selection)
		if err != nil {
			log.Fatal(err)
		}
		sample, err := view.Sample(index)
		if err != nil {
			log.Fatal(err)
		}
		picked = append(picked, sample.ID)
	}
	fmt.Println(strings.Join(picked, " "))
}

func ExampleRoundRobin() {
	show(new(policy.RoundRobin), []poise.Candidate{
		poise.Sample{ID: "a"},
		poise.Sample{ID: "b", Status: poise.Draining},
		poise.Sample{ID: "c"},
	}, "", "", "", "")
	// Output: a c a c
}

func ExampleNewRandom() {
	p := policy.NewRandom(policy.RandomConfig{Seed: 42})
	show(p, []poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}},
		"", "", "", "", "", "")
	// Output: c a a b a c
}

func ExampleLeastLoaded() {
	busy, idle := poise.NewInFlight(0), poise.NewInFlight(0)
	lease, err := busy.Acquire()
	if err != nil {
		log.Fatal(err)
	}
	candidates := []poise.Candidate{poise.Sample{ID: "busy", Load: busy}, poise.Sample{ID: "idle", Load: idle}}
	p := new(policy.LeastLoaded)
	show(p, candidates, "", "")
	lease.Release() // now they tie, and ties rotate
	show(p, candidates, "", "")
	// Output:
	// idle idle
	// busy idle
}

func ExamplePowerOfTwoChoices() {
	busy, idle := poise.NewInFlight(0), poise.NewInFlight(0)
	lease, err := busy.Acquire()
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release()
	show(new(policy.PowerOfTwoChoices), []poise.Candidate{
		poise.Sample{ID: "busy", Load: busy}, poise.Sample{ID: "idle", Load: idle},
	}, "", "", "")
	// Output: idle idle idle
}

func ExampleRendezvous() {
	a, b, c := poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}
	show(new(policy.Rendezvous), []poise.Candidate{a, b, c}, "key-0", "key-1", "key-4", "key-7")
	// Without b its keys go elsewhere, and no other key moves.
	b.Excluded = poise.ExcludedCircuitOpen
	show(new(policy.Rendezvous), []poise.Candidate{a, b, c}, "key-0", "key-1", "key-4", "key-7")
	// Output:
	// b b a c
	// a c a c
}

// Requests without a key go round, all others to the owner of their key.
func ExampleRendezvousConfig() {
	p := policy.NewRendezvous(policy.RendezvousConfig{NoKey: new(policy.RoundRobin)})
	show(p, []poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}},
		"key-0", "", "key-0", "", "key-0", "")
	// Output: b a b b b c
}
