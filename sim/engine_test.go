package sim

import (
	"os"
	"testing"
)

func BenchmarkRun(b *testing.B) {
	text, err := os.ReadFile("scenarios/refuse.txt")
	if err != nil {
		b.Fatal(err)
	}
	all, err := Parse("refuse", string(text))
	if err != nil {
		b.Fatal(err)
	}
	calls := 0
	w := new(world)
	for b.Loop() {
		for _, s := range all {
			r, err := w.whole(s, "round-robin", NewRotation, 1)
			if err != nil {
				b.Fatal(err)
			}
			calls += r.Calls()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}
