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
	p, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// A call of one attempt, over ten members and two choices.
func BenchmarkLoop_AcquireEnd(b *testing.B) {
	for _, attempts := range []bool{false, true} {
		b.Run("attempts="+strconv.FormatBool(attempts), func(b *testing.B) {
			l := newLoop(b, 10, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(b) })
			b.ReportAllocs()
			var c dispatch.Call
			a := new(dispatch.Attempts)
			for b.Loop() {
				q := dispatch.Query{Now: epoch}
				if attempts {
					*a = dispatch.Attempts{}
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

// An ejection, its publication, and the return by a trial.
func BenchmarkLoop_EjectAndReturn(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l := newLoop(b, n, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(b) })
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
			}
		})
	}
}
