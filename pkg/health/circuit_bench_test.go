package health_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// BenchmarkCircuit_Closed measures a permit and its end, alone and with all
// processors on one circuit.
func BenchmarkCircuit_Closed(b *testing.B) {
	for _, row := range []struct {
		name string
		cfg  health.CircuitConfig
	}{
		{"row", health.CircuitConfig{}},
		{"window", health.CircuitConfig{Window: 1000}},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := newCircuit(b, row.cfg)
			b.ReportAllocs()
			for b.Loop() {
				p, _ := c.Acquire(noon)
				_ = c.End(p, poise.Success, noon)
			}
		})
		b.Run(row.name+"/contended", func(b *testing.B) {
			c := newCircuit(b, row.cfg)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p, _ := c.Acquire(noon)
					_ = c.End(p, poise.Success, noon)
				}
			})
		})
	}
}

// BenchmarkCircuit_Trial measures a trial that says nothing, which leaves the
// circuit half-open.
func BenchmarkCircuit_Trial(b *testing.B) {
	c := newCircuit(b, health.CircuitConfig{OpenFor: 1})
	c.ForceOpen(noon)
	now := noon.Add(1)
	b.ReportAllocs()
	for b.Loop() {
		p, _ := c.Acquire(now)
		_ = c.End(p, poise.Cancelled, now)
	}
}

// BenchmarkCircuit_Available measures what a View asks of each candidate.
func BenchmarkCircuit_Available(b *testing.B) {
	c := newCircuit(b, health.CircuitConfig{})
	c.ForceOpen(noon)
	b.ReportAllocs()
	for b.Loop() {
		if c.Available(noon) {
			b.Fatal("an open circuit is available")
		}
	}
}

// BenchmarkCircuit_Refused measures the refusal of an open circuit.
func BenchmarkCircuit_Refused(b *testing.B) {
	c := newCircuit(b, health.CircuitConfig{})
	c.ForceOpen(noon)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Acquire(noon)
	}
}
