package health_test

import (
	"context"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func BenchmarkActiveHealth(b *testing.B) {
	h := newActive(b, health.ActiveHealthConfig{Interval: time.Second, Jitter: 50})
	chance := poise.NewGenerator(1)
	b.Run("Excluded", func(b *testing.B) {
		for b.Loop() {
			h.Excluded()
		}
	})
	b.Run("Excluded in parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				h.Excluded()
			}
		})
	})
	b.Run("Due", func(b *testing.B) {
		for b.Loop() {
			h.Due(dawn)
		}
	})
	b.Run("Reserve and Complete", func(b *testing.B) {
		now := dawn // and a fresh start each time that this is repeated
		h := newActive(b, health.ActiveHealthConfig{Interval: time.Second, Jitter: 50})
		for b.Loop() {
			r, _, err := h.Reserve(now, chance)
			if err != nil {
				b.Fatal(err)
			}
			h.Complete(r, true, now)
			now = now.Add(time.Second)
		}
	})
}

// One probe of a Runner with all that belongs to it: the wait until it is due, two
// timers, a goroutine and the record.
func BenchmarkRunner(b *testing.B) {
	r, err := health.NewRunner(health.RunnerConfig{
		Health: newActive(b, health.ActiveHealthConfig{Interval: 1}),
		Probe:  func(context.Context) error { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.RunOnce(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
