package health_test

import (
	"errors"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// ill are the parts of a WithHealth, each of which excludes if it was made ill.
type ill struct {
	active  *health.ActiveHealth
	circuit *health.Circuit
	fleet   *fleet
}

func newIll(t testing.TB, unhealthy, open, outlier bool) ill {
	t.Helper()
	active, err := health.NewActiveHealth(health.ActiveHealthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	circuit, err := health.NewCircuit(health.CircuitConfig{})
	if err != nil {
		t.Fatal(err)
	}
	parts := ill{active, circuit, newFleet(t, 3, health.OutlierControllerConfig{Jitter: noJitter})}
	if unhealthy {
		if err := active.Force(health.Unhealthy, dusk); err != nil {
			t.Fatal(err)
		}
	}
	if open {
		circuit.ForceOpen(dusk)
	}
	if outlier {
		parts.fleet.calls(0, 0, 5, 0)
		parts.fleet.sweep(0)
		parts.fleet.requireOut(0)
	}
	return parts
}

func (p ill) check(candidate poise.Candidate) health.WithHealth {
	return health.WithHealth{
		Candidate: candidate, Active: p.active, Circuit: p.circuit, Outlier: p.fleet.members[0].Subject, Now: dusk,
	}
}

// Claim: Of the parts that exclude, active health gives its reason before the circuit, and the circuit before outlier detection.
//
// Cases: HC2, HC3, Q19.
func TestChecked_GivesTheFirstReason(t *testing.T) {
	for _, row := range []struct {
		unhealthy, open, outlier bool
		want                     poise.Reason
	}{
		{false, false, false, poise.NotExcluded},
		{true, true, true, poise.ExcludedUnhealthy},
		{true, false, false, poise.ExcludedUnhealthy},
		{true, false, true, poise.ExcludedUnhealthy},
		{false, true, true, poise.ExcludedCircuitOpen},
		{false, true, false, poise.ExcludedCircuitOpen},
		{false, false, true, poise.ExcludedOutlier},
	} {
		checked := newIll(t, row.unhealthy, row.open, row.outlier).check(poise.Sample{ID: "A"})
		if got := checked.Sample().Excluded; got != row.want {
			t.Errorf("unhealthy %t, open %t, outlier %t: excluded as %v, want %v", row.unhealthy, row.open, row.outlier, got, row.want)
		}
	}
	// The circuit is asked at Now: when its time is over it may be tried.
	checked := newIll(t, false, true, false).check(poise.Sample{ID: "A"})
	checked.Now = dusk.Add(checked.Circuit.State(dusk).RetryAfter)
	if got := checked.Sample().Excluded; got != poise.NotExcluded {
		t.Errorf("a circuit whose time is over excludes as %v", got)
	}
}

// Claim: A sample that is not Ready, or that its candidate excludes, stays as it is; so health undoes no draining.
//
// Cases: HC2.
func TestChecked_LeavesTheAdministrationAlone(t *testing.T) {
	for _, sample := range []poise.Sample{
		{ID: "A", Status: poise.Draining},
		{ID: "A", Status: poise.Unavailable},
		{ID: "A", Excluded: poise.ExcludedDraining},
		{ID: "A", Excluded: poise.ExcludedByUser},
		{ID: "A", Status: poise.Draining, Excluded: poise.ExcludedNotReady},
		{ID: "A", Status: 99},
	} {
		for _, sick := range []bool{false, true} {
			if got := newIll(t, sick, sick, sick).check(sample).Sample(); got != sample {
				t.Errorf("ill %t: %+v became %+v", sick, sample, got)
			}
		}
	}
}

// Claim: Everything but the reason is the candidate's, priority, locality and load among it.
//
// Cases: G6, HC1.
func TestChecked_KeepsTheRest(t *testing.T) {
	weight, err := poise.NewWeight(7)
	if err != nil {
		t.Fatal(err)
	}
	sample := poise.Sample{
		ID: "A", Incarnation: 3, Weight: weight, Priority: 2, Locality: "west", LocalityWeight: weight,
		PanicOptOut: true, Load: poise.NewInFlight(4),
	}
	if got := newIll(t, false, false, false).check(sample).Sample(); got != sample {
		t.Errorf("%+v became %+v", sample, got)
	}
	got := newIll(t, true, true, true).check(sample).Sample()
	if got.Excluded = poise.NotExcluded; got != sample {
		t.Errorf("%+v became %+v", sample, got)
	}
}

// Claim: WithHealth values nest: whom one of them excludes is not eligible.
//
// Cases: HC4.
func TestChecked_Nests(t *testing.T) {
	for _, row := range []struct {
		inner, outer ill
		want         poise.Reason
	}{
		{newIll(t, false, false, false), newIll(t, false, false, false), poise.NotExcluded},
		{newIll(t, false, false, true), newIll(t, false, false, false), poise.ExcludedOutlier},
		{newIll(t, false, false, false), newIll(t, false, true, false), poise.ExcludedCircuitOpen},
		{newIll(t, false, false, true), newIll(t, true, true, true), poise.ExcludedOutlier},
	} {
		if got := row.outer.check(row.inner.check(poise.Sample{ID: "A"})).Sample().Excluded; got != row.want {
			t.Errorf("excluded as %v, want %v", got, row.want)
		}
	}
}

// Claim: Sampling changes none of the parts.
func TestChecked_SamplingChangesNothing(t *testing.T) {
	parts := newIll(t, true, true, true)
	checked := parts.check(poise.Sample{ID: "A"})
	active, circuit := parts.active.State(dusk), parts.circuit.State(dusk)
	checked.Now = dusk.Add(circuit.RetryAfter) // from here on a call would make it half-open
	for range 10 {
		checked.Sample()
	}
	if got := parts.active.State(dusk); got != active {
		t.Errorf("active health is %+v, before %+v", got, active)
	}
	if got := parts.circuit.State(dusk); got != circuit {
		t.Errorf("the circuit is %+v, before %+v", got, circuit)
	}
	parts.fleet.requireOut(0)
	if n := testing.AllocsPerRun(100, func() { checked.Sample() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestChecked_WithoutPartsOrCandidate(t *testing.T) {
	sample := poise.Sample{ID: "A", Priority: 1}
	if got := (health.WithHealth{Candidate: sample}).Sample(); got != sample {
		t.Errorf("without parts %+v became %+v", sample, got)
	}
	if _, err := poise.NewView([]poise.Candidate{health.WithHealth{}}); !errors.Is(err, poise.ErrEmptyIdentity) {
		t.Errorf("without a candidate NewView answers %v", err)
	}
}
