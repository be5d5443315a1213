package tlc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Verdict is what a run of TLC ended with.
type Verdict string

// The verdicts. Everything else, such as a module that does not parse, is Broken.
const (
	Success  Verdict = "success"
	Deadlock Verdict = "deadlock"
	// Safety: an invariant, or a property of single steps, is violated.
	Safety Verdict = "safety"
	// Liveness: a temporal property is violated.
	Liveness Verdict = "liveness"
	Broken   Verdict = "broken"
)

// Result is what one run of TLC said.
type Result struct {
	_       struct{}
	Version string // of TLC
	Verdict Verdict
	// Violated names the violated invariant or step property. TLC does not say
	// which temporal property is violated.
	Violated string
	// Initial, Generated and Distinct count states; Depth is the length of the
	// longest shortest path.
	Initial, Generated, Distinct, Depth int
	// Taken is how often each action led to a state, seen before or not.
	Taken map[string]int
	// Warnings are TLC's warnings, but for the one about its garbage collector.
	Warnings []string
	// Complaints are its errors.
	Complaints []string
	// Trace is the behaviour that leads to the violation, as TLC prints it.
	Trace string
	// Said is all that it printed.
	Said string
	// Dot is the dumped state graph, if one was asked for.
	Dot  string
	Took time.Duration
}

// The numbers of TLC's messages, as -tool prints them; the same from 1.7.0 on.
const (
	sayVersion           = 2262
	sayCollector         = 2401
	sayInitial           = 2190
	sayInitialViolated   = 2107
	sayInvariantViolated = 2110
	sayStepViolated      = 2112
	sayTemporalViolated  = 2116
	sayDeadlock          = 2114
	sayState             = 2217
	sayStuttering        = 2218
	sayBackToState       = 2122
	sayCounts            = 2199
	sayDepth             = 2194
	sayAction            = 2772
)

// Classes of messages.
const (
	classError   = 1
	classWarning = 3
)

var (
	messageStart = regexp.MustCompile(`^@!@!@STARTMSG (\d+):(\d+) @!@!@$`)
	versionText  = regexp.MustCompile(`Version (.+)`)
	initialText  = regexp.MustCompile(`: ([\d,]+) distinct`)
	invariant    = regexp.MustCompile(`Invariant (\S+) is violated`)
	stepProperty = regexp.MustCompile(`property (\S+) is violated`)
	countsText   = regexp.MustCompile(`^([\d,]+) states generated, ([\d,]+) distinct`)
	depthText    = regexp.MustCompile(`search is ([\d,]+)`)
	actionText   = regexp.MustCompile(`^<(\w+) .*>: ([\d,]+):([\d,]+)`)
)

// exits are TLC's exit codes that are verdicts; see EC.ExitStatus in its source.
var exits = map[int]Verdict{0: Success, 11: Deadlock, 12: Safety, 13: Liveness}

// Read reads what TLC printed with -tool, and its exit code.
func Read(output string, exit int) Result {
	r := Result{Verdict: Broken, Taken: map[string]int{}}
	if v, known := exits[exit]; known {
		r.Verdict = v
	}
	counted := false
	for _, m := range messages(output) {
		switch m.code {
		case sayVersion:
			r.Version = first(versionText, m.text)
		case sayInitial:
			r.Initial = number(first(initialText, m.text))
		case sayInvariantViolated, sayInitialViolated:
			r.Violated = first(invariant, m.text)
		case sayStepViolated:
			// One exit code serves both kinds of property.
			r.Verdict, r.Violated = Safety, first(stepProperty, m.text)
		case sayState, sayStuttering, sayBackToState:
			r.Trace += m.text + "\n"
		case sayCounts:
			if found := countsText.FindStringSubmatch(m.text); found != nil {
				r.Generated, r.Distinct, counted = number(found[1]), number(found[2]), true
			}
		case sayDepth:
			r.Depth = number(first(depthText, m.text))
		case sayAction:
			// Interim statistics come first and are overwritten by the last ones.
			if found := actionText.FindStringSubmatch(m.text); found != nil {
				r.Taken[found[1]] = number(found[3])
			}
		}
		switch {
		case m.class == classWarning && m.code != sayCollector:
			r.Warnings = append(r.Warnings, m.text)
		case m.class == classError:
			r.Complaints = append(r.Complaints, m.text)
		}
	}
	if r.Verdict == Success && !counted {
		r.Verdict = Broken
		r.Complaints = append(r.Complaints, "TLC ended without its final counts")
	}
	if r.Verdict == Broken && len(r.Complaints) == 0 {
		r.Complaints = append(r.Complaints, fmt.Sprintf("exit code %d: %s", exit, lastLines(output, 5)))
	}
	return r
}

type message struct {
	code, class int
	text        string
}

// messages splits the output into its bracketed messages.
func messages(output string) (all []message) {
	open := -1
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if m := messageStart.FindStringSubmatch(line); m != nil {
			open = len(all)
			all = append(all, message{code: number(m[1]), class: number(m[2])})
			continue
		}
		switch {
		case strings.HasPrefix(line, "@!@!@ENDMSG"):
			if open >= 0 {
				all[open].text = strings.TrimSpace(all[open].text)
			}
			open = -1
		case open >= 0:
			all[open].text += line + "\n"
		}
	}
	return all
}

func first(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// number reads a count with or without separators; 0 where there is none.
func number(text string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	return n
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
