package policy_test

import (
	"fmt"
	"hash/maphash"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Whoever knows the identities finds as many keys for one backend of 20 as he likes,
// by trying: one of twenty fits. With a keyed hash, which he cannot compute, the same
// keys spread as any others do.
func TestKeyedPolicies_AKeyedHashSpreadsHostileKeys(t *testing.T) {
	const backends, wanted = 20, 1000
	candidates := make([]poise.Candidate, backends)
	for i := range candidates {
		candidates[i] = poise.Sample{ID: fmt.Sprintf("backend-%02d", i)}
	}
	view, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	seed := maphash.MakeSeed()
	keyed := func(stream []byte) uint64 { return maphash.Bytes(seed, stream) }
	for name, prepare := range map[string]func(hash func([]byte) uint64) (poise.Picker, error){
		"rendezvous": func(hash func([]byte) uint64) (poise.Picker, error) {
			return policy.NewRendezvous(policy.RendezvousConfig{Hash: hash}).Prepare(view)
		},
		"ring hash": func(hash func([]byte) uint64) (poise.Picker, error) {
			ring, err := policy.NewRingHash(policy.RingHashConfig{Hash: hash})
			if err != nil {
				return nil, err
			}
			return ring.Prepare(view)
		},
		"maglev": func(hash func([]byte) uint64) (poise.Picker, error) {
			maglev, err := policy.NewMaglev(policy.MaglevConfig{Hash: hash})
			if err != nil {
				return nil, err
			}
			return maglev.Prepare(view)
		},
	} {
		at := func(p poise.Picker, key poise.Key) int {
			selection, err := p.Pick(poise.Query{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			i, err := view.Index(selection)
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		public, err := prepare(nil)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := prepare(keyed)
		if err != nil {
			t.Fatal(err)
		}
		var hostile []poise.Key
		tried := uint64(0)
		for ; len(hostile) < wanted; tried++ {
			if key := poise.Uint64Key(tried); at(public, key) == 0 {
				hostile = append(hostile, key)
			}
		}
		held := make([]int, backends)
		for _, key := range hostile {
			held[at(secret, key)]++
		}
		fullest := 0
		for _, n := range held {
			fullest = max(fullest, n)
		}
		t.Logf("%s: %d keys tried; with a keyed hash the fullest holds %d of %d", name, tried, fullest, wanted)
		if tried > 2*wanted*backends {
			t.Errorf("%s: %d keys were tried for %d", name, tried, wanted)
		}
		// A fair share is 50; the shares of a ring and of Maglev's table differ by
		// some percent. That 120 are reached by chance has a probability below 1e-12.
		if fullest > 120 {
			t.Errorf("%s: the fullest holds %d of %d", name, fullest, wanted)
		}
	}
}
