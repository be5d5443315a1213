package linearizability

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// The settings of the models: results that decide alone with every wait one unit,
// and results that must agree in pairs with each wait another.
var (
	quickProbing  = seq.ProbingConfig{Intervals: [3]int{1, 1, 1}, Hold: 2, Good: 1, Bad: 1}
	steadyProbing = seq.ProbingConfig{Intervals: [3]int{1, 3, 2}, Hold: 4, Good: 2, Bad: 2}
)

// One reservation for each caller; instants are nanoseconds of a counter. There is
// one reservation out at a time, so a candidate's health is one object.
var activeHealth = subject{
	spec: seq.Probing(seq.ProbingConfig{Intervals: [3]int{2, 6, 4}, Hold: 9, Good: 2, Bad: 2}),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		h, err := health.NewActiveHealth(health.ActiveHealthConfig{
			UnknownInterval: 2, Interval: 6, UnhealthyInterval: 4, Hold: 9, HealthyThreshold: 2, UnhealthyThreshold: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
		var clock atomic.Int64
		var reservations [callers]health.Reservation // one caller's each
		return func(c *Caller, _, pick int) {
			id, at := c.Number, int(clock.Add(1))
			now := time.Unix(0, int64(at))
			switch {
			case pick < 96:
				c.Call("Reserve", seq.Stamped{Number: id, At: at}, func() any {
					r, wait, err := h.Reserve(now, nil)
					if err == nil {
						reservations[id] = r
					}
					return int(wait)
				})
			case pick < 176:
				v := seq.Verdict{Permit: id, At: at, Failed: pick%2 == 0}
				c.Call("Complete", v, func() any {
					_, counts := h.Complete(reservations[id], !v.Failed, now)
					return counts
				})
			case pick < 192:
				c.Call("Cancel", seq.Stamped{Number: id, At: at}, func() any { return h.Cancel(reservations[id], now) })
			case pick < 200:
				condition := pick % 3
				c.Call("Force", seq.Stamped{Number: condition, At: at}, func() any {
					_ = h.Force(health.Condition(condition), now)
					return nil
				})
			case pick < 228:
				c.Call("Due", at, func() any { return int(h.Due(now)) })
			default:
				c.Call("Condition", nil, func() any { return int(h.State(now).Condition) })
			}
		}
	},
	good: serial(
		call("Reserve", seq.Stamped{Number: 0, At: 1}, 0),
		call("Reserve", seq.Stamped{Number: 1, At: 2}, 10),
		call("Complete", seq.Verdict{Permit: 1, At: 2, Failed: true}, false),
		call("Complete", seq.Verdict{Permit: 0, At: 3, Failed: true}, true),
		call("Due", 4, 1),
		call("Reserve", seq.Stamped{Number: 1, At: 5}, 0),
		call("Complete", seq.Verdict{Permit: 1, At: 6, Failed: true}, true),
		call("Condition", nil, 2),
		call("Complete", seq.Verdict{Permit: 1, At: 6, Failed: false}, false),
		call("Reserve", seq.Stamped{Number: 2, At: 10}, 0),
		call("Due", 19, 4),
		call("Complete", seq.Verdict{Permit: 2, At: 19, Failed: false}, false),
		call("Reserve", seq.Stamped{Number: 0, At: 23}, 0),
		call("Force", seq.Stamped{Number: 1, At: 24}, nil),
		call("Cancel", seq.Stamped{Number: 0, At: 24}, false),
		call("Condition", nil, 1),
		call("Due", 24, 1)),
	mutants: []mutant{
		returns("two reservations are out", 1, 0),
		returns("a reservation that was refused counts", 2, true),
		returns("a result is lost", 3, false),
		returns("a probe is due too soon", 4, 0),
		returns("one failure is enough", 7, 0),
		returns("a reservation ends twice", 8, true),
		returns("a lost reservation blocks for ever", 10, 13),
		returns("a late result counts", 11, true),
		returns("a voided reservation is cancelled", 14, true),
		returns("force is forgotten", 15, 2),
		returns("force starts the interval again", 16, 6),
		without("an end is lost", 6),
	},
}

// Claim: At most one reservation is outstanding at any instant.
// Claim: The condition becomes Healthy or Unhealthy exactly when that many probes in a row as its threshold says have agreed, and otherwise stays.
// Claim: Only the outstanding reservation has effect: one that was completed, cancelled, voided or lost before is reported as such and changes nothing.
func TestActiveHealth_Linearizable(t *testing.T)     { allowed(t, activeHealth) }
func TestActiveHealth_Linearizable_Law(t *testing.T) { law(t, activeHealth) }
