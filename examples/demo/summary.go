package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// report is what a run comes to. Its JSON is what -json writes.
type report struct {
	Policy    string    `json:"policy"`
	Seconds   float64   `json:"seconds"`
	Requests  uint64    `json:"requests"`  // given to the client
	Responses int       `json:"responses"` // answered, whatever the status code
	Errors    int       `json:"errors"`    // ended with a typed error
	Retries   int       `json:"retries"`
	Promises  []promise `json:"promises"`
	Backends  []row     `json:"backends"`
	Decisions []string  `json:"decisions"` // some attempts, explained

	picture     picture
	kind        policyKind
	latencies   []time.Duration // of whole requests that were answered
	causes      map[string]int  // of the errors
	untried     []promise       // those there was nothing to check on
	interrupted bool
}

// report sums the run up.
func (t *check) report(states []poisehttp.EndpointState, e evidence, took time.Duration, interrupted bool) report {
	p := t.picture(states, math.MaxInt)
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	r := report{
		Policy: p.policy, Seconds: took.Seconds(), Requests: p.begun,
		Responses: p.endings[answered] + p.endings[tornOff], Errors: p.endings[typedError], Retries: p.retries,
		Backends: p.rows, picture: p, kind: t.settings.policy.kind,
		latencies: t.tally.latencies, causes: maps.Clone(t.tally.causes), interrupted: interrupted,
	}
	for _, promise := range judge(e) {
		if promise.tried {
			r.Promises = append(r.Promises, promise)
		} else {
			r.untried = append(r.untried, promise)
		}
	}
	for _, x := range t.tally.exhibits {
		if x != nil {
			r.Decisions = append(r.Decisions, x.text())
		}
	}
	return r
}

// text explains one attempt: the library's reasons for it, and what came of it.
func (x *exhibit) text() string {
	e := x.event
	came := fmt.Sprintf("status %d", e.Status)
	result := e.Result
	if e.Late.Err != nil {
		result = e.Late
	}
	if result.Err != nil {
		came = innermost(result.Err).Error()
	}
	return fmt.Sprintf("%s: %s %d, attempt %d\n%s\n  then %s after %s ms: %s", x.title, e.Request.Method, x.number,
		e.Attempt, x.decision, came, figure(milliseconds(e.Total)), result.Outcome)
}

func (r report) broken() []promise {
	var broken []promise
	for _, p := range r.Promises {
		if !p.Held {
			broken = append(broken, p)
		}
	}
	return broken
}

// text is the report for people.
func (r report) text(s style) string {
	var b strings.Builder
	p := r.picture
	fmt.Fprintf(&b, "\n%s\n\n", s.in(bold, fmt.Sprintf(" Poise demo   %s, seed %d   %.1f s", p.policy, p.seed, r.Seconds)))
	b.WriteString(s.table(p, len(p.rows)))
	fmt.Fprintf(&b, "\n %s\n", p.totals(s.width-1))
	if len(r.latencies) > 0 {
		fmt.Fprintf(&b, " for the caller, retries included: p50 %s ms, p99 %s ms\n",
			figure(milliseconds(quantile(r.latencies, 0.50))), figure(milliseconds(quantile(r.latencies, 0.99))))
	}
	if r.Responses == 0 && r.Requests > 0 {
		fmt.Fprintf(&b, " %s\n", s.in(yellow, "no backend answered a single request"))
	}
	if len(r.causes) > 0 {
		b.WriteString(" the errors came from:\n")
	}
	for _, cause := range mostFrequent(r.causes, 3) {
		fmt.Fprintf(&b, " %6s  %s\n", count(r.causes[cause]), clip(cause, s.width-10))
	}
	if look := r.whatToLookAt(); look != "" {
		fmt.Fprintf(&b, "\n%s\n", wrapped(s.in(bold, " Look at")+" ", look, s.width))
	}
	if len(r.Decisions) > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.in(bold, " Why there?"))
		for _, d := range r.Decisions {
			fmt.Fprintf(&b, " %s\n", strings.ReplaceAll(d, "\n", "\n   "))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", s.in(bold, " Promises"))
	for _, p := range r.Promises {
		if p.Held {
			fmt.Fprintf(&b, " %s    %s %s\n", s.in(green, "held"), p.Name, s.in(faint, "("+p.on+")"))
		} else {
			fmt.Fprintf(&b, " %s  %s\n         %s\n", s.in(red, "BROKEN"), p.Name, p.Detail)
		}
	}
	for _, p := range r.untried {
		fmt.Fprintf(&b, " %s %s\n", s.in(faint, "untried"), s.in(faint, p.Name))
	}
	switch broken := r.broken(); {
	case len(broken) > 0:
		fmt.Fprintf(&b, "\n %s\n", s.in(red, fmt.Sprintf("%d of %d promises broken.", len(broken), len(r.Promises))))
	case r.interrupted:
		fmt.Fprintf(&b, "\n Interrupted. %s held so far.\n", counted(len(r.Promises), "promise"))
	default:
		fmt.Fprintf(&b, "\n %s\n", s.in(green, fmt.Sprintf("All %d promises held.", len(r.Promises))))
	}
	return b.String()
}

// whatToLookAt compares the slowest and the fastest of the backends that worked,
// and says what the policy made of it.
func (r report) whatToLookAt() string {
	var fast, slow *row
	for i := range r.Backends {
		b := &r.Backends[i]
		if b.Attempts == 0 || b.Errors*10 > b.Attempts || b.State != ready {
			continue
		}
		if fast == nil || b.P50 < fast.P50 {
			fast = b
		}
		if slow == nil || b.P50 > slow.P50 {
			slow = b
		}
	}
	if fast == nil || slow == nil || slow.P50 < 2*fast.P50 {
		return ""
	}
	text := fmt.Sprintf("%s and %s: they need %s and %s ms, and got %s and %s of the traffic. ", slow.Name, fast.Name,
		figure(slow.P50), figure(fast.P50), percent(slow.Share), percent(fast.Share))
	switch r.kind {
	case looksAtLoad:
		return text + "What is slow holds its requests longer; the policy sees that load and goes elsewhere."
	case looksAtKey:
		return text + "The shares follow the keys, not the load: one user goes to one backend while that is eligible."
	}
	return text + "This policy does not look at load: compare the shares and the p99 with -policy power-of-two-choices."
}

// mostFrequent returns up to n of the names, those counted most often first.
func mostFrequent(counts map[string]int, n int) []string {
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	return names[:min(n, len(names))]
}

// wrapped breaks text after a head into lines of a width.
func wrapped(head, text string, width int) string {
	var b strings.Builder
	b.WriteString(head)
	column, indent := len(" Look at "), 1
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width-1:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// json is the report for programs.
func (r report) json() []byte {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // plain fields always encode
	}
	return append(b, '\n')
}
