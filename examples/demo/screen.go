package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

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
		fmt.Fprintln(s.out, n.line(s.style, s.style.width))
	}
	s.noted = len(p.notes)
	if second := int(p.elapsed / time.Second); second > s.second {
		s.second = second
		at := fmt.Sprintf("%5.1f s  ", p.elapsed.Seconds())
		fmt.Fprintln(s.out, at+clip(p.line(""), s.style.width-len(at)))
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
