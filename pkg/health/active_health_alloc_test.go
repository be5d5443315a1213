package health_test

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func TestActiveHealth_AllocatesNothing(t *testing.T) {
	h := newActive(t, health.ActiveHealthConfig{Interval: time.Second, Jitter: 50, Hold: time.Second})
	chance, now := poise.NewGenerator(1), dawn
	for name, use := range map[string]func(){
		"asking":     func() { h.Due(now); h.State(now); h.Excluded() },
		"probing":    func() { r, wait, _ := h.Reserve(now, chance); h.Complete(r, true, now); now = now.Add(wait) },
		"cancelling": func() { r, wait, _ := h.Reserve(now, nil); h.Cancel(r, now); now = now.Add(wait) },
		"losing":     func() { _, wait, _ := h.Reserve(now, chance); now = now.Add(wait) },
		"forcing":    func() { _ = h.Force(health.Healthy, now) },
	} {
		if n := testing.AllocsPerRun(1000, use); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
