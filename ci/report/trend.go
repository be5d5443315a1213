package report

import (
	"fmt"

	"github.com/copyleftdev/poise-go/ci/record"
)

// trend compares the record with earlier ones.
type trend struct {
	Runs   []trendRun // the oldest first, the record itself last
	Unread int        // earlier records of another shape
	Plots  []plot
}

// trendRun is one record in the trend.
type trendRun struct {
	Started, Commit        string
	Passed, Failed, NotRun int
	Over, Speed            int // bounds
	Seconds                float64
}

// trendOf returns no runs if there is nothing to compare with.
func trendOf(earlier [][]byte, now record.Record) (t trend) {
	var all []record.Record
	for _, b := range earlier {
		r, err := record.Decode(b)
		switch {
		case err != nil:
			t.Unread++
		case !r.Timing.Started.Equal(now.Timing.Started):
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return t
	}
	passed, minutes := series{Name: "checks"}, series{Name: "min"}
	for i, r := range append(all, now) {
		v, b := view{Record: r}, boundsOf(r)
		t.Runs = append(t.Runs, trendRun{
			Started: r.Timing.Started.Format("2006-01-02 15:04"), Commit: short(r.Commit),
			Passed: v.Passed(), Failed: v.Failed(), NotRun: len(v.NotRun()), Over: b.Over, Speed: b.Speed, Seconds: r.Timing.Seconds,
		})
		passed.X, passed.Y = append(passed.X, float64(i+1)), append(passed.Y, float64(v.Passed()))
		minutes.X, minutes.Y = append(minutes.X, float64(i+1)), append(minutes.Y, r.Timing.Seconds/60)
	}
	run := axis{ticks: []float64{1, float64(len(t.Runs))}, write: func(v float64) string { return fmt.Sprintf("run %g", v) }}
	for _, line := range []series{passed, minutes} {
		_, most := span(nil, []series{line}, func(s series) []float64 { return s.Y })
		t.Plots = append(t.Plots, draw(map[string]string{"checks": "Checks passed", "min": "Minutes of the whole run"}[line.Name], 376, 150,
			[]series{line}, run, axis{ticks: []float64{0, most}, write: figure}))
	}
	return t
}
