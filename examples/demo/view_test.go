package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden texts again")

// somePicture is of a run in its middle, with every kind of row.
func somePicture() picture {
	return picture{
		policy: "power-of-two-choices", seed: 1, elapsed: 4200 * time.Millisecond, duration: 10 * time.Second,
		begun: 2497, requests: 6000, endings: [endings]int{answered: 2443, tornOff: 37, typedError: 7}, retries: 28,
		rows: []row{
			{"fast-1", "3 ms", "ready", 468, 0.184, 0, 3.7, 18.8, 1},
			{"slow", "60 ms", "ready", 132, 0.052, 0, 63.2, 259, 12},
			{"torn", "4 ms, resets", "ready", 453, 0.178, 37, 4.8, 9.94, 1},
			{"drained", "4 ms, drained", "draining", 295, 0.116, 0, 4.9, 9.96, 0},
			{"hanging", "never answers", "ejected", 23, 0.009, 1023, 501, 10528, 104},
			{"new", "", "unavailable", 0, 0, 0, 0, 0, 0},
			{"leaving", "4 ms, leaves", "left", 201, 0.079, 0, 4.8, 9.9, 0},
		},
		notes: []note{
			{100 * time.Millisecond, "the first note is long gone"},
			{2800 * time.Millisecond, "hanging is ejected: its last calls failed"},
			{3 * time.Second, "drained is draining: its calls may end, it gets no new ones"},
			{3900 * time.Millisecond, "hanging is back"},
			{4 * time.Second, "killed is killed: its listener and its connections close"},
			{4100 * time.Millisecond, "killed is ejected: its last calls failed"},
		},
	}
}

func someReport() report {
	p := somePicture()
	p.begun = 6000
	return report{
		Policy: p.policy, Seconds: 10.04, Requests: 6000, Responses: 5993, Errors: 7, Retries: 28,
		Backends: p.rows, picture: p, kind: looksAtLoad,
		latencies: []time.Duration{4 * time.Millisecond, 5 * time.Millisecond, 62 * time.Millisecond},
		causes:    map[string]int{"connection refused": 2, "dispatch: no response header within the attempt timeout": 4, "EOF": 1},
		Decisions: []string{"a retry: GET 272, attempt 2\nPowerOfTwoChoices chose fast-1: tie of two\n  then status 200 after 3.4 ms: success"},
		Promises:  judge(soundEvidence()),
	}
}

func TestView_LooksAsItLooked(t *testing.T) {
	own := somePicture()
	for i := range own.rows {
		own.rows[i].Role = ""
		own.rows[i].Name = fmt.Sprintf("backend-%d.service.example.internal:8080", i)
	}
	own.rows = append(own.rows, own.rows...)
	own.rows = append(own.rows, own.rows[:1]...)
	broken := someReport()
	broken.Promises[1].Held, broken.Promises[1].Detail = false, "POST 17 began 2 times: at fast-1, slow"
	broken.untried = broken.Promises[7:]
	broken.Promises = broken.Promises[:7]
	early := picture{policy: "random", seed: 7, requests: 100, rows: somePicture().rows[5:6]}

	for _, golden := range []struct{ name, text string }{
		{"frame", style{width: 80, blocks: true}.frame(somePicture())},
		{"frame_ascii", style{width: 80}.frame(somePicture())},
		{"frame_wide", style{width: 120, blocks: true}.frame(somePicture())},
		{"frame_own", style{width: 80}.frame(own)},
		{"frame_early", style{width: 80}.frame(early)},
		{"summary", someReport().text(style{width: 80, blocks: true})},
		{"summary_broken", broken.text(style{width: 80})},
	} {
		t.Run(golden.name, func(t *testing.T) {
			file := filepath.Join("testdata", golden.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(golden.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if golden.text != string(want) {
				t.Errorf("got\n%s\nwant\n%s\nif that is better, run go test ./examples/demo -update", golden.text, want)
			}
			width := 80
			if strings.HasSuffix(golden.name, "wide") {
				width = 120
			}
			for line := range strings.Lines(golden.text) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > width || strings.TrimRight(line, " ") != line || strings.Contains(line, "\x1b") {
					t.Errorf("too wide, trailing space or control characters: %q", line)
				}
			}
		})
	}
}

var colours = regexp.MustCompile(`\x1b\[\d+m`)

func TestView_ColoursChangeNothingButColour(t *testing.T) {
	plain, coloured := style{width: 80, blocks: true}, style{width: 80, blocks: true, colour: true}
	if got := coloured.frame(somePicture()); got == plain.frame(somePicture()) || colours.ReplaceAllString(got, "") != plain.frame(somePicture()) {
		t.Error("frame: " + got)
	}
	if got := coloured.text(); colours.ReplaceAllString(got, "") != plain.text() {
		t.Error("summary: " + got)
	}
}

func (s style) text() string { return someReport().text(s) }

func TestScreen_RedrawsInPlaceAndCleansUp(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, live: true, style: style{width: 80}}
	s.draw(somePicture())
	first := out.String()
	lines := strings.Count(first, "\n")
	out.Reset()
	s.draw(somePicture())
	if second := out.String(); !strings.Contains(second, fmt.Sprintf("\x1b[%dA\r", lines)) || strings.Count(second, clearLine) != lines {
		t.Errorf("%q", second)
	}
	out.Reset()
	s.close()
	if got := out.String(); got != fmt.Sprintf("\x1b[%dA\r", lines)+clearBelow+wrap+showCursor {
		t.Errorf("%q", got)
	}
	out.Reset()
	s.close()
	if out.Len() > 0 {
		t.Errorf("a second close writes %q", out.String())
	}
}

func TestScreen_WithoutATerminalPrintsEachNoteOnceAndALineASecond(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, style: style{width: 80}}
	p := somePicture()
	for p.elapsed = 900 * time.Millisecond; p.elapsed < 3*time.Second; p.elapsed += 100 * time.Millisecond {
		s.draw(p)
	}
	s.close()
	if notes := strings.Count(out.String(), "drained is draining"); notes != 1 {
		t.Errorf("%d times the same note", notes)
	}
	if lines := strings.Count(out.String(), "2,497 of 6,000 sent"); lines != 2 {
		t.Errorf("%d lines in two seconds\n%s", lines, out.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("control characters")
	}
}

func TestScreen_PrintsNoLineWiderThanItIs(t *testing.T) {
	for _, n := range []int{6000, maxRequests} {
		p := somePicture()
		p.begun, p.requests, p.retries, p.elapsed = uint64(n), n, 2*n, time.Hour
		p.endings = [endings]int{answered: n, tornOff: n, typedError: n}
		p.notes = append(p.notes, note{time.Hour, strings.Repeat("very-long-name.", 10) + ":8080 is back"})
		var out bytes.Buffer
		narrow := style{width: 80}
		(&screen{out: &out, style: narrow}).draw(p)
		for line := range strings.Lines(out.String() + narrow.frame(p)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
	p := somePicture()
	for width, want := range map[int]string{
		80: "2,497 of 6,000 sent, 2,480 answered (37 broke off), 7 errors, 28 retries",
		71: "2,497 of 6,000 sent, 2,480 answered, 7 errors, 28 retries",
	} {
		if got := p.totals(width); got != want {
			t.Errorf("in %d columns: %s", width, got)
		}
	}
}

func TestView_KnowsOneFromMany(t *testing.T) {
	p := picture{begun: 1, requests: 1, retries: 1, endings: [endings]int{typedError: 1}}
	if got := p.totals(80); got != "1 of 1 sent, 0 answered, 1 error, 1 retry" {
		t.Error(got)
	}
	e := evidence{begun: 1, endpoints: 1, endings: [endings]int{answered: 1}, held: map[string]uint64{}}
	var on []string
	for _, p := range judge(e) {
		on = append(on, p.on)
	}
	if got := strings.Join(on, "; "); got != "1 request; 0 POSTs; 0 of them, 0 began after; seen so 0 times; 0 servers; 1 endpoint; 1 endpoint; once all was closed" {
		t.Error(got)
	}
}

func TestNewScreen_DoesWhatTheEnvironmentAsksFor(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for _, c := range []struct {
		name  string
		env   map[string]string
		live  bool
		style style
	}{
		{"a terminal", map[string]string{"TERM": "xterm", "LANG": "en_US.UTF-8"}, true, style{80, true, true}},
		{"no colour", map[string]string{"TERM": "xterm", "LANG": "C.utf8", "NO_COLOR": "1"}, true, style{80, false, true}},
		{"a dumb terminal", map[string]string{"TERM": "dumb"}, false, style{80, false, false}},
		{"no terminal type", map[string]string{}, false, style{80, false, false}},
		{"LC_ALL wins over LANG", map[string]string{"TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C"}, true, style{80, true, false}},
		{"wide", map[string]string{"TERM": "xterm", "COLUMNS": "120"}, true, style{120, true, false}},
		{"very wide", map[string]string{"TERM": "xterm", "COLUMNS": "1000"}, true, style{140, true, false}},
		{"narrow", map[string]string{"TERM": "xterm", "COLUMNS": "20"}, true, style{60, true, false}},
		{"nonsense", map[string]string{"TERM": "xterm", "COLUMNS": "wide"}, true, style{80, true, false}},
	} {
		s := newScreen(device, func(name string) string { return c.env[name] })
		if s.live != c.live || s.style != c.style {
			t.Errorf("%s: live %v, style %+v", c.name, s.live, s.style)
		}
	}
	if s := newScreen(new(bytes.Buffer), func(string) string { return "xterm" }); s.live {
		t.Error("a buffer is taken for a terminal")
	}
}

func TestQuantile_IsTheNearestRank(t *testing.T) {
	values := []time.Duration{50, 10, 40, 20, 30}
	for q, want := range map[float64]time.Duration{0: 10, 0.2: 10, 0.21: 20, 0.5: 30, 0.8: 40, 0.99: 50, 1: 50} {
		if got := quantile(values, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("the quantile of nothing is not 0")
	}
	if values[0] != 50 {
		t.Error("quantile sorts its argument")
	}
}
