package health_test

import (
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// windowCases are windows with and without decay.
var windowCases = []struct {
	name string
	cfg  health.OutcomeWindowConfig
}{
	{"plain", health.OutcomeWindowConfig{}},
	{"half-life", health.OutcomeWindowConfig{HalfLife: 10 * time.Second}},
}

func TestOutcomeWindow_AllocatesNothing(t *testing.T) {
	for _, row := range windowCases {
		w := newWindow(t, row.cfg)
		now := dusk
		if n := testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Second)
			w.Record(poise.Success, now)
			w.Record(poise.Failure, now)
			w.Penalty(now)
			w.Stats(now)
			if _, err := w.Load(now); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", row.name, n)
		}
		if n := testing.AllocsPerRun(10, w.Clear); n != 0 {
			t.Errorf("%s: %v allocations in Clear", row.name, n)
		}
	}
}

func BenchmarkOutcomeWindow_Record(b *testing.B) {
	for _, row := range windowCases {
		for _, outcomes := range []struct {
			name  string
			every int // one call of so many fails
		}{{"success", math.MaxInt}, {"tenth-fails", 10}, {"failure", 1}} {
			b.Run(row.name+"/"+outcomes.name, func(b *testing.B) {
				w := newWindow(b, row.cfg)
				b.ReportAllocs()
				now, pace := dusk, row.cfg.HalfLife/1000 // plain windows do not look at the clock
				for i := 1; b.Loop(); i++ {
					outcome := poise.Success
					if i%outcomes.every == 0 {
						outcome = poise.Failure
					}
					if pace != 0 {
						now = now.Add(pace)
					}
					w.Record(outcome, now)
				}
			})
		}
	}
}

func BenchmarkOutcomeWindow_Load(b *testing.B) {
	for _, row := range windowCases {
		b.Run(row.name, func(b *testing.B) {
			w := newWindow(b, row.cfg)
			w.Record(poise.Failure, dusk)
			now := dusk.Add(time.Second)
			for b.Loop() {
				if _, err := w.Load(now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
