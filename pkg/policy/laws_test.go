package policy_test

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What policies have in common beyond the laws of poise.Picker.

func checkFieldError(t *testing.T, name string, err error, field string, sentinel error) {
	t.Helper()
	var fieldError *poise.FieldError
	if !errors.As(err, &fieldError) || fieldError.Field != field || !errors.Is(err, sentinel) {
		t.Errorf("%s: error is %v, want %v of field %s", name, err, sentinel, field)
	}
}

// Cases: B07.
func TestEveryPolicy_TellsEmptyFromNoEligible(t *testing.T) {
	for name, p := range every(t) {
		for n := range 8 {
			samples := risingWeights(t)(n)
			for i := range samples {
				samples[i].Status = poise.Status(1 + i%2)
			}
			want := poise.ErrNoEligible
			if n == 0 {
				want = poise.ErrEmpty
			}
			hopeless := open(t, p, samples)
			for range 1000 {
				if _, err := hopeless.try(poise.Query{Key: poise.Uint64Key(1)}); err != want {
					t.Fatalf("%s over %d: error is %v, want %v", name, n, err, want)
				}
			}
			if n == 0 {
				continue
			}
			samples[n-1].Status = poise.Ready
			if got := open(t, p, samples).pick(t, poise.Query{Key: poise.Uint64Key(1)}); got != n-1 {
				t.Errorf("%s over %d: the first pick that can succeed took %d", name, n, got)
			}
		}
	}
}

// Cases: B44.
func TestEveryPolicy_NeverPicksARemovedCandidate(t *testing.T) {
	for name, p := range every(t) {
		open(t, p, named("A", "B", "C")).pick(t, poise.Query{Key: poise.StringKey("k")})
		left := open(t, p, named("A", "C"))
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for k := range 1000 {
					index, err := left.try(poise.Query{Key: poise.Uint64Key(uint64(g*1000 + k))})
					if err != nil || index > 1 {
						t.Errorf("%s: picked %d (%v)", name, index, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// Cases: B49 (selection), Q1.
func TestEveryPolicy_RetriesElsewhere(t *testing.T) {
	samples := weighing(t, 1, 9)
	for name, p := range every(t) {
		d := open(t, p, samples)
		for k := range 1000 {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			first := d.pick(t, q)
			q.Tried = retried(samples, first)
			if second := d.pick(t, q); second != 1-first {
				t.Fatalf("%s: call %d went to %d and again to %d", name, k, first, second)
			}
			q.Tried = retried(samples, 0, 1)
			if _, err := d.try(q); err != poise.ErrAllTried {
				t.Fatalf("%s: with both tried: %v, want %v", name, err, poise.ErrAllTried)
			}
		}
	}
}

// More tried candidates than a pick holds inline cost an allocation and nothing
// else.
func TestEveryPolicy_RetriesUntilEveryoneWasTried(t *testing.T) {
	samples := risingWeights(t)(20)
	for name, p := range every(t) {
		d := open(t, p, samples)
		q := poise.Query{Key: poise.StringKey("k"), Tried: new(poise.Tried)}
		for range samples {
			index := d.pick(t, q)
			if !q.Tried.Add(samples[index].ID, 0) {
				t.Fatalf("%s: picked %d, which was tried", name, index)
			}
		}
	}
}

// Cases: B52.
func TestEveryPolicy_ReachesNewcomersAtOnce(t *testing.T) {
	const picks, keys = 2000, 100_000
	for name, p := range every(t) {
		open(t, p, backends(10)).pick(t, poise.Query{Key: poise.Uint64Key(1)})
		grown := open(t, p, backends(20))
		total, low, high := picks, 60, 140
		switch name {
		case "RoundRobin", "SmoothWeightedRoundRobin", "LeastLoaded":
			low, high = 100, 100
		case "Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous", "Maglev":
			// 1/20 of the keys within 6.8 sigma of a binomial share.
			total, low, high = keys, keys/20-469, keys/20+469
		case "RingHash": // 128 points spread by a tenth
			total, low, high = keys, keys/20*6/10, keys/20*14/10
		}
		counts := make([]int, 20)
		for k := range total {
			counts[grown.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))})]++
		}
		for i, count := range counts {
			if count < low || count > high {
				t.Errorf("%s: candidate %d got %d of %d picks, want %d to %d", name, i, count, total, low, high)
			}
		}
	}
}

// Cases: E13.
func TestEligibilityMask_NeverReindexes(t *testing.T) {
	full := risingWeights(t)(9)
	var filtered []poise.Sample
	for i := range full {
		if i%3 == 1 {
			full[i].Excluded = poise.ExcludedCircuitOpen
		} else {
			filtered = append(filtered, full[i])
		}
	}
	for name := range every(t) {
		switch name {
		case "RoundRobin", "LeastLoaded": // these count places, not eligible ones
			continue
		}
		masked, absent := open(t, every(t)[name], full), open(t, every(t)[name], filtered)
		for k := range 500 {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			if k%3 == 0 {
				q.Tried = retried(full, 2, k%9)
			}
			got, want := full[masked.pick(t, q)].ID, filtered[absent.pick(t, q)].ID
			if got != want {
				t.Fatalf("%s: pick %d goes to %s, and to %s where the others are absent", name, k, got, want)
			}
		}
	}
}

// Cases: G22.
func TestUnkeyedPolicies_IgnoreTheKey(t *testing.T) {
	for name := range every(t) {
		if slices.Contains(kindNames, name) {
			continue
		}
		with, without := open(t, every(t)[name], backends(5)), open(t, every(t)[name], backends(5))
		for k := range 200 {
			got := with.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))})
			if want := without.pick(t, poise.Query{}); got != want {
				t.Fatalf("%s: pick %d is %d with a key and %d without", name, k, got, want)
			}
		}
	}
}

// The trackers' kind decides the path through the code, never the pick.
func TestLoadAwarePolicies_PickAlikeWithAnyKindOfTracker(t *testing.T) {
	chance := poise.NewGenerator(5)
	for range 50 {
		n := 1 + int(chance.Below(9))
		loads := make([]uint64, n)
		for i := range loads {
			loads[i] = chance.Below(4)
		}
		counted, stated, both := loaded(t, loads...), loaded(t, loads...), loaded(t, loads...)
		for i, load := range loads {
			stated[i].Load = fixed(load)
			if i%2 == 1 {
				both[i].Load = fixed(load)
			}
		}
		for _, name := range []string{"LeastLoaded", "PowerOfTwoChoices"} {
			want := open(t, all(t)[name], counted).picks(t, 40)
			for _, samples := range [][]poise.Sample{stated, both} {
				if got := open(t, all(t)[name], samples).picks(t, 40); !slices.Equal(got, want) {
					t.Fatalf("%s over loads %v: picks %v, with InFlights %v", name, loads, got, want)
				}
			}
		}
	}
}

// Weights change no pick of these five.
func TestEveryPolicy_IgnoresWeights(t *testing.T) {
	heavy := backends(4)
	for i := range heavy {
		w, err := poise.NewWeight(uint32(1 + 1000*i))
		if err != nil {
			t.Fatal(err)
		}
		heavy[i].Weight = w
	}
	for name, p := range all(t) {
		a, b := open(t, p, backends(4)), open(t, all(t)[name], heavy)
		for k := range 200 {
			q := poise.Query{Key: poise.Uint64Key(uint64(k))}
			if got, want := b.pick(t, q), a.pick(t, q); got != want {
				t.Fatalf("%s: pick %d is %d with weights and %d without", name, k, got, want)
			}
		}
	}
}

// timed is a load that is the instant it is read at.
type timed struct{}

func (timed) Load(now time.Time) (uint64, error) { return uint64(now.Unix()), nil }
func (timed) Unit() poise.LoadUnit               { return poise.CostNanoseconds }

func TestLoadAwarePolicies_ReadLoadsAtTheInstantOfTheQuery(t *testing.T) {
	samples := backends(2)
	samples[0].Load, samples[1].Load = timed{}, timed{}
	for _, name := range []string{"LeastLoaded", "PowerOfTwoChoices"} {
		var why poise.Decision
		open(t, all(t)[name], samples).pick(t, poise.Query{Now: time.Unix(77, 0), Why: &why})
		if why.Compared[0].Figure != 77 {
			t.Errorf("%s read %d, want 77", name, why.Compared[0].Figure)
		}
	}
}

// decisions are what each policy says of one pick.
var decisions = map[string]poise.Decision{
	"RoundRobin": {Policy: "RoundRobin", Rule: policy.RuleTurn, Chosen: 0, Considered: 1, Tried: 1},
	"Random":     {Policy: "Random", Rule: policy.RuleDraw, Chosen: 0, Considered: 2, Tried: 1},
	"LeastLoaded": {
		Policy: "LeastLoaded", Rule: policy.RuleLeastLoad, Chosen: 3, Considered: 2, Tried: 1,
		Compared: [2]poise.Compared{{Index: 3, Figure: 1}}, ComparedLen: 1, Measure: poise.MeasureLoad,
	},
	"PowerOfTwoChoices": {
		Policy: "PowerOfTwoChoices", Rule: policy.RuleLessOfTwo, Chosen: 3, Considered: 2, Tried: 1,
		Compared: [2]poise.Compared{{Index: 3, Figure: 1}, {Index: 0, Figure: 2}}, ComparedLen: 2, Measure: poise.MeasureLoad,
	},
	"Rendezvous": {
		Policy: "Rendezvous", Rule: policy.RuleHighestHash, Chosen: 0, Considered: 2, Tried: 1,
		Compared: [2]poise.Compared{{Index: 0, Figure: 0x7a42b2553d284c4f}}, ComparedLen: 1, Measure: poise.MeasureHash,
	},
}

// The figure of Rendezvous is the published hash of key 0 and identity a.
func TestEveryPolicy_SaysWhatItCompared(t *testing.T) {
	samples := loaded(t, 2, 0, 0, 1)
	for i, id := range []string{"a", "left out", "tried", "d"} {
		samples[i].ID = id
	}
	samples[1].Excluded = poise.ExcludedOutlier
	policies := all(t)
	for _, name := range slices.Sorted(maps.Keys(decisions)) {
		var why poise.Decision
		d := open(t, policies[name], samples)
		d.pick(t, poise.Query{Key: poise.Uint64Key(0), Tried: retried(samples, 2, 1), Why: &why})
		want := decisions[name]
		want.View = d.view
		if name == "Random" { // where the draw falls is the golden's matter
			want.Chosen = why.Chosen
		}
		if why != want {
			t.Errorf("%s says\n%+v, want\n%+v", name, why, want)
		}
	}
}

func TestPickers_SayHowManyWereTriedWhenTheyFail(t *testing.T) {
	samples := backends(4)
	samples[0].Status = poise.Draining
	for name, p := range every(t) {
		var why poise.Decision
		_, err := open(t, p, samples).try(poise.Query{Tried: retried(samples, 0, 1, 2, 3), Why: &why})
		if err != poise.ErrAllTried || why.Err != err || why.Tried != 3 || why.Chosen != -1 {
			t.Errorf("%s: error is %v, Why is %+v", name, err, why)
		}
	}
	var why poise.Decision
	_, err := open(t, new(policy.Rendezvous), samples).try(poise.Query{Tried: retried(samples, 0, 1), Why: &why})
	if err != poise.ErrNoKey || why.Err != err || why.Tried != 1 {
		t.Errorf("Rendezvous without a key: error is %v, Why is %+v", err, why)
	}
}
