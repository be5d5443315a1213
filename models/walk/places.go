//go:build interleave

package walk

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// place is where a specification says that a call is: before an operation of one
// kind that the function makes itself or by a function that it calls, on behalf of
// another function, if one is named.
type place struct{ name, function, op, under string }

// place returns the name of the place that the running call has come to, if its
// pending operation is one, and notes the functions that it is in, the innermost
// first.
func (d *driver) place(t *task, op poise.SyncOp) (name string) {
	t.inside = functions()
	for _, function := range t.inside {
		t.passed[function] = true
	}
	for _, p := range d.places {
		near := slices.Contains(t.inside[:min(2, len(t.inside))], p.function)
		if near && p.op == op.String() && (p.under == "" || slices.Contains(t.inside, p.under)) {
			return p.name
		}
	}
	return ""
}

// stack is where a call has stopped; stacks remembers the functions of each.
type stack [64]uintptr

var stacks = map[stack][]string{}

// functions returns the functions of the library that the running call is in, the
// innermost first.
func functions() (inside []string) {
	var at stack
	n := runtime.Callers(3, at[:])
	if known, found := stacks[at]; found {
		return known
	}
	frames := runtime.CallersFrames(at[:n])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, ours := strings.CutPrefix(f.Function, library)
		if pkg, name, _ := strings.Cut(name, "."); ours && pkg != hooks {
			inside = append(inside, name)
		}
	}
	stacks[at] = inside
	return inside
}

// library begins the names of the functions that are walked; those of hooks stand
// between them and the driver.
const (
	library = "github.com/copyleftdev/poise-go/pkg"
	hooks   = "/internal/syncx"
)

// halt stops the running call at a place of its own, where the world has the
// floor: in a policy, or at an endpoint.
func (d *driver) halt(name string) {
	t := d.current
	if t == nil {
		return // the walk itself
	}
	d.place(t, poise.SyncForeign)
	t.at, t.gate = name, nil
	d.stop(t)
}

// onward lets a call go on to the next place.
func (d *driver) onward(t *task) error {
	for d.places != nil && !t.ended && t.at == "" {
		if t.gate != nil && !t.gate.Open(t.op) {
			return fmt.Errorf("%v has to wait, at no place that the specification knows", t.op)
		}
		d.run(t)
	}
	return nil
}

// Passed implements replay.Stepper.
func (d *driver) Passed(name, function string) bool {
	t := d.tasks[name]
	return d.places == nil || t != nil && t.passed[function]
}

// where returns the place of a call, "" if there is none that has not ended.
func (d *driver) where(name string) string {
	if t := d.tasks[name]; t != nil && !t.ended {
		return t.at
	}
	return ""
}

// spawn begins the goroutine that the code starts, and lets it come to its first
// place.
func (d *driver) spawn(f func()) {
	if d.spawned == "" || d.current != nil {
		panic("walk: a call starts a goroutine")
	}
	name := d.spawned
	d.spawned = ""
	err := d.Start(name, func() any { f(); return nil })
	if err == nil {
		err = d.onward(d.tasks[name])
	}
	if err != nil {
		panic("walk: " + err.Error())
	}
}
