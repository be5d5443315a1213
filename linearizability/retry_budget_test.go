package linearizability

import (
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// All calls earn for all retries, so the budget is one object.
var retryBudget = subject{
	spec: seq.Budget(60, 2),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: 60, Burst: 2, NoFloor: true})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *Caller, _, pick int) {
			if pick%2 == 0 {
				c.Call("Earn", nil, func() any { b.Earn(); return nil })
			} else {
				c.Call("Spend", nil, func() any { return b.Spend(time.Time{}) })
			}
		}
	},
	good: serial(
		call("Earn", nil, nil), call("Spend", nil, true), call("Spend", nil, true), call("Spend", nil, false),
		call("Earn", nil, nil), call("Spend", nil, false), call("Earn", nil, nil), call("Spend", nil, true)),
	mutants: []mutant{
		returns("more than was saved", 3, true),
		returns("refused with a retry saved", 1, false),
		returns("half a retry", 5, true),
		without("a call that did not earn", 6),
	},
}

// Claim: The retries that were granted never exceed Burst plus Percent of a hundredth of the successes plus PerSecond for each second that has passed.
// Claim: Spend with nothing saved returns false and changes nothing.
// Claim: The retries saved up never exceed Burst.
func TestRetryBudget_Linearizable(t *testing.T)     { allowed(t, retryBudget) }
func TestRetryBudget_Linearizable_Law(t *testing.T) { law(t, retryBudget) }
