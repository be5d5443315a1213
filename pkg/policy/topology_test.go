package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func TestTopology_RefusesSettingsOutOfRange(t *testing.T) {
	nobody := errors.New("nobody")
	for name, row := range map[string]struct {
		cfg   policy.TopologyConfig
		field string
		want  error
	}{
		"99 percent":    {policy.TopologyConfig{Overprovisioning: 99}, "Overprovisioning", poise.ErrOutOfRange},
		"threshold 101": {policy.TopologyConfig{PanicThreshold: 101}, "PanicThreshold", poise.ErrOutOfRange},
	} {
		_, err := policy.NewPriority(row.cfg)
		checkFieldError(t, name, err, row.field, row.want)
		_, err = policy.NewLocality(row.cfg)
		checkFieldError(t, name, err, row.field, row.want)
	}
	for name, cfg := range map[string]policy.TopologyConfig{
		"100 percent":   {Overprovisioning: 100},
		"threshold 100": {PanicThreshold: 100},
		"threshold 1":   {PanicThreshold: 1},
	} {
		if _, err := policy.NewPriority(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, endpoint := range map[string]func(uint64) (poise.Policy, error){
		"an error":  func(uint64) (poise.Policy, error) { return nil, nobody },
		"no policy": func(uint64) (poise.Policy, error) { return nil, nil },
		"a policy that cannot be prepared": func(uint64) (poise.Policy, error) {
			return refusing{nobody}, nil
		},
	} {
		p, err := policy.NewPriority(policy.TopologyConfig{Endpoint: endpoint})
		l, err2 := policy.NewLocality(policy.TopologyConfig{Endpoint: endpoint})
		if p != nil || l != nil || err == nil || err2 == nil {
			t.Errorf("%s is accepted", name)
		}
		if name != "no policy" && (!errors.Is(err, nobody) || !errors.Is(err2, nobody)) {
			t.Errorf("%s: errors are %v and %v", name, err, err2)
		}
	}
	eachTopology(t, policy.TopologyConfig{}, func(name string, p poise.Policy) {
		_, err := p.Prepare(nil)
		checkFieldError(t, name, err, "view", poise.ErrNilView)
	})
}

// refusing prepares nothing.
type refusing struct{ err error }

func (r refusing) Prepare(*poise.View) (poise.Picker, error) { return nil, r.err }

// An endpoint policy that refuses a View refuses it for the topology; what it had
// prepared goes on.
func TestTopology_PassesOnARefusalAndServesOn(t *testing.T) {
	eachTopology(t, policy.TopologyConfig{Endpoint: endpointPolicies["LeastLoaded"]}, func(name string, p poise.Policy) {
		samples := backends(3)
		d := open(t, p, samples)
		samples[1].Load = nil
		picker, err := p.Prepare(viewOf(t, samples))
		if picker != nil || !errors.Is(err, poise.ErrNilTracker) {
			t.Errorf("%s: a View without a tracker gives %v", name, err)
		}
		if got := d.picks(t, 3); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%s: afterwards the first View picks %v", name, got)
		}
	})
}

// Cases: B36, B37 (no eligible), PR6.
// Claim: With PanicOff, or without anybody that panic can use, a pick without eligible members answers ErrNoEligible.
// Claim: A pick that falls on a panicking priority answers ErrPanicRejected with FailClosed.
func TestTopology_AnswersWhyNobodyIsPicked(t *testing.T) {
	withheld := crowd("w", 0, 2, 0)
	for i := range withheld {
		withheld[i].PanicOptOut = true
	}
	draining := crowd("d", 0, 2, 2)
	for i := range draining {
		draining[i].Status = poise.Draining
	}
	for name, row := range map[string]struct {
		cfg     policy.TopologyConfig
		samples []poise.Sample
		want    error
		panics  bool
	}{
		"empty":                          {policy.TopologyConfig{}, nil, poise.ErrEmpty, false},
		"only draining":                  {policy.TopologyConfig{}, draining, poise.ErrNoEligible, false},
		"only withheld":                  {policy.TopologyConfig{}, withheld, poise.ErrNoEligible, false},
		"only withheld, fail closed":     {policy.TopologyConfig{FailClosed: true}, withheld, poise.ErrNoEligible, false},
		"only draining, fail closed":     {policy.TopologyConfig{FailClosed: true}, draining, poise.ErrNoEligible, false},
		"0 of 4, panic off":              {policy.TopologyConfig{PanicOff: true}, crowd("a", 0, 4, 0), poise.ErrNoEligible, false},
		"0 of 4, off and fail closed":    {policy.TopologyConfig{PanicOff: true, FailClosed: true}, crowd("a", 0, 4, 0), poise.ErrNoEligible, false},
		"0 of 4, fail closed":            {policy.TopologyConfig{FailClosed: true}, crowd("a", 0, 4, 0), poise.ErrPanicRejected, true},
		"1 of 3, fail closed":            {policy.TopologyConfig{FailClosed: true}, crowd("a", 0, 3, 1), poise.ErrPanicRejected, true},
		"1 of 3 at 100 %, panic off":     {policy.TopologyConfig{PanicOff: true, Overprovisioning: 100}, crowd("a", 0, 3, 1), nil, false},
		"5 of 10 at 100 %":               {policy.TopologyConfig{Overprovisioning: 100, FailClosed: true}, crowd("a", 0, 10, 5), nil, false},
		"4 of 10 at 100 %":               {policy.TopologyConfig{Overprovisioning: 100, FailClosed: true}, crowd("a", 0, 10, 4), poise.ErrPanicRejected, true},
		"1 of 4 beside a full one":       {policy.TopologyConfig{Overprovisioning: 100, FailClosed: true}, append(crowd("a", 0, 4, 1), crowd("b", 1, 1, 1)...), nil, false},
		"two priorities down, closed":    {policy.TopologyConfig{FailClosed: true}, append(crowd("a", 0, 4, 0), crowd("b", 1, 1, 0)...), poise.ErrPanicRejected, true},
		"two priorities short, closed":   {policy.TopologyConfig{FailClosed: true}, append(crowd("a", 0, 4, 1), crowd("b", 1, 9, 1)...), poise.ErrPanicRejected, true},
		"every other withheld, half off": {policy.TopologyConfig{FailClosed: true}, append(crowd("a", 0, 4, 4), withheld...), nil, false},
	} {
		eachTopology(t, row.cfg, func(topology string, p poise.Policy) {
			d := open(t, p, row.samples)
			for range 50 {
				var why poise.Decision
				_, err := d.try(poise.Query{Why: &why})
				if _, plainErr := d.try(poise.Query{}); err != row.want || plainErr != row.want {
					t.Fatalf("%s %s: error is %v, and %v without Why, want %v", topology, name, err, plainErr, row.want)
				}
				if why.Scope.Panic != row.panics || (err != nil && why.Err != err) {
					t.Fatalf("%s %s: Why is %+v", topology, name, why)
				}
			}
		})
	}
	if !errors.Is(poise.ErrPanicRejected, poise.ErrNoEligible) {
		t.Error("ErrPanicRejected does not match ErrNoEligible")
	}
}

// Cases: B36, G5.
// Claim: A draining member is no capacity and is never picked by Priority.
// Code: groupByPriority
// Claim: A member that opted out of panic still serves while it is eligible.
// Code: groupByPriority
func TestTopology_PanicUsesWhomItMay(t *testing.T) {
	heavy := weightOf(t, 100)
	draining, withheld, down := placed("draining", 0), placed("withheld", 0), placed("down", 0)
	draining.Status, draining.Weight = poise.Draining, heavy
	withheld.Status, withheld.Weight, withheld.PanicOptOut = poise.Unavailable, heavy, true
	down.Status = poise.Unavailable
	eachTopology(t, policy.TopologyConfig{Seed: 1}, func(name string, p poise.Policy) {
		d := open(t, p, []poise.Sample{draining, withheld, down})
		for range 200 {
			if got := d.pick(t, poise.Query{}); got != 2 {
				t.Fatalf("%s: a panic picks %d, want 2", name, got)
			}
		}
		healthy := placed("healthy", 0)
		healthy.PanicOptOut = true
		counts := open(t, p, append(crowd("a", 0, 2, 0), healthy)).counts(t, 3000)
		for i, count := range counts {
			if count < 800 || count > 1200 { // 1000 expected, 26 a sigma
				t.Errorf("%s: of two that are down and one that is not, %d got %d of 3000", name, i, count)
			}
		}
	})
	// All of ten, draining ones apart, while four of ten are eligible.
	samples := append(crowd("a", 0, 10, 4), draining)
	for i, count := range open(t, newPriority(t, policy.TopologyConfig{Seed: 2, Overprovisioning: 100}), samples).counts(t, 10_000) {
		if (count > 0) != (i < 10) {
			t.Errorf("candidate %d got %d of 10000", i, count)
		}
	}
}

// Cases: B35. The first priority is dead and the rest of rounding is not its own.
func TestPriority_GivesADeadPriorityNothing(t *testing.T) {
	samples := append(crowd("p0", 0, 10, 0), crowd("p1", 1, 5, 1)...)
	samples = append(append(samples, crowd("p2", 2, 5, 1)...), crowd("p3", 3, 5, 1)...)
	counts := open(t, newPriority(t, policy.TopologyConfig{Seed: 4, PanicOff: true}), samples).counts(t, 10_000)
	for i, count := range counts {
		alive := i == 10 || i == 15 || i == 20
		if alive && (count < 3100 || count > 3600) || !alive && count > 0 {
			t.Errorf("candidate %d got %d of 10000", i, count)
		}
	}
}

// Cases: B37.
// Claim: A locality without anybody available gets nothing.
// Code: units
func TestLocality_GivesAnEmptyZoneNothing(t *testing.T) {
	zoned := func(id, locality string, zone uint32, status poise.Status) poise.Sample {
		s := placed(id, 0)
		s.Locality, s.LocalityWeight, s.Status = locality, weightOf(t, zone), status
		return s
	}
	samples := []poise.Sample{
		zoned("x1", "X", 3, poise.Unavailable), zoned("x2", "X", 3, poise.Unavailable), zoned("y1", "Y", 1, poise.Ready),
	}
	p := newLocality(t, policy.TopologyConfig{Seed: 3, PanicOff: true})
	all := func(want int) {
		t.Helper()
		d := open(t, p, samples)
		for range 100 {
			if got := d.pick(t, poise.Query{}); got != want {
				t.Fatalf("picked %d, want %d", got, want)
			}
		}
	}
	all(2)
	samples[2].Status = poise.Unavailable
	if _, err := open(t, p, samples).try(poise.Query{}); err != poise.ErrNoEligible {
		t.Errorf("with both zones down: %v", err)
	}
	samples[0].Status = poise.Ready
	all(0)
}

// The bounds that the other implementation's tests have.
func TestTopology_KeepsWithinTheBoundsOfOthers(t *testing.T) {
	zoned := func(id, locality string, zone, weight uint32, ready bool) poise.Sample {
		s := placed(id, 0)
		s.Locality, s.LocalityWeight, s.Weight = locality, weightOf(t, zone), weightOf(t, weight)
		if !ready {
			s.Status = poise.Unavailable
		}
		return s
	}
	weighted := []poise.Sample{placed("small", 0), placed("large", 0)}
	weighted[1].Weight = weightOf(t, 3)
	xy := func(size, ready int) (list []poise.Sample) {
		for i := range size {
			list = append(list, zoned(fmt.Sprint("x", i), "x", 1, 1, i < ready))
		}
		return append(list, zoned("y", "y", 2, 1, true))
	}
	const largest = 1<<32 - 1
	for _, row := range []struct {
		name      string
		p         poise.Policy
		samples   []poise.Sample
		picks     int
		of        func(i int) bool
		low, high int
	}{
		{
			"half healthy p0, full p1, 100 %", newPriority(t, policy.TopologyConfig{Seed: 2, Overprovisioning: 100}),
			append(crowd("a", 0, 2, 1), placed("b", 1)), 20_000, func(i int) bool { return i == 0 }, 9_700, 10_300,
		},
		{
			"5 of 7", newPriority(t, policy.TopologyConfig{Seed: 2}),
			append(crowd("a", 0, 7, 5), placed("b", 1)), 1000, func(i int) bool { return i < 5 }, 1000, 1000,
		},
		{"weights 1 and 3", newPriority(t, policy.TopologyConfig{Seed: 2}), weighted, 20_000, func(i int) bool { return i == 1 }, 14_600, 15_400},
		{
			"localities 1 and 3", newLocality(t, policy.TopologyConfig{Seed: 2}),
			[]poise.Sample{zoned("w", "west", 1, 1, true), zoned("e", "east", 3, 1, true)}, 100_000,
			func(i int) bool { return i == 0 }, 24_000, 26_000,
		},
		{"x half healthy", newLocality(t, policy.TopologyConfig{Seed: 2, PanicOff: true}), xy(2, 1), 100_000, func(i int) bool { return i == 0 }, 25_000, 27_000},
		{"x 5 of 7", newLocality(t, policy.TopologyConfig{Seed: 2}), xy(7, 5), 100_000, func(i int) bool { return i < 7 }, 32_000, 35_000},
		{
			"a tiny locality", newLocality(t, policy.TopologyConfig{Seed: 17, Overprovisioning: 100, PanicOff: true}),
			[]poise.Sample{
				zoned("t", "tiny", largest, 1, true), zoned("u", "tiny", largest, 2_000_000, false),
				zoned("h", "healthy", 1, 2_000_000, true), zoned("e", "empty", largest, 1, false),
			}, 100, func(i int) bool { return i == 0 }, 95, 100,
		},
	} {
		got := 0
		for i, count := range open(t, row.p, row.samples).counts(t, row.picks) {
			if row.of(i) {
				got += count
			}
		}
		if got < row.low || got > row.high {
			t.Errorf("%s: %d of %d, want %d to %d", row.name, got, row.picks, row.low, row.high)
		}
	}
}

// Cases: B36 (visible), G20, Q19, Q24.
func TestTopology_ExplainsTheScope(t *testing.T) {
	samples := []poise.Sample{placed("a", 1), placed("b", 1), placed("c", 4)}
	samples[0].Locality, samples[0].LocalityWeight = "x", weightOf(t, 2)
	samples[1].Locality, samples[1].LocalityWeight, samples[1].Status = "x", weightOf(t, 2), poise.Unavailable
	samples[2].Status = poise.Draining
	for name, row := range map[string]struct {
		cfg  policy.TopologyConfig
		want poise.ScopeChoice
		text string
	}{
		"Priority": {
			policy.TopologyConfig{Seed: 1, PanicOff: true}, poise.ScopeChoice{Policy: "Priority", Priority: 1},
			"Priority chose priority 1",
		},
		"Priority in panic": {
			policy.TopologyConfig{Seed: 1, PanicThreshold: 51}, poise.ScopeChoice{Policy: "Priority", Priority: 1, Panic: true},
			"Priority chose priority 1 in panic",
		},
		"Locality": {
			policy.TopologyConfig{Seed: 1, PanicOff: true},
			poise.ScopeChoice{Policy: "Locality", Priority: 1, Locality: "x", LocalityWeight: 2, EffectiveWeight: 1_400_000},
			`Locality chose priority 1, locality "x" of weight 2 (effective 1400000)`,
		},
		"Locality in panic": {
			policy.TopologyConfig{Seed: 1, PanicThreshold: 51},
			poise.ScopeChoice{Policy: "Locality", Priority: 1, Panic: true, Locality: "x", LocalityWeight: 2, EffectiveWeight: 2_000_000},
			`Locality chose priority 1 in panic, locality "x" of weight 2 (effective 2000000)`,
		},
	} {
		var p poise.Policy = newPriority(t, row.cfg)
		if row.want.Policy == "Locality" {
			p = newLocality(t, row.cfg)
		}
		for range 20 {
			var why poise.Decision
			index := open(t, p, samples).pick(t, poise.Query{Why: &why})
			if why.Scope != row.want || why.Chosen != index || why.Policy != "WeightedRandom" {
				t.Fatalf("%s: Why is %+v, want the scope %+v", name, why, row.want)
			}
			if got := why.Scope.String(); got != row.text {
				t.Fatalf("%s: reads %q, want %q", name, got, row.text)
			}
		}
	}
	small := poise.ScopeChoice{Policy: "Locality", LocalityWeight: 1, EffectiveWeight: 1}
	if got := small.String(); got != `Locality chose priority 0, locality "" of weight 1 (effective 1)` {
		t.Errorf("the smallest locality reads %q", got)
	}
	var why poise.Decision
	open(t, newPriority(t, policy.TopologyConfig{PanicOff: true}), samples).pick(t, poise.Query{Why: &why})
	want := "WeightedRandom chose a: only one left\n" +
		"  Priority chose priority 1\n" +
		"  of 3 candidates 1 are eligible, 0 tried before, 1 considered\n" +
		"  left out b: unavailable\n" +
		"  left out c: draining"
	if got := why.String(); got != want {
		t.Errorf("explained as\n%s\nwant\n%s", got, want)
	}
}
