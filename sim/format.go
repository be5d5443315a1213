package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// String returns the scenario as text that Parse reads as an equal one, but for the
// lines of its musts.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "title     %s\n", s.Title)
	fmt.Fprintf(&b, "policies  %s\n", strings.Join(s.Policies, " "))
	fmt.Fprintf(&b, "seeds     %d\nlength    %v\nclients   %d\n", s.Seeds, s.Length, s.Clients)
	for i := 0; i < len(s.Servers); {
		n := 1
		for i+n < len(s.Servers) && s.Servers[i+n] == s.Servers[i] {
			n++
		}
		fmt.Fprintf(&b, "servers   %d%s\n", n, s.Servers[i].text())
		i += n
	}
	fmt.Fprintf(&b, "calls     %s\n", s.Calls.text())
	for _, e := range s.Events {
		fmt.Fprintf(&b, "at %-6v %s\n", e.At, e.text(len(s.Servers)))
	}
	for _, m := range s.Musts {
		fmt.Fprintf(&b, "must      %s\n", m.Text)
	}
	return b.String()
}

func (s Server) text() string {
	text := fmt.Sprintf(" cost %v delay %v", s.Cost, s.Delay)
	for _, one := range []struct {
		word  string
		value uint64
	}{
		{"concurrency", uint64(s.Concurrency)}, {"queue", uint64(s.Queue)}, {"weight", uint64(s.Weight)},
		{"priority", uint64(s.Priority)}, {"limit", s.Limit},
	} {
		if one.value != 0 {
			text += fmt.Sprintf(" %s %d", one.word, one.value)
		}
	}
	if s.ServeAbandoned {
		text += " serve-abandoned"
	}
	if s.Absent {
		text += " absent"
	}
	return text
}

// decimal writes a number so that it is read as the same.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (c Calls) text() string {
	text := fmt.Sprintf("%s/s gaps %v costs %v", decimal(c.Rate), c.Gaps, c.Costs)
	if c.Posts != 0 {
		text += " posts " + decimal(c.Posts)
	}
	if c.Marked != 0 {
		text += fmt.Sprintf(" marked %s status %d", decimal(c.Marked), c.MarkedStatus)
	}
	if c.Keys != 0 {
		text += fmt.Sprintf(" keys %d", c.Keys)
	}
	for _, one := range []struct {
		word  string
		value time.Duration
	}{{"deadline", c.Deadline}, {"attempt-timeout", c.AttemptTimeout}, {"body", c.Body}} {
		if one.value != 0 {
			text += fmt.Sprintf(" %s %v", one.word, one.value)
		}
	}
	return text
}

// selector writes which servers are meant. They are consecutive.
func selector(servers []int, all bool, n int) string {
	switch {
	case all:
		return "all"
	case len(servers) == 0:
		return "first 0"
	case len(servers) == 1:
		return fmt.Sprintf("server %d", servers[0])
	case servers[0] == 0:
		return fmt.Sprintf("first %d", len(servers))
	}
	return fmt.Sprintf("servers %d-%d", servers[0], slices.Max(servers))
}

func (e Event) text(n int) string {
	who := selector(e.Servers, e.All, n)
	switch e.Verb {
	case SetFault:
		return who + " " + e.Fault.text()
	case SetSlow:
		return fmt.Sprintf("%s slow %s", who, decimal(e.Number))
	case SetConcurrency:
		return fmt.Sprintf("%s concurrency %s", who, decimal(e.Number))
	case SetDelay:
		return fmt.Sprintf("%s delay %v", who, e.Duration)
	case SetWarm:
		return fmt.Sprintf("%s warm %s for %v", who, decimal(e.Number), e.Duration)
	case Restart:
		return fmt.Sprintf("%s restart %v", who, e.Duration)
	case Join:
		return who + " join"
	case Leave:
		return who + " leave"
	case Drain:
		return who + " drain"
	case SetLimit:
		return fmt.Sprintf("%s limit %s", who, decimal(e.Number))
	case SetWeight:
		return fmt.Sprintf("%s weight %s", who, decimal(e.Number))
	case SetRate:
		return fmt.Sprintf("rate %s/s", decimal(e.Number))
	case Pause:
		return fmt.Sprintf("pause %v", e.Duration)
	case StepClock:
		return fmt.Sprintf("clock %v", e.Duration)
	}
	return "?"
}

func (f Fault) text() string {
	text := f.Kind.String()
	if f.Kind == Answer {
		text += fmt.Sprintf(" %d", f.Status)
	}
	if f.After != 0 || f.Kind == Answer {
		text += fmt.Sprintf(" after %v", f.After)
	}
	if f.Probability != 0 {
		text += " probability " + decimal(f.Probability)
	}
	if f.RetryAfter != 0 {
		text += fmt.Sprintf(" retry-after %v", f.RetryAfter)
	}
	return text
}
