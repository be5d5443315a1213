package observe_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Claim: AppendText writes each family once, with the values of every Metrics together.
//
// Claim: AppendText writes any name as the value of a label, and nothing else of it.
//
// Claim: AppendText writes the same text for equal counts.
func TestAppendText_IsWhatPrometheusReads(t *testing.T) {
	a, b := new(observe.Metrics), new(observe.Metrics)
	a.Ended(ended(poise.Success, 3*time.Millisecond))
	a.Refused(observe.Refusal{Cause: observe.RefusedNoEligible, Err: poise.ErrNoEligible})
	for range 12 {
		b.Attempted(observe.Attempted{})
	}
	b.Published(observe.Published{Members: 3, Eligible: 2})
	hostile := "b\"\\\n\xff} 1\n# TYPE x"
	of := map[string]*observe.Metrics{"a": a, hostile: b, "absent": nil}
	text := string(observe.AppendText([]byte("before\n"), of))
	escaped := `b\"\\\n` + "\uFFFD" + `} 1\n# TYPE x`
	for _, line := range []string{
		"before",
		"# TYPE poise_decisions_total counter",
		`poise_decisions_total{balancer="a",kind="selected"} 1`,
		`poise_decisions_total{balancer="a",kind="no_eligible"} 1`,
		`poise_refusals_total{balancer="a",cause="no_eligible"} 1`,
		`poise_decisions_total{balancer="` + escaped + `",kind="selected"} 0`,
		"# TYPE poise_members gauge",
		`poise_members{balancer="` + escaped + `"} 3`,
		`poise_eligible{balancer="` + escaped + `"} 2`,
		"# TYPE poise_attempt_duration_seconds histogram",
		`poise_attempt_duration_seconds_bucket{balancer="a",le="0.001"} 0`,
		`poise_attempt_duration_seconds_bucket{balancer="a",le="0.005"} 1`,
		`poise_attempt_duration_seconds_bucket{balancer="a",le="+Inf"} 1`,
		`poise_attempt_duration_seconds_sum{balancer="a"} 0.003`,
		`poise_attempt_duration_seconds_count{balancer="a"} 1`,
		`poise_decision_duration_seconds_bucket{balancer="a",le="1e-07"} 0`,
		`poise_decision_duration_seconds_bucket{balancer="a",le="2.5e-06"} 0`,
		`poise_attempt_duration_seconds_bucket{balancer="a",le="0.025"} 1`,
		`poise_attempts_total{balancer="` + escaped + `",kind="success"} 12`,
		`poise_attempt_duration_seconds_bucket{balancer="` + escaped + `",le="0.001"} 12`,
		`poise_attempt_duration_seconds_count{balancer="` + escaped + `"} 12`,
		`poise_retries_total{balancer="a"} 0`,
	} {
		if n := strings.Count("\n"+text, "\n"+line+"\n"); n != 1 {
			t.Errorf("%q stands there %d times", line, n)
		}
	}
	if strings.Contains(text, "absent") {
		t.Error("a Metrics that is not there is written")
	}
	if again := string(observe.AppendText([]byte("before\n"), of)); again != text {
		t.Error("equal counts give another text")
	}
	if alone := string(observe.AppendText(nil, map[string]*observe.Metrics{"": a})); !strings.Contains(alone, "\npoise_retries_total 0\n") ||
		!strings.Contains(alone, "\npoise_decisions_total{kind=\"selected\"} 1\n") || strings.Contains(alone, "balancer") {
		t.Errorf("a Metrics without a name is written so:\n%s", alone)
	}
}

// Every number of a Snapshot is in the text, and no other.
func TestAppendText_AddsUp(t *testing.T) {
	m := new(observe.Metrics)
	text := string(observe.AppendText(nil, map[string]*observe.Metrics{"": m}))
	lines := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	want := 2 * (11 + 2)
	for c := range m.Snapshot().Counts() {
		want++
		name := "poise_" + c.Name
		if !c.Level {
			name += "_total"
		}
		label := ""
		if c.Label != "" {
			label = fmt.Sprintf(`{%s="%s"}`, c.Label, strings.ReplaceAll(c.Value, " ", "_"))
		}
		if !strings.Contains(text, "\n"+name+label+" 0\n") {
			t.Errorf("%s%s is not written", name, label)
		}
	}
	if lines != want {
		t.Errorf("%d numbers are written, want %d", lines, want)
	}
}
