package policy_test

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// fussy is a policy that refuses every View with a candidate named "bad".
type fussy struct{ of poise.Policy }

var errBad = errors.New("a candidate is bad")

func (f fussy) Prepare(v *poise.View) (poise.Picker, error) {
	if _, found := v.Lookup("bad"); found {
		return nil, errBad
	}
	return f.of.Prepare(v)
}

// whoRefuse are policies, made alike at each call, with what they refuse. Each refuses
// at another point of its Prepare.
func whoRefuse(t *testing.T) map[string]struct {
	fresh   func() poise.Policy
	refused []*poise.View
} {
	noTrackers := backends(4)
	for i := range noTrackers {
		noTrackers[i].Load = nil
	}
	bad := append(backends(3), named("bad")...)
	apart := append(backends(2), named("bad")...) // the scope that refuses is the last
	apart[2].Priority, apart[2].Locality = 1, "last"
	elsewhere := named("other", "bad") // nobody is left of the scope there was
	for i := range elsewhere {
		elsewhere[i].Priority, elsewhere[i].Locality = 1, "last"
	}
	heavy := weighted(t, backends(2), 1, 1<<32-1)

	cases := map[string]struct {
		fresh   func() poise.Policy
		refused []*poise.View
	}{}
	add := func(name string, fresh func() poise.Policy, refused ...*poise.View) {
		cases[name] = struct {
			fresh   func() poise.Policy
			refused []*poise.View
		}{fresh, append(refused, nil)}
	}
	for name := range every(t) {
		var refused []*poise.View
		switch name {
		case "LeastLoaded", "PowerOfTwoChoices", "WeightedLeastRequest", "BoundedLoadRendezvous":
			refused = append(refused, viewOf(t, noTrackers))
		case "RingHash":
			refused = append(refused, viewOf(t, heavy))
		}
		add(name, func() poise.Policy { return every(t)[name] }, refused...)
	}
	for _, name := range kindNames {
		add(name+" with a NoKey that refuses", func() poise.Policy {
			return keyedKinds[name](t, keyedConfig{small: true, noKey: fussy{new(policy.RoundRobin)}})
		}, viewOf(t, bad))
	}
	add("Maglev of three slots", func() poise.Policy { return newMaglev(t, policy.MaglevConfig{TableSize: 3}) }, viewOf(t, backends(4)))
	inner := map[string]func(uint64) poise.Policy{
		"RoundRobin":               func(seed uint64) poise.Policy { return newRoundRobin(t, seed) },
		"SmoothWeightedRoundRobin": func(uint64) poise.Policy { return new(policy.SmoothWeightedRoundRobin) },
		"WeightedRandom": func(seed uint64) poise.Policy {
			return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: seed})
		},
		"Maglev":      func(uint64) poise.Policy { return keyedKinds["Maglev"](t, keyedConfig{small: true}) },
		"LeastLoaded": func(uint64) poise.Policy { return new(policy.LeastLoaded) },
	}
	for name, endpoint := range inner {
		cfg := policy.TopologyConfig{Seed: 5, Endpoint: func(seed uint64) (poise.Policy, error) { return fussy{endpoint(seed)}, nil }}
		refused := []*poise.View{viewOf(t, bad), viewOf(t, apart), viewOf(t, elsewhere)}
		add("Priority over "+name, func() poise.Policy { return newPriority(t, cfg) }, refused...)
		add("Locality over "+name, func() poise.Policy { return newLocality(t, cfg) }, refused...)
	}
	return cases
}

// What a policy refused leaves no trace: the Picker there is goes on, and the next one
// begins where it would have begun. That goes for the endpoint policies of a topology
// too, whichever scope refused, and for scopes that the refused View did not have.
//
// Claim: A refused Prepare leaves the picks, of the Pickers there are and of those to come, as they would have been without it.
func TestEveryPolicy_RefusedPrepareLeavesNoTrace(t *testing.T) {
	samples := append(weighing(t, 3, 1, 2), backends(6)[3:]...)
	for i := range samples {
		samples[i].Load = holding(t, uint64(i%2))
		if i >= 3 {
			samples[i].Locality = "other"
		}
	}
	for name, c := range whoRefuse(t) {
		t.Run(name, func(t *testing.T) {
			if name == "Maglev of three slots" {
				samples = samples[:3]
			}
			for _, begun := range []bool{false, true} {
				calm, tried := c.fresh(), c.fresh()
				refuse := func() {
					for _, v := range c.refused {
						if _, err := tried.Prepare(v); err == nil {
							t.Fatal("a View that is to be refused is accepted")
						}
					}
				}
				if !begun {
					refuse() // in its first state
				}
				a, b := open(t, calm, samples), open(t, tried, samples)
				for k := range 60 {
					switch {
					case k%20 == 7:
						refuse()
					case k%20 == 13:
						a, b = open(t, calm, samples), open(t, tried, samples)
					}
					q := poise.Query{Key: poise.Uint64Key(uint64(k))}
					if k%3 == 1 {
						q.Tried = retried(samples, k%len(samples))
					}
					want, wantErr := a.try(q)
					if got, err := b.try(q); got != want || !errors.Is(err, wantErr) {
						t.Fatalf("pick %d is %d (%v) after a refusal, %d (%v) without", k, got, err, want, wantErr)
					}
				}
			}
		})
	}
}
