package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// style is how text may look on this screen.
type style struct {
	width  int
	colour bool
	blocks bool // block elements may be used, and not only ASCII
}

// The colours, by the numbers that terminals know them by.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s style) in(colour, text string) string {
	if !s.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// bar draws a part of a width, in eighths of a column where the screen can.
func (s style) bar(part float64, width int) string {
	if !s.blocks {
		return strings.Repeat("#", int(part*float64(width)+0.5))
	}
	eighths := int(part*float64(width)*8 + 0.5)
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return bar
}

// table draws the backends, one line each, as wide as the style allows; at most so
// many of them.
func (s style) table(p picture, atMost int) string {
	names, roles, states := len("backend"), 0, len("unhealthy")
	largest := 0.0
	for _, r := range p.rows {
		names = max(names, min(utf8.RuneCountInString(r.Name), 24))
		roles = max(roles, len(r.Role))
		states = max(states, len(r.State))
		largest = max(largest, r.Share)
	}
	// The state comes last, and already padded: it may be coloured.
	line := func(name, role, inFlight, errors, p50, p99, share, state string) string {
		text := " " + pad(clip(name, names), names)
		if roles > 0 {
			text += "  " + pad(role, roles)
		}
		return fmt.Sprintf("%s  %s %6s %6s %6s %6s %6s ", text, state, inFlight, errors, p50, p99, share)
	}
	units := line("", "", "in", "", "p50", "p99", "", pad("", states))
	heads := line("backend", "does", "flight", "errors", "ms", "ms", "share", pad("state", states))
	bars := max(s.width-1-utf8.RuneCountInString(heads), 0)

	var b strings.Builder
	for _, head := range []string{units, heads} {
		b.WriteString(s.in(faint, strings.TrimRight(head, " ")) + "\n")
	}
	for _, r := range p.rows[:min(len(p.rows), atMost)] {
		state := s.in(stateColour(r.State), r.State) + pad("", states-len(r.State))
		text := line(r.Name, r.Role, count(r.inFlight), dashIfNone(r.Errors), figure(r.P50), figure(r.P99), percent(r.Share), state)
		if r.Share > 0 {
			text += s.in(cyan, s.bar(r.Share/largest, bars))
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	if more := len(p.rows) - atMost; more > 0 {
		fmt.Fprintf(&b, " and %d more\n", more)
	}
	return b.String()
}

// stateName is the library's reason for leaving a backend out, or ready.
func stateName(reason poise.Reason) string {
	if reason == poise.NotExcluded {
		return ready
	}
	return reason.String()
}

const (
	ready = "ready"
	left  = "left" // it is no member any more
)

func stateColour(state string) string {
	switch state {
	case ready:
		return green
	case poise.ExcludedDraining.String():
		return cyan
	case left:
		return faint
	}
	return yellow
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

func clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-2]) + ".."
	}
	return text
}

func dashIfNone(n int) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

// figure writes milliseconds with about two digits that count.
func figure(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 9.95:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

func percent(part float64) string { return fmt.Sprintf("%.1f%%", 100*part) }
