package sim

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The instants of the scenarios of the matrix.
const (
	matrixFault = 2 * time.Second
	matrixHeals = 12 * time.Second
)

// WriteMatrix writes the table of the book from the results of the matrix scenarios:
// a row for each fault, fleet and policy, and one for plain rotation.
func WriteMatrix(out io.Writer, results []Result) error {
	fmt.Fprintln(out, "| Fault | Failing | Balancer | Failed in the first 2 s | Failed after that | Noticed | Back |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	last := ""
	for _, r := range results {
		fault, fleet := matrixNames(r.Scenario)
		if name := r.Scenario.Name; name != last {
			last = name
			if err := matrixRow(out, r.Scenario, fault, fleet, "plain rotation", r.Records["rotation"]); err != nil {
				return err
			}
		}
		if err := matrixRow(out, r.Scenario, "", "", r.Policy, r.Records[judged]); err != nil {
			return err
		}
	}
	return nil
}

// matrixNames reads the fault and the fleet off the scenario.
func matrixNames(s *Scenario) (fault, fleet string) {
	_, fault, _ = strings.Cut(s.Title, ": ")
	for _, e := range s.Events {
		if e.Servers != nil {
			return fault, fmt.Sprintf("%d of %d", len(e.Servers), len(s.Servers))
		}
	}
	return fault, fmt.Sprintf("of %d", len(s.Servers))
}

func matrixRow(out io.Writer, s *Scenario, fault, fleet, balancer string, r *Record) error {
	first := Must{From: []Mark{{At: matrixFault}}, To: []Mark{{At: matrixFault + 2*time.Second}}}
	later := Must{From: first.To, To: []Mark{{At: matrixHeals}}}
	failed := func(m Must) string {
		w := s.window(&m)
		return fmt.Sprintf("%s / %s",
			percent(r.classes(&r.failed, Get, w), r.classes(&r.calls, Get, w)),
			percent(r.classes(&r.failed, Post, w), r.classes(&r.calls, Post, w)))
	}
	var servers []int
	for _, e := range s.Events {
		if e.Servers != nil {
			servers = e.Servers
			break
		}
	}
	during := window{int(matrixFault / bucketWidth), int(matrixHeals / bucketWidth)}
	after := window{during.to, int(s.Length / bucketWidth)}
	_, err := fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", fault, fleet, balancer, failed(first), failed(later),
		turningText(r.turning(Notice, servers, during, len(s.Servers)), during),
		turningText(r.turning(Return, servers, after, len(s.Servers)), after))
	return err
}

// percent writes a part with as many digits as say something.
func percent(value, of float64) string {
	p := 100 * ratio(value, of)
	switch {
	case p == 0:
		return "0"
	case p < 0.01:
		return "<0.01"
	case p < 1:
		return fmt.Sprintf("%.2f", p)
	case p < 10:
		return fmt.Sprintf("%.1f", p)
	}
	return fmt.Sprintf("%.0f", p)
}

// turningText writes a time, or that it did not come to it within the window.
func turningText(seconds float64, w window) string {
	switch whole := float64(w.to-w.from) * bucketWidth.Seconds(); {
	case seconds <= 0:
		return "at once"
	case seconds > whole-0.5:
		return "–"
	}
	return fmt.Sprintf("%.1f s", seconds)
}
