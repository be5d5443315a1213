package dispatch_test

import (
	"strconv"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func newTwoChoices(tb testing.TB) poise.Policy {
	tb.Helper()
	p := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	return p
}

// A call of one attempt, over ten members and two choices.
func BenchmarkLoop_AcquireEnd(b *testing.B) {
	for _, attempts := range []string{"none", "sequential", "overlapping"} {
		b.Run("attempts="+attempts, func(b *testing.B) {
			l := newLoop(b, 10, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(b) })
			b.ReportAllocs()
			var c dispatch.Call
			a := new(dispatch.Attempts)
			for b.Loop() {
				q := dispatch.Query{Now: epoch}
				if attempts != "none" {
					*a = dispatch.Attempts{Sequential: attempts == "sequential"}
					q.Attempts = a
				}
				if err := l.Acquire(&c, q); err != nil {
					b.Fatal(err)
				}
				c.End(poise.Result{}, epoch)
			}
		})
	}
}

// A flip of one member's health that is published each time.
func BenchmarkLoop_Flip(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l := newLoop(b, n, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(b) })
			b.ReportAllocs()
			now, on := epoch, false
			for b.Loop() {
				now = now.Add(time.Second)
				if err := l.SetConnected(uint64(n/2), on, now); err != nil {
					b.Fatal(err)
				}
				on = !on
			}
			if in := l.Inspect(now); in.Published < uint64(b.N) {
				b.Fatalf("%d publications of %d flips", in.Published, b.N)
			}
		})
	}
}

// One second in which each of 1,000 members flips once, driven as a Balancer does:
// ns/op is the CPU of that second.
func BenchmarkLoop_SecondOfAThousandFlips(b *testing.B) {
	maglev, err := policy.NewMaglev(policy.MaglevConfig{NoKey: new(policy.RoundRobin)})
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]poise.Policy{"two choices": newTwoChoices(b), "round robin": new(policy.RoundRobin), "maglev": maglev} {
		b.Run(name, func(b *testing.B) {
			woken := false
			l := newLoop(b, 1000, func(c *dispatch.LoopConfig) { c.Policy, c.Wake = p, func() { woken = true } })
			b.ReportAllocs()
			now, on := epoch, false
			var due time.Time
			for b.Loop() {
				for i := range 1000 {
					now = now.Add(time.Millisecond)
					if err := l.SetConnected(uint64(i)+1, on, now); err != nil {
						b.Fatal(err)
					}
					if woken || !due.IsZero() && !now.Before(due) {
						woken = false
						if due, err = l.Advance(now); err != nil {
							b.Fatal(err)
						}
					}
				}
				on = !on
			}
		})
	}
}

// An ejection of one of 10,000 members and its publication.
func BenchmarkLoop_Ejection(b *testing.B) {
	l := newLoop(b, 10_000, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(b) })
	b.ReportAllocs()
	now := epoch
	var c dispatch.Call
	for b.Loop() {
		now = now.Add(10 * time.Millisecond)
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			b.Fatal(err)
		}
		c.End(poise.Result{Outcome: poise.Unreachable}, now)
		if _, err := l.Advance(now); err != nil {
			b.Fatal(err)
		}
		if err := l.Passed(c.Incarnation(), now); err != nil {
			b.Fatal(err)
		}
	}
}
