package policytest

import (
	"slices"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// local is a pick that prefers the locality, in a branch with a planted fault: it reads
// a load twice there.
func local(locality string) pickFunc {
	return func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		for i, s := range p.view.All() {
			if s.Locality == locality && p.view.Reason(i) == poise.NotExcluded && s.Load != nil {
				_, _ = s.Load.Load(q.Now)
				_, _ = s.Load.Load(q.Now)
				break
			}
		}
		return p.sound(q)
	}
}

// Cases: B112.
func TestSuite_TakesTheLocalitiesThatThePolicyKnows(t *testing.T) {
	s := suiteOf(nil, local("eu"))
	if err := s.check(lawOf(t, "each load is read once")); err != nil {
		t.Fatalf("no candidate is in eu, and yet: %v", err)
	}
	s.Localities = []string{"", "eu"}
	mustBreak(t, s, "each load is read once")
	s.Localities = nil
	s.Samples = [][]poise.Sample{{{ID: "a", Locality: "eu", Load: steady(1)}, {ID: "b", Load: steady(1)}}}
	mustBreak(t, s, "each load is read once")
	s.Samples, s.Localities = nil, []string{}
	if err := s.check(lawOf(t, "each load is read once")); err != nil {
		t.Errorf("without localities: %v", err)
	}
}

// Cases: B112.
func TestSuite_TakesIdentitiesAndSamples(t *testing.T) {
	allocates := func(when func(*poise.Sample) bool) Suite {
		return suiteOf(nil, func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			for i := range p.view.Len() {
				if sample, err := p.view.Sample(i); err == nil && when(&sample) {
					sink = new(poise.Decision)
				}
			}
			return p.sound(q)
		})
	}
	const law = "a pick allocates nothing"
	s := allocates(func(s *poise.Sample) bool { return strings.HasPrefix(s.ID, "canary") })
	if err := s.check(lawOf(t, law)); err != nil {
		t.Fatal(err)
	}
	s.Identities = []string{"canary-1", "canary-2"}
	mustBreak(t, s, law)

	heavy, err := poise.NewWeight(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	s = allocates(func(s *poise.Sample) bool { return s.Weight.Value() > 1<<16 })
	s.Samples = [][]poise.Sample{{{ID: "a", Weight: heavy}}}
	mustBreak(t, s, law)
	// Every law goes over the user's sets, that of overlapping picks too.
	s = suiteOf(nil, func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		if sample, err := p.view.Sample(0); err == nil && sample.ID == "own" {
			return poise.Selection{}, errOwn
		}
		return p.sound(q)
	})
	s.Samples = [][]poise.Sample{{{ID: "own"}}}
	for _, law := range []string{"a pick succeeds where it can", "overlapping picks keep the laws"} {
		mustBreak(t, s, law)
	}
	s.Samples = [][]poise.Sample{{{ID: "twice"}, {ID: "twice"}}}
	if err := Check(s); err == nil || !strings.Contains(err.Error(), "Suite.Samples[0]: its View was refused") {
		t.Errorf("a set that no View takes: %v", err)
	}
}

// Cases: B112.
func TestSuite_NamesWhatItNeverVaried(t *testing.T) {
	var s Suite
	never := s.Unvaried()
	for _, name := range []string{"no load tracker", "a load in nanoseconds", "a PeakEWMA", "a weight above 65,535", "an identity that is not ASCII"} {
		if !slices.Contains(never, name) {
			t.Errorf("%q is not named: %q", name, never)
		}
	}
	for _, name := range []string{"status draining", "a weight above 1", "a locality", "an InFlight", "opted out of panics"} {
		if slices.Contains(never, name) {
			t.Errorf("%q is named, and varies", name)
		}
	}
	heavy, err := poise.NewWeight(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	s.Samples = [][]poise.Sample{{{ID: "\u00e9", Weight: heavy, Priority: 5000}, {ID: "b", Excluded: poise.ExcludedOutOfScope}}}
	if got := s.Unvaried(); len(got) >= len(never)-3 || slices.Contains(got, "a weight above 65,535") {
		t.Errorf("with Samples: %q", got)
	}
	s.Localities = []string{}
	if !slices.Contains(s.Unvaried(), "a locality") {
		t.Error("without localities none is missed")
	}
	// Each branch can be taken, and none is always.
	for _, b := range branches {
		if b.taken(&poise.Sample{}) == b.taken(&poise.Sample{
			ID: "\u00e9", Incarnation: 1, Weight: heavy, Priority: 5000, Locality: "x", LocalityWeight: heavy,
			Status: poise.Unavailable, Load: &meter{unit: poise.CostNanoseconds}, PanicOptOut: !strings.Contains(b.name, "part"),
		}) && !strings.HasPrefix(b.name, "an InFlight") && !strings.HasPrefix(b.name, "a PeakEWMA") {
			t.Errorf("%q does not tell two samples apart that differ in everything", b.name)
		}
	}
}
