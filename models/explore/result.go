//go:build interleave

package explore

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// result is what one exploration saw.
type result struct {
	executions int // judged to the end
	redundant  int // found to be equivalent to an earlier one, and left unjudged
	steps      int // of the longest execution
	unjudged   int // states in which a predicate met a held lock
	outcomes   map[string]int
	example    string                 // the schedule of the execution in which the last new outcome was seen
	histories  map[string]seq.History // nil unless they are asked for
	failures   map[string]failure     // by verdict
	sometimes  []bool
	exhausted  bool // nothing was left to try
	stopped    bool
	refused    refusal
	elapsed    time.Duration
}

// failure is the first execution that earned a verdict.
type failure struct {
	verdict, detail string
	schedule        string // its decisions
}

// fail notes a verdict about the execution as it is now.
func (e *engine) fail(verdict, detail string) {
	if _, known := e.seen.failures[verdict]; !known {
		e.seen.failures[verdict] = failure{verdict, detail, encode(e.path[:min(e.at, len(e.path))])}
	}
	if e.stopAt == verdict || e.stopAt == "any" {
		e.seen.stopped, e.ended = true, true
	}
}

func (e *engine) deadlock() {
	var waits []string
	for _, t := range e.tasks {
		if !t.done {
			waits = append(waits, fmt.Sprintf("%s waits at %s %s", t.name, opName(t.pending.op), t.where))
		}
	}
	e.fail("deadlock", strings.Join(waits, "; "))
	e.ended = true
}

// diverged refuses a model that did something else under the same decisions.
func (e *engine) diverged() {
	e.refuse("the model is not deterministic: decision %d came out differently under the same decisions before it; task %s is at\n%s",
		e.at, e.current.name, debug.Stack())
}

// leaked refuses a model that leaves goroutines behind.
func (e *engine) leaked(before int) {
	for range 2000 { // one that is about to end may do so
		if <-time.After(time.Millisecond); runtime.NumGoroutine()-e.launched() <= before {
			return
		}
	}
	e.refuse("the model leaves a goroutine behind; the goroutines that explore did not make:\n%s", strangers())
}

// conclude judges an execution in which every task has ended.
func (e *engine) conclude() {
	switch {
	case e.again || e.seen.refused != "":
		return
	case e.draining:
		e.seen.redundant++
		return
	}
	e.seen.executions++
	e.seen.steps = max(e.seen.steps, e.at)
	if e.ended || raceBuild {
		return
	}
	if e.at < e.prefix {
		e.diverged()
		return
	}
	if e.spec != nil && !seq.Check(e.spec, e.run.History) {
		e.fail("history", "not allowed by the specification "+e.spec.Name()+":\n"+e.run.History.String())
	}
	if e.seen.histories != nil {
		e.seen.note(e.run.History)
	}
	if e.final != nil {
		if err := e.final(e.state, &e.run); err != nil {
			e.fail("final", err.Error())
		}
	}
	if e.outcome != nil {
		outcome := e.outcome(e.state, &e.run)
		if e.seen.outcomes[outcome]++; e.seen.outcomes[outcome] == 1 {
			e.seen.example = encode(e.path[:min(e.at, len(e.path))])
		}
	}
}

// patience is for how long an execution may make no progress before it counts as
// stuck on something that is not a step.
var patience = 20 * time.Second

// watch ends the process with the stack of a task that is stuck: on a channel, a
// plain lock, a timer or an endless loop without a step, none of which the
// explorer can see. The returned function ends the watch.
func (e *engine) watch() (stop func()) {
	over, out := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(out)
		tick := time.NewTicker(patience)
		defer tick.Stop()
		for last := e.beat.Load(); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			now := e.beat.Load()
			if now == last {
				fmt.Fprintf(os.Stderr, "explore: model %s is stuck on something that is not a hooked operation; its stack:\n%s\n", e.name, stuck())
				os.Exit(2)
			}
			last = now
		}
	}()
	return func() { close(over); <-out }
}

func stacks() []string {
	buf := make([]byte, 1<<20)
	return strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
}

// stuck returns the stacks in which a task's body is running.
func stuck() string {
	var found []string
	for _, s := range stacks() {
		head, _, _ := strings.Cut(s, "\n")
		if strings.Contains(s, "explore.(*task).runBody") && !strings.Contains(head, "coroutine") {
			found = append(found, s)
		}
	}
	return strings.Join(found, "\n\n")
}

// strangers returns the stacks of goroutines that neither the engine nor the
// testing package made.
func strangers() string {
	var found []string
	for _, s := range stacks() {
		if !strings.Contains(s, "explore.(*engine)") && !strings.Contains(s, "explore.(*task).loop") && !strings.Contains(s, "testing.") {
			found = append(found, s)
		}
	}
	return strings.Join(found, "\n\n")
}
