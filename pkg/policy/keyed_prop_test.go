package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// drawKind draws one of the keyed policies, with small tables.
func drawKind(t *rapid.T, names ...string) poise.Policy {
	if len(names) == 0 {
		names = kindNames
	}
	return keyedKinds[rapid.SampledFrom(names).Draw(t, "policy")](t, keyedConfig{small: true})
}

func drawKey(t *rapid.T) poise.Query {
	return poise.Query{Key: rapid.OneOf(
		rapid.Map(rapid.Uint64(), poise.Uint64Key), rapid.Map(rapid.String(), poise.StringKey),
		rapid.Map(rapid.SliceOf(rapid.Byte()), poise.BytesKey),
	).Draw(t, "key")}
}

// The first law of the sibling: an eligible candidate, or the error that the set
// demands.
func TestKeyedPolicies_PickTheEligible_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		for i := range samples {
			samples[i].Weight = weightOf(t, rapid.Uint32Range(1, 20).Draw(t, "weight"))
		}
		d := open(t, drawKind(t), samples)
		index, err := d.try(drawKey(t))
		if want := d.view.Check(); err != want {
			t.Fatalf("error is %v, want %v", err, want)
		}
		if err == nil && d.view.Reason(index) != poise.NotExcluded {
			t.Fatalf("picked %d, which is left out: %v", index, d.view.Reason(index))
		}
	})
}

func TestKeyedPolicies_DoNotDependOnTheOrder_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		p, q := drawKind(t), drawKey(t)
		if len(samples) == 0 {
			return
		}
		want := open(t, p, samples).identity(q)
		if got := open(t, p, rapid.Permutation(samples).Draw(t, "order")).identity(q); got != want {
			t.Fatalf("in another order the key goes to %s, was %s", got, want)
		}
	})
}

// Claim: Preference lists every eligible candidate once, by index, and nobody else.
//
// Claim: A pick in which the first of the preference are tried takes the next one, where load does not decide.
func TestKeyedPolicies_PreferAsTheyPick_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples, _ := drawSamples(t)
		for i := range samples {
			samples[i].Weight = weightOf(t, rapid.Uint32Range(1, 20).Draw(t, "weight"))
			samples[i].Load = poise.NewInFlight(0)
		}
		p := drawKind(t)
		if rapid.Bool().Draw(t, "custom hash") {
			p = keyedKinds[rapid.SampledFrom(kindNames).Draw(t, "kind")](t, keyedConfig{small: true, hash: plainFNV})
		}
		d := open(t, p, samples)
		q := drawKey(t)
		order := d.picker.(poise.Preferrer).Preference(q.Key)
		q.Tried = new(poise.Tried)
		for index := range order {
			if got := d.pick(t, q); got != index {
				t.Fatalf("after %d the preference is %d, and the pick %d", q.Tried.Len(), index, got)
			}
			q.Tried.Add(samples[index].ID, 0)
		}
		if want := d.view.EligibleLen(); q.Tried.Len() != want {
			t.Fatalf("%d of %d are listed", q.Tried.Len(), want)
		}
		if again := slices.Collect(order); len(again) != q.Tried.Len() {
			t.Fatalf("listed again, there are %d of %d", len(again), q.Tried.Len())
		}
	})
}

// Claim: Preference lists nobody where there is no key.
func TestKeyedPolicies_PreferNobodyWithoutAKey(t *testing.T) {
	for _, name := range kindNames {
		d := open(t, keyedKinds[name](t, keyedConfig{noKey: new(policy.RoundRobin)}), backends(3))
		for index := range d.picker.(poise.Preferrer).Preference(poise.Key{}) {
			t.Errorf("%s: listed %d", name, index)
		}
		// A list may be left early.
		for range d.picker.(poise.Preferrer).Preference(poise.StringKey("")) {
			break
		}
	}
}

// minimal are the policies that move no key between two others when one comes or
// goes.
var minimal = []string{"Rendezvous", "WeightedRendezvous", "RingHash"}

// Claim: Adding a weighted candidate moves keys only to it, and removing one moves only its keys.
//
// Claim: While the unit of weight stays, adding a candidate to the ring moves keys only to it, and removing one moves only its keys.
func TestKeyedPolicies_MoveNoKeyBetweenOthers_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawKind(t, minimal...), drawKey(t)
		samples := drawIdentities(t, 3)
		for i := range samples[1:] {
			samples[i+1].Weight = weightOf(t, rapid.Uint32Range(1, 20).Draw(t, "weight"))
		}
		// The first has weight 1, so the unit of weight is 1 with and without the last.
		with, without := open(t, p, samples).pick(t, q), open(t, p, samples[:len(samples)-1]).pick(t, q)
		if with != without && with != len(samples)-1 {
			t.Fatalf("the newcomer %d moved the key from %d to %d", len(samples)-1, without, with)
		}
	})
}

// Claim: A change of one weight moves no key between two other candidates, and raising it moves keys only to that candidate.
func TestWeightedRendezvous_ChangeOfAWeight_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawIdentities(t, 2)
		for i := range samples {
			samples[i].Weight = weightOf(t, rapid.Uint32Range(1, 1000).Draw(t, "weight"))
		}
		p, q := new(policy.WeightedRendezvous), drawKey(t)
		before := open(t, p, samples).pick(t, q)
		changed := rapid.IntRange(0, len(samples)-1).Draw(t, "changed")
		old := samples[changed].Weight.Value()
		samples[changed].Weight = weightOf(t, rapid.Uint32Min(1).Draw(t, "new weight"))
		after := open(t, p, samples).pick(t, q)
		if after == before {
			return
		}
		if raised := samples[changed].Weight.Value() > old; raised && after != changed || !raised && before != changed {
			t.Fatalf("%d changed from %d to %v, and the key moved from %d to %d", changed, old, samples[changed].Weight, before, after)
		}
	})
}

// Claim: Over equal weights WeightedRendezvous picks as Rendezvous does.
func TestWeightedRendezvous_EqualWeights_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawIdentities(t, 1)
		q := drawKey(t)
		want := open(t, new(policy.Rendezvous), samples).pick(t, q)
		w := weightOf(t, rapid.Uint32Min(1).Draw(t, "weight"))
		for i := range samples {
			samples[i].Weight = w
		}
		if got := open(t, new(policy.WeightedRendezvous), samples).pick(t, q); got != want {
			t.Fatalf("weights of %v move the key from %d to %d", w, want, got)
		}
	})
}

// Whatever the loads: under the bound after the pick, and nobody is passed over for
// nothing.
func TestBoundedLoadRendezvous_StaysUnderTheBound_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.Uint32Range(100, 400).Draw(t, "percent")
		n := rapid.IntRange(1, 8).Draw(t, "candidates")
		samples := backends(n)
		sum := uint64(0)
		for i := range samples {
			samples[i].Weight = weightOf(t, rapid.Uint32Range(1, 9).Draw(t, "weight"))
			sum += uint64(samples[i].Weight.Value())
		}
		d := open(t, newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: percent}), samples)
		held := map[int][]*poise.Lease{}
		total := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			if leaver := rapid.IntRange(0, n-1).Draw(t, "leaver"); rapid.IntRange(0, 2).Draw(t, "ends") == 0 && len(held[leaver]) > 0 {
				held[leaver][0].Release()
				held[leaver] = held[leaver][1:]
				total--
				continue
			}
			index := d.pick(t, drawKey(t))
			lease, err := d.view.InFlight(index).Acquire()
			if err != nil {
				t.Fatal(err)
			}
			held[index] = append(held[index], &lease)
			total++
			w := uint64(samples[index].Weight.Value())
			if load, most := d.view.InFlight(index).Current(), (uint64(percent)*total*w+100*sum-1)/(100*sum); load > most {
				t.Fatalf("candidate %d holds %d of %d, at most %d", index, load, total, most)
			}
		}
	})
}
