package health_test

import (
	"fmt"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// many returns observations of which a share is bad.
func many(n, badOf int) []health.OutlierObservation {
	members := make([]health.OutlierObservation, n)
	for i := range members {
		members[i] = did(uint64(970+i%30), uint64(i%30))
		if i%badOf == 0 {
			members[i] = did(uint64(i%97), 1000)
		}
	}
	return members
}

func TestOutlierDetector_AllocatesNothingWithAReport(t *testing.T) {
	d := newDetector(t, health.OutlierConfig{})
	members := many(1000, 3)
	report := d.Detect(members, health.OutlierReport{})
	if len(report.Outliers) == 0 {
		t.Fatal("nobody is an outlier")
	}
	if n := testing.AllocsPerRun(100, func() { report = d.Detect(members, report) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOutlierController_AllocatesNothingWhileNothingChanges(t *testing.T) {
	f := newFleet(t, 1000, health.OutlierControllerConfig{BaseTime: 1000 * time.Hour, Interval: time.Second})
	for i := range 300 {
		f.calls(i, 0, 5, 0)
	}
	if s := f.sweep(0); s.Ejected != 300 {
		t.Fatalf("%d are ejected", s.Ejected)
	}
	f.sweep(time.Second)
	f.members = f.members[:900]
	f.sweep(time.Second)
	if n := testing.AllocsPerRun(100, func() {
		f.calls(500, 10, 1, health.GatewayFailure)
		f.sweep(time.Second)
		f.members[0].Subject.Excluded()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOutlierDetector_Detect(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		for _, bad := range []struct {
			name string
			of   int
		}{{"few", 1000}, {"third", 3}, {"all", 1}} {
			b.Run(fmt.Sprintf("n=%d/bad=%s", n, bad.name), func(b *testing.B) {
				d := newDetector(b, health.OutlierConfig{})
				members := many(n, bad.of)
				report := d.Detect(members, health.OutlierReport{})
				b.ReportAllocs()
				for b.Loop() {
					report = d.Detect(members, report)
				}
			})
		}
	}
}

func BenchmarkOutlierController_Sweep(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			f := newFleet(b, n, health.OutlierControllerConfig{BaseTime: 1000 * time.Hour, Interval: 1})
			for i := range n / 10 {
				f.calls(i*10, 0, 5, 0)
			}
			f.sweep(1)
			f.sweep(1)
			b.ReportAllocs()
			for b.Loop() { // every one of them judges
				f.sweep(1)
			}
		})
	}
}

func BenchmarkOutlierCall_Record(b *testing.B) {
	for _, row := range []struct {
		name    string
		outcome poise.Outcome
	}{{"success", poise.Success}, {"failure", poise.Failure}} {
		b.Run(row.name, func(b *testing.B) {
			f := newFleet(b, 1, health.OutlierControllerConfig{})
			s := f.members[0].Subject
			b.ReportAllocs()
			for b.Loop() {
				s.Begin().Record(row.outcome, health.GatewayFailure)
			}
		})
	}
}

func BenchmarkOutlierSubject_Excluded(b *testing.B) {
	f := newFleet(b, 1, health.OutlierControllerConfig{})
	for b.Loop() {
		if f.members[0].Subject.Excluded() != poise.NotExcluded {
			b.Fatal("it is excluded")
		}
	}
}
