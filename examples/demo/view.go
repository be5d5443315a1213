package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
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
func (t *trial) picture(states []dispatch.EndpointState, latencies int) picture {
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	p := picture{
		policy: t.settings.policy.name, seed: t.settings.seed,
		elapsed: time.Since(t.began), duration: t.settings.duration,
		begun: t.traffic.begun.Load(), requests: t.settings.requests,
		endings: t.tally.endings, retries: t.tally.retries, notes: t.notes,
	}
	for i, s := range states {
		counted := t.tally.backends[s.ID]
		r := row{
			Name: s.ID, Role: t.backends[i].role, State: s.Reason.String(), inFlight: s.InFlight,
			Attempts: len(counted.attempts), Errors: counted.errors,
			P50: milliseconds(quantile(last(counted.latencies, latencies), 0.50)),
			P99: milliseconds(quantile(last(counted.latencies, latencies), 0.99)),
		}
		if t.tally.attempts > 0 {
			r.Share = float64(len(counted.attempts)) / float64(t.tally.attempts)
		}
		p.rows = append(p.rows, r)
	}
	return p
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

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

// table draws the backends: one line each, as wide as the style allows, and a line
// of totals.
func (s style) table(p picture, rows int) string {
	names, roles, states := len("backend"), 0, len("set aside")
	largest := 0.0
	for _, r := range p.rows {
		names = max(names, min(utf8.RuneCountInString(r.Name), 24))
		roles = max(roles, utf8.RuneCountInString(r.Role))
		states = max(states, len(stateName(r.State)))
		largest = max(largest, r.Share)
	}
	if roles > 0 {
		roles += 2
	}
	line := func(name, role, state, inFlight, errors, p50, p99, share string) string {
		return fmt.Sprintf(" %-*s%-*s  %-*s %6s %6s %6s %6s %6s ",
			names, clip(name, names), roles, prefixed("  ", role), states, state, inFlight, errors, p50, p99, share)
	}
	var b strings.Builder
	head := line("", "", "", "in", "", "p50", "p99", "")
	b.WriteString(s.in(faint, strings.TrimRight(head, " ")) + "\n")
	head = line("backend", "does", "state", "flight", "errors", "ms", "ms", "share")
	if roles == 0 {
		head = line("backend", "", "state", "flight", "errors", "ms", "ms", "share")
	}
	b.WriteString(s.in(faint, strings.TrimRight(head, " ")) + "\n")
	space := max(s.width-utf8.RuneCountInString(head)-1, 0)
	for i, r := range p.rows {
		if i == rows && len(p.rows) > rows {
			fmt.Fprintf(&b, " and %d more\n", len(p.rows)-rows)
			break
		}
		text := line(r.Name, r.Role, "\x00", strconv.FormatUint(r.inFlight, 10), blankZero(r.Errors),
			figure(r.P50), figure(r.P99), percent(r.Share))
		// The state is coloured by itself; its width is that of the text alone.
		text = strings.Replace(text, fmt.Sprintf("%-*s", states, "\x00"), s.in(stateColour(r.State), stateName(r.State))+
			strings.Repeat(" ", states-len(stateName(r.State))), 1)
		if largest > 0 {
			text += s.in(cyan, s.bar(r.Share/largest, space))
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// stateName is the library's reason for leaving a backend out, or ready.
func stateName(state string) string {
	if state == "eligible" {
		return "ready"
	}
	return state
}

func stateColour(state string) string {
	switch state {
	case "eligible":
		return green
	case "draining":
		return cyan
	}
	return yellow
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-2]) + ".."
	}
	return text
}

func blankZero(n int) string {
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

// totals says how the requests ended so far, in one line.
func (p picture) totals() string {
	responses := p.endings[answered] + p.endings[tornOff]
	text := fmt.Sprintf("%s of %s sent, %s answered", count(p.begun), count(p.requests), count(responses))
	if torn := p.endings[tornOff]; torn > 0 {
		text += fmt.Sprintf(" (%s broke off)", count(torn))
	}
	return text + fmt.Sprintf(", %s errors, %s retries", count(p.endings[typedError]+p.endings[otherEnding]), count(p.retries))
}

const (
	liveRows  = 12
	liveNotes = 5
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
	b.WriteString("\n " + p.totals() + "\n\n")
	for i := range liveNotes {
		if at := len(p.notes) - liveNotes + i; at >= 0 {
			b.WriteString(" " + p.notes[at].line(s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (n note) line(s style) string {
	return s.in(faint, fmt.Sprintf("%5.1f s", n.at.Seconds())) + "  " + n.text
}

// screen shows a run as it goes: on a terminal by drawing over the last picture,
// elsewhere by lines about once a second.
type screen struct {
	out   io.Writer
	live  bool
	style style

	next  time.Time // when the next picture is due
	drawn int       // lines of the last one

	// Without a terminal: the notes that were printed, and the last second that was
	// reported.
	noted, second int
}

// showEvery is how often pictures are due.
const showEvery = 100 * time.Millisecond

// newScreen returns the screen of an output. The environment may refuse colours
// (NO_COLOR), redrawing (TERM=dumb), and tell the width (COLUMNS).
func newScreen(out io.Writer, env func(string) string) *screen {
	terminal := isTerminal(out) && env("TERM") != "dumb" && env("TERM") != ""
	s := &screen{out: out, live: terminal, style: style{width: 80}}
	s.style.colour = terminal && env("NO_COLOR") == ""
	if columns, err := strconv.Atoi(env("COLUMNS")); err == nil && columns > 0 {
		s.style.width = min(max(columns, 60), 140)
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := env(name); locale != "" {
			s.style.blocks = strings.Contains(strings.ReplaceAll(strings.ToUpper(locale), "-", ""), "UTF8")
			break
		}
	}
	return s
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l" // a narrow terminal cuts lines rather than breaking the picture
	wrap       = "\x1b[?7h"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// due reports whether it is time for another picture.
func (s *screen) due() bool {
	now := time.Now()
	if now.Before(s.next) {
		return false
	}
	s.next = now.Add(showEvery)
	return true
}

// draw shows a picture.
func (s *screen) draw(p picture) {
	if !s.live {
		s.print(p)
		return
	}
	var b strings.Builder
	b.WriteString(hideCursor + noWrap)
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	frame := s.style.frame(p)
	b.WriteString("\r" + strings.ReplaceAll(frame, "\n", clearLine+"\n"))
	s.drawn = strings.Count(frame, "\n")
	_, _ = io.WriteString(s.out, b.String())
}

// print writes plain lines: what is new, and how far it is once a second.
func (s *screen) print(p picture) {
	for _, n := range p.notes[s.noted:] {
		fmt.Fprintln(s.out, n.line(s.style))
	}
	s.noted = len(p.notes)
	if second := int(p.elapsed / time.Second); second > s.second {
		s.second = second
		fmt.Fprintf(s.out, "%5.1f s  %s\n", p.elapsed.Seconds(), p.totals())
	}
}

// close takes the live picture away, for the summary to take its place.
func (s *screen) close() {
	if s.drawn == 0 {
		return
	}
	fmt.Fprintf(s.out, "\x1b[%dA\r%s%s%s", s.drawn, clearBelow, wrap, showCursor)
	s.drawn = 0
}
