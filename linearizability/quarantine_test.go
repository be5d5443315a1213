package linearizability

import (
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// One permit for each caller; instants are nanoseconds of a counter, and the time
// aside is one of them. Every result can end the time of all permits, so an
// endpoint's quarantine is one object.
var quarantine = subject{
	spec: seq.Quarantine(2),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		q, err := poisehttp.NewQuarantine(poisehttp.QuarantineConfig{Failures: 2, Backoff: 1, MaxBackoff: 1})
		if err != nil {
			t.Fatal(err)
		}
		var clock atomic.Int64
		var permits [callers]poisehttp.Permit
		var holds [callers]bool // one caller's each
		return func(c *Caller, _, pick int) {
			id, at := c.Number, int(clock.Add(1))
			switch {
			case pick < 64:
				c.Call("Return", at, func() any { return q.Return(time.Unix(0, int64(at))) == 0 })
			case holds[id]:
				v := seq.Verdict{Permit: id, At: at, Failed: pick >= 96}
				outcome := poise.Success
				if v.Failed {
					outcome = poise.Failure
				}
				c.Call("Report", v, func() any { return q.Report(permits[id], outcome, time.Unix(0, int64(at)), nil) })
				holds[id] = false
			default:
				holds[id] = c.Call("Admit", id, func() any {
					permit, err := q.Admit()
					if err == nil {
						permits[id] = permit
					}
					return err == nil
				}).(bool)
			}
		}
	},
	good: serial(
		call("Admit", 0, true), call("Admit", 1, true), call("Admit", 2, true),
		call("Report", seq.Verdict{Permit: 0, At: 1, Failed: true}, false),
		call("Report", seq.Verdict{Permit: 1, At: 2, Failed: true}, true),
		call("Admit", 3, false), call("Return", 2, false), call("Return", 3, true), call("Admit", 3, true),
		call("Report", seq.Verdict{Permit: 2, At: 4, Failed: true}, false),
		call("Report", seq.Verdict{Permit: 3, At: 5, Failed: true}, true)),
	mutants: []mutant{
		returns("one failure is enough", 3, true),
		returns("two failures are not enough", 4, false),
		returns("admitted while aside", 5, true),
		returns("back too soon", 6, true),
		returns("late failure counts", 9, true),
		returns("a failure on return is forgiven", 10, false),
		without("a return is lost", 7),
	},
}

// Claim: The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
// Claim: Admit refuses exactly while the endpoint is aside.
// Claim: A result of a call that was admitted before the endpoint was last set aside changes nothing.
func TestQuarantine_Linearizable(t *testing.T)     { allowed(t, quarantine) }
func TestQuarantine_Linearizable_Law(t *testing.T) { law(t, quarantine) }
