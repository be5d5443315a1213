package health_test

import (
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
