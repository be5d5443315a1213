package dispatch_test

import (
	"strconv"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// newLoop returns a loop over n members without limits, named a0 and on.
func newLoop(tb testing.TB, n int, edit func(*dispatch.LoopConfig)) *dispatch.Loop {
	tb.Helper()
	cfg := dispatch.LoopConfig{Policy: new(policy.RoundRobin), Seed: 1}
	if edit != nil {
		edit(&cfg)
	}
	l, err := dispatch.NewLoop(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.Update(specs(n), epoch); err != nil {
		tb.Fatal(err)
	}
	return l
}

// specs returns n members of the incarnations 1 and on.
func specs(n int) []dispatch.Spec {
	list := make([]dispatch.Spec, n)
	for i := range list {
		list[i] = dispatch.Spec{Sample: poise.Sample{ID: "a" + strconv.Itoa(i), Incarnation: uint64(i) + 1}, Value: i}
	}
	return list
}

func TestLoop_TakesTurns(t *testing.T) {
	l := newLoop(t, 3, nil)
	for i := range 6 {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil {
			t.Fatal(err)
		}
		if c.Value() != i%3 {
			t.Fatalf("call %d went to %v", i, c.Value())
		}
		if !c.End(poise.Result{}, epoch) || c.End(poise.Result{}, epoch) {
			t.Fatal("the first End ends a call, and no other")
		}
	}
}

func BenchmarkLoop_AcquireEnd(b *testing.B) {
	for _, attempts := range []bool{false, true} {
		b.Run("attempts="+strconv.FormatBool(attempts), func(b *testing.B) {
			l := newLoop(b, 10, func(c *dispatch.LoopConfig) {
				c.Policy, _ = policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
			})
			b.ReportAllocs()
			var c dispatch.Call
			for b.Loop() {
				q := dispatch.Query{Now: epoch}
				var a dispatch.Attempts
				if attempts {
					q.Attempts = &a
				}
				if err := l.Acquire(&c, q); err != nil {
					b.Fatal(err)
				}
				c.End(poise.Result{}, epoch)
			}
		})
	}
}
