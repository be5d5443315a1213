package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// picture is a run at one moment, in figures.
type picture struct {
	policy            string
	seed              uint64
	elapsed, duration time.Duration
	begun             uint64
	requests          int
	endings           [endings]int
	retries           int
	rows              []row
	notes             []note
}

// row is one backend at that moment. Its JSON is that of the summary.
type row struct {
	Name     string  `json:"name"`
	Role     string  `json:"role"`
	State    string  `json:"state"`
	Attempts int     `json:"requests"` // that were sent here
	Share    float64 `json:"share"`    // of all attempts, 0 to 1
	Errors   int     `json:"errors"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`

	inFlight uint64
}

// picture puts the figures together; latencies are the last ones of each backend.
func (t *check) picture(states []poisehttp.EndpointState, latencies int) picture {
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	p := picture{
		policy: t.settings.policy.name, seed: t.settings.seed,
		elapsed: time.Since(t.began), duration: t.settings.duration,
		begun: t.traffic.begun.Load(), requests: t.settings.requests,
		endings: t.tally.endings, retries: t.tally.retries, notes: t.notes,
	}
	present := make(map[string]poisehttp.EndpointState, len(states))
	for _, s := range states {
		present[s.ID] = s
	}
	for _, name := range t.memberList.names {
		counted := t.tally.of(name)
		r := row{
			Name: name, Role: t.role(name), State: left,
			Attempts: len(counted.attempts), Errors: counted.errors,
			P50: milliseconds(quantile(last(counted.latencies, latencies), 0.50)),
			P99: milliseconds(quantile(last(counted.latencies, latencies), 0.99)),
		}
		if s, here := present[name]; here {
			r.State, r.inFlight = stateName(s.Reason), s.InFlight
		}
		if t.tally.attempts > 0 {
			r.Share = float64(len(counted.attempts)) / float64(t.tally.attempts)
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// role returns what a backend does; nothing is known of the user's own.
func (t *check) role(name string) string {
	for _, b := range t.backends {
		if b.name == name {
			return b.role
		}
	}
	return ""
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// totals says how the requests ended so far, in one line of that width.
func (p picture) totals(width int) string {
	if n := p.endings[tornOff]; n > 0 {
		if text := p.line(fmt.Sprintf(" (%s broke off)", count(n))); len(text) <= width {
			return text
		}
	}
	return clip(p.line(""), width)
}

// line is the line of totals, with what there is to say of the answers.
func (p picture) line(answers string) string {
	retries := count(p.retries) + " retries"
	if p.retries == 1 {
		retries = "1 retry"
	}
	return fmt.Sprintf("%s of %s sent, %s answered%s, %s, %s", count(p.begun), count(p.requests),
		count(p.endings[answered]+p.endings[tornOff]), answers, counted(p.endings[typedError]+p.endings[otherEnding], "error"), retries)
}

const (
	liveRows  = 11
	liveNotes = 4
)

// frame draws the live view.
func (s style) frame(p picture) string {
	var b strings.Builder
	part := float64(p.begun) / float64(p.requests)
	title := fmt.Sprintf(" Poise demo   %s, seed %d   %4.1f s ", p.policy, p.seed, p.elapsed.Seconds())
	width := max(s.width-len(title)-2, 0)
	bar := s.bar(part, width)
	rest := strings.Repeat(".", max(width-utf8.RuneCountInString(bar), 0))
	b.WriteString(s.in(bold, title) + s.in(green, bar) + s.in(faint, rest) + "\n\n")
	b.WriteString(s.table(p, liveRows))
	b.WriteString("\n " + p.totals(s.width-1) + "\n\n")
	for i := range liveNotes {
		if at := len(p.notes) - liveNotes + i; at >= 0 {
			b.WriteString(" " + p.notes[at].line(s, s.width-1))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (n note) line(s style, width int) string {
	at := fmt.Sprintf("%5.1f s", n.at.Seconds())
	return s.in(faint, at) + "  " + clip(n.text, width-len(at)-2)
}
