package linearizability

import (
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// outcomesStep returns what a caller does to a window. Instants are nanoseconds of
// a counter, and some are set back.
func outcomesStep(t testing.TB, capacity, halfLife int) func(*Caller, int, int) {
	zero := time.Unix(0, 0)
	w, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{Capacity: capacity, HalfLife: time.Duration(halfLife)}, zero)
	if err != nil {
		t.Fatal(err)
	}
	var clock atomic.Int64
	return func(c *Caller, _, pick int) {
		at := int(clock.Add(1))
		if pick%32 == 31 {
			at = max(0, at-20)
		}
		now := zero.Add(time.Duration(at))
		switch {
		case pick < 120:
			c.Call("Record", seq.Stamped{Number: pick % 3, At: at}, func() any { w.Record(poise.Outcome(pick%3), now); return nil })
		case pick < 170:
			c.Call("Stats", nil, func() any {
				s := w.Stats(now)
				return seq.Held{Successes: s.Successes, Failures: s.Failures, Overloaded: s.Overloaded}
			})
		case pick < 250:
			c.Call("Penalty", at, func() any { return seq.Penalty(w.Penalty(now)) })
		default:
			c.Call("Clear", nil, func() any { w.Clear(); return nil })
		}
	}
}

// Every observation moves the window for all, so it is one object.
var outcomeWindow = subject{
	spec:  seq.Outcomes(4, seq.Lasting),
	fresh: func(t testing.TB) func(*Caller, int, int) { return outcomesStep(t, 4, seq.Lasting) },
	good: serial(
		call("Record", seq.Stamped{Number: 1, At: 1}, nil), call("Penalty", 2, 1024),
		call("Record", seq.Stamped{Number: 2, At: 3}, nil), call("Penalty", 4, 1536),
		call("Record", seq.Stamped{Number: 0, At: 5}, nil), call("Record", seq.Stamped{Number: 0, At: 6}, nil),
		call("Stats", nil, seq.Held{Successes: 2, Failures: 1, Overloaded: 1}), call("Penalty", 7, 768),
		call("Record", seq.Stamped{Number: 0, At: 8}, nil), call("Penalty", 9, 512),
		call("Clear", nil, nil), call("Penalty", 10, 0)),
	mutants: []mutant{
		returns("the failure that went out still weighs", 9, 768),
		returns("overloads weigh as failures", 3, 1024),
		returns("one too few are held", 6, seq.Held{Successes: 2, Overloaded: 1}),
		returns("Clear leaves the penalty", 11, 512),
		without("an observation is lost", 8),
	},
}

var decayingWindow = subject{
	spec:  seq.Outcomes(2, seq.Halving),
	fresh: func(t testing.TB) func(*Caller, int, int) { return outcomesStep(t, 2, seq.Halving) },
	good: serial(
		call("Record", seq.Stamped{Number: 1, At: 1}, nil), call("Penalty", 1, 1024), call("Penalty", 3, 256),
		call("Record", seq.Stamped{Number: 1, At: 3}, nil), call("Penalty", 3, 640), call("Penalty", 0, 640),
		call("Record", seq.Stamped{Number: 0, At: 4}, nil), call("Penalty", 4, 256),
		call("Record", seq.Stamped{Number: 1, At: 20}, nil), call("Record", seq.Stamped{Number: 0, At: 9}, nil),
		call("Penalty", 9, 0), call("Record", seq.Stamped{Number: 1, At: 8}, nil), call("Penalty", 8, 512)),
	mutants: []mutant{
		returns("nothing is forgiven", 2, 1024),
		returns("the age is that of the newest", 4, 1024),
		returns("an earlier instant makes it heavier", 5, 1024),
		returns("what went out left its whole weight", 7, 384),
		returns("a clock that is set back forgives nothing", 10, 512),
		without("an observation is lost", 3),
	},
}

// Claim: The window holds the last Capacity observations, whatever their order in time.
// Claim: The penalty is the weight of the failures held divided by the number of observations held.
// Claim: Clear empties the window.
func TestOutcomeWindow_Linearizable(t *testing.T)     { allowed(t, outcomeWindow) }
func TestOutcomeWindow_Linearizable_Law(t *testing.T) { law(t, outcomeWindow) }

// Claim: The weight of a failure is halved by each HalfLife that passes after it.
// Claim: An instant before that of the last observation counts as that one.
// Claim: Penalty and Load neither write nor lock, and never wait.
func TestOutcomeWindow_DecayLinearizable(t *testing.T)     { allowed(t, decayingWindow) }
func TestOutcomeWindow_DecayLinearizable_Law(t *testing.T) { law(t, decayingWindow) }

// Every failure counts on the one before. A Sweep looks at several subjects one
// after the other and promises no order among them, so it is explored, not here.
var failureRuns = subject{
	spec: seq.Runs(5, 3, 2),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		controller, err := health.NewOutlierController(health.OutlierControllerConfig{
			Detector: health.OutlierConfig{FailuresInRow: 5, GatewayFailuresInRow: 3, LocalFailuresInRow: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := controller.Subject()
		return func(c *Caller, _, pick int) {
			kind := min(pick/32, 3)
			if pick >= 224 {
				kind = seq.FailedAtMember
			}
			outcome, from := poise.Failure, health.FailureKind(max(kind-1, 0))
			if kind == seq.Succeeded {
				outcome = poise.Success
			}
			c.Call("Record", kind, func() any { return s.Begin().Record(outcome, from) })
		}
	},
	good: serial(
		call("Record", seq.FailedHere, false), call("Record", seq.FailedHere, true), call("Record", seq.FailedHere, false),
		call("Record", seq.FailedAtGateway, false), call("Record", seq.FailedHere, true), call("Record", seq.Succeeded, false),
		call("Record", seq.FailedAtGateway, false), call("Record", seq.FailedAtGateway, false), call("Record", seq.FailedAtGateway, true),
		call("Record", seq.FailedAtMember, false), call("Record", seq.FailedAtMember, true)),
	mutants: []mutant{
		returns("a run is long twice", 2, true),
		returns("a long run is missed", 1, false),
		returns("a failure of another kind counts", 3, true),
		without("a success that ended nothing", 5),
		without("a failure is lost", 7),
	},
}

// Claim: A success ends every run of failures, and a failure those of the other kinds but not that of all failures.
// Claim: Record returns true exactly for the failure with which a run reaches its number.
func TestOutlierSubject_Linearizable(t *testing.T)     { allowed(t, failureRuns) }
func TestOutlierSubject_Linearizable_Law(t *testing.T) { law(t, failureRuns) }
