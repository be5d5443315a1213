//go:build interleave

package explore

import (
	"fmt"
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// maxTasks bounds the tasks of one execution, contexts that can end included.
const maxTasks = 8

// set is a set of task numbers.
type set uint8

func only(task int) set             { return 1 << task }
func (s set) has(task int) bool     { return s&only(task) != 0 }
func (s set) lowest() int           { return bits.TrailingZeros8(uint8(s)) }
func (s set) without(other set) set { return s &^ other }

// program is a model with its state type erased.
type program struct {
	name              string
	new               func() any
	tasks             []programTask
	always, sometimes []programPred
	final             func(any, *Run) error
	outcome           func(any, *Run) string
	spec              seq.Spec
	bounds            Bounds
}

type programTask struct {
	name string
	body func(any, *T)
}

type programPred struct {
	name  string
	holds func(any) bool
}

// step is one synchronising operation, made or about to be made.
type step struct {
	task      int
	op        poise.SyncOp
	effect    poise.SyncEffect
	obj, also unsafe.Pointer   // also is only read
	more      []unsafe.Pointer // waiters that it lets on
	visible   bool             // it changes what a predicate reads
	call, ret bool             // the first, the last step of a call
	prev      int              // the node of the step before it in its task, or of the Go that made the task; -1
	index     uint16           // its number in its task, from 1
	clock     clock            // what happened before it; reduced engine only
}

// node is one decision of an execution: who makes the next step, or, when
// choices is not 0, which of so many ways a choice goes.
type node struct {
	step
	choices, value int

	enabled set // who could have made the step
	todo    set // who has made it, makes it or shall make it from here
	done    set // whose step here has been explored in full
	sleep   set // whose step here leads only where other executions have been

	preempted int // switches away from a task that could go on, this one included
}

// mode says what an operation of a hooked type means at the moment.
type mode uint8

const (
	aside     mode = iota // the engine itself runs model code: operations just happen
	starting              // a task runs up to its first step
	running               // operations are steps
	observing             // a predicate runs: operations are noted
	unwinding             // tasks are made to end
)

// engine explores one program. Its fields are touched by one goroutine at a
// time: the engine's own, or the task that it let on.
type engine struct {
	program
	reduce bool   // one execution per class of equivalent ones, instead of all
	budget int    // at most so many preemptions; negative: any number
	stopAt string // stop at the first failure with this verdict; "any": at any
	script []int  // decisions to take instead of exploring
	dice   *dice  // take decisions by chance; nil: explore
	seen   *result

	path   []node
	prefix int // the decisions of path that this execution was given
	at     int // decisions taken so far
	last   int // the node of the step made last; -1

	tasks   []*task // in use by this execution; a prefix of slots
	slots   []*task // kept, with their coroutines, from one execution to the next
	current *task
	next    *task // who goes on once the current task has yielded
	live    int   // tasks that have not ended, contexts not counted
	mode    mode

	crash    string // the panic that has just ended a task
	state    any
	run      Run
	clock    modelClock
	draining bool // this execution is known; let its tasks end
	ended    bool // this execution is over before its tasks are
	drained  int

	pending []step // that this execution never came to; reduced engine only

	visible    []unsafe.Pointer // what predicates read in the first state
	allVisible bool             // they read something else later
	learning   bool             // this observation fills visible
	again      bool             // start over: allVisible was not known before
	held       bool             // the predicate met a lock that is held

	table *table // of steps; nil unless one is written
	beat  atomic.Uint64
}

// task is one goroutine of the model, or a context's end.
type task struct {
	coroutine
	e      *engine
	id     int
	name   string
	handle T
	body   func(any, *T)

	pending step
	gate    poise.SyncGate
	ctx     *modelContext // opens the gate too; of a context's end: what ends
	where   string        // of the pending step; only for a table
	begun   bool          // the body runs or has run
	done    bool
	last    int    // as step.prev of the step that comes next
	index   uint16 // of the step made last

	calling, fresh bool // in a Call; before its first step
	first          int  // the Call's first step
}

// refusal is the reason why a model cannot be explored.
type refusal string

// refuse ends the exploration: the model, or its use, is not what the engine can judge.
func (e *engine) refuse(format string, args ...any) {
	e.seen.refused = refusal(fmt.Sprintf(format, args...))
	e.ended = true
}

// explore runs the program until every decision has been tried or something
// ends it sooner.
func (e *engine) explore() {
	poise.SetExplorer(e, e.table != nil)
	defer poise.SetExplorer(nil, false)
	defer e.watch()()
	defer e.dismiss()
	for {
		before := runtime.NumGoroutine() - e.launched()
		raced := races()
		e.execute()
		e.beat.Add(1)
		if races() > raced {
			e.fail("race", "reported above by the race detector")
		}
		if after := runtime.NumGoroutine() - e.launched(); after > before {
			e.leaked(before)
		}
		if e.again {
			e.again, e.path = false, e.path[:0]
			continue
		}
		if e.seen.refused != "" || e.seen.stopped || e.script != nil || e.dice != nil {
			return
		}
		if e.reduce {
			e.findRaces()
		}
		if !e.backtrack() {
			e.seen.exhausted = true
			return
		}
		if e.seen.executions+e.seen.redundant >= e.bounds.Executions {
			e.fail("executions", fmt.Sprintf("more than %d executions", e.bounds.Executions))
			return
		}
	}
}

// backtrack sets path to the next execution to try; false: there is none.
func (e *engine) backtrack() bool {
	for len(e.path) > 0 {
		n := &e.path[len(e.path)-1]
		if n.choices > 0 {
			if n.value++; n.value < n.choices {
				return true
			}
		} else {
			n.done |= only(n.task)
			if rest := n.todo.without(n.done | n.sleep); rest != 0 {
				n.task = rest.lowest()
				return true
			}
		}
		e.path = e.path[:len(e.path)-1]
	}
	return false
}

// execute runs the program once: as path says first, then as it comes.
func (e *engine) execute() {
	e.prefix, e.at, e.last = len(e.path), 0, -1
	e.draining, e.ended, e.drained = false, false, 0
	e.run.History, e.pending = e.run.History[:0], e.pending[:0]
	e.clock = modelClock{}
	e.tasks, e.live = e.tasks[:0], 0

	e.mode = aside
	e.state = e.new()
	e.release()
	if e.table != nil {
		e.table.learn(e.state)
	}
	if e.reduce {
		e.learn()
	}
	e.mode = starting
	for _, p := range e.program.tasks {
		e.add(p.name, p.body)
	}
	for _, t := range e.tasks[:len(e.program.tasks)] {
		e.current = t
		t.resume()
	}
	e.mode, e.current = running, nil
	for t := e.decide(); t != nil; {
		t = e.advance(t)
	}
	if e.live > 0 {
		e.unwind()
	}
	e.mode = aside
	e.conclude()
}

// add puts a task into use; nil: there are too many.
func (e *engine) add(name string, body func(any, *T)) *task {
	id := len(e.tasks)
	if id == maxTasks {
		e.refuse("more than %d tasks, contexts that can end included", maxTasks)
		return nil
	}
	if id == len(e.slots) {
		t := &task{e: e, id: id}
		t.handle = T{e, t}
		e.slots = append(e.slots, t)
	}
	t := e.slots[id]
	t.name, t.body = name, body
	t.pending, t.gate, t.ctx = step{}, nil, nil
	t.begun, t.done, t.calling, t.last, t.index = false, false, false, -1, 0
	if e.mode == running {
		t.last = e.current.last
	}
	e.tasks = append(e.tasks, t)
	if body != nil {
		e.live++
	}
	return t
}

// spawn adds a task that the current one starts.
func (e *engine) spawn(f func()) {
	if t := e.add(e.current.name+"/go", func(any, *T) { f() }); t != nil {
		t.pending.op = poise.SyncStart
	}
}

// attach adds the end of a context, which may come from here on.
func (e *engine) attach(c *modelContext) {
	if t := e.add("end of "+e.current.name+"'s context", nil); t != nil {
		t.pending.op, t.pending.obj, t.ctx = opContextEnd, unsafe.Pointer(c), c
	}
}

// runBody runs the task's body to its end, or to the end of the execution.
//
//go:norace
func (t *task) runBody() {
	t.begun = true
	defer t.caught()
	t.body(t.e.state, &t.handle)
}

// caught keeps what the body panicked with for the engine.
//
//go:norace
func (t *task) caught() {
	if r := recover(); r != nil && t.e.mode != unwinding {
		t.e.crash = fmt.Sprintf("task %s: %v\n%s", t.name, r, debug.Stack())
	}
}

// finish notes that the body has ended.
//
//go:norace
func (t *task) finish() {
	t.done = true
	t.e.live--
}

// decide judges the state, decides who makes the next step, and returns it; nil
// when the execution is over.
func (e *engine) decide() *task {
	for {
		t := e.decideOne()
		if t == nil || t.body != nil {
			return t
		}
		t.ctx.ended, t.done = true, true // a context's end is a step without a body
	}
}

func (e *engine) decideOne() *task {
	if e.crash != "" {
		e.fail("panic", e.crash)
		e.crash, e.ended = "", true
	}
	if e.ended {
		return nil
	}
	if e.draining {
		return e.drain()
	}
	if e.at >= e.prefix {
		e.observe()
	}
	if e.live == 0 || e.ended {
		return nil
	}
	enabled := e.enabled()
	if enabled == 0 {
		e.deadlock()
		return nil
	}
	if e.at < e.prefix {
		n := &e.path[e.at]
		if n.choices > 0 || n.enabled != enabled || e.at < e.prefix-1 && n.op != e.tasks[n.task].pending.op {
			e.diverged()
			return nil
		}
		return e.take(n)
	}
	if e.at >= e.bounds.Steps {
		e.fail("steps", fmt.Sprintf("more than %d steps: a livelock, or a bound that is too small", e.bounds.Steps))
		e.ended = true
		return nil
	}
	n := e.newNode(enabled)
	if n == nil {
		return e.drain()
	}
	return e.take(n)
}

// newNode adds a decision nobody has taken yet and decides it: the current task
// goes on if it can, because switching costs most. It returns nil when every
// way on has been explored elsewhere.
func (e *engine) newNode(enabled set) *node {
	n := node{enabled: enabled}
	open := enabled
	if e.reduce {
		n.sleep = e.sleepers()
		if open = enabled.without(n.sleep); open == 0 {
			e.hold(enabled)
			e.draining = true
			return nil
		}
	}
	if e.last >= 0 {
		n.preempted = e.path[e.last].preempted
	}
	stay := e.current != nil && open.has(e.current.id)
	switch {
	case e.dice != nil:
		n.task = e.dice.among(enabled)
	case len(e.script) > 0:
		if n.task = e.scripted(maxTasks); !enabled.has(n.task) {
			e.refuse("the schedule does not fit the model: task %c cannot go on at decision %d", 'a'+n.task, e.at)
			n.task = enabled.lowest()
		}
	case stay:
		n.task = e.current.id
	default:
		n.task = open.lowest()
		for rest := open; rest != 0; rest &= rest - 1 {
			if e.tasks[rest.lowest()].body != nil { // a context ends last
				n.task = rest.lowest()
				break
			}
		}
	}
	switch {
	case e.reduce, e.budget >= 0 && stay && n.preempted >= e.budget:
		n.todo = only(n.task)
	default:
		n.todo = enabled
	}
	e.path = append(e.path, n)
	return &e.path[e.at]
}

// take makes the node's step the next one.
func (e *engine) take(n *node) *task {
	t := e.tasks[n.task]
	stay := e.current != nil && e.current != t && n.enabled.has(e.current.id)
	if e.last >= 0 {
		n.preempted = e.path[e.last].preempted
	}
	if stay {
		n.preempted++
	}
	t.index++
	before := n.step
	n.step = t.pending
	n.task, n.prev, n.index = t.id, t.last, t.index
	n.effect = n.op.Effect()
	if e.at < e.prefix { // known from the execution that made the node
		n.visible, n.clock = before.visible, before.clock
	}
	if t.calling && t.fresh {
		n.call, t.fresh, t.first = e.spec != nil, false, e.at
	}
	t.last, e.last = e.at, e.at
	e.at++
	if e.table != nil {
		e.table.row(t, n)
	}
	if t.body != nil {
		e.current = t
	}
	return t
}

// drain lets the tasks of a known execution end, in any order.
func (e *engine) drain() *task {
	if e.drained++; e.drained > e.bounds.Steps || e.live == 0 {
		return nil
	}
	enabled := e.enabled()
	switch {
	case enabled == 0:
		return nil
	case e.current != nil && enabled.has(e.current.id):
		return e.current
	}
	t := e.tasks[enabled.lowest()]
	if t.body != nil {
		e.current = t
	}
	return t
}

// enabled returns the tasks that can make a step now.
func (e *engine) enabled() (enabled set) {
	for _, t := range e.tasks {
		if !t.done && (t.gate == nil || t.gate.Open(t.pending.op) || t.body != nil && t.ctx != nil && t.ctx.ended) {
			enabled |= only(t.id)
		}
	}
	return enabled
}

// choose decides a choice between n ways.
func (e *engine) choose(n int) int {
	if n < 1 {
		e.refuse("a choice between %d ways", n)
	}
	if n <= 1 || e.draining || e.ended {
		return 0
	}
	if e.at == len(e.path) {
		c := node{choices: n}
		if len(e.script) > 0 {
			c.value = e.scripted(n)
		} else if e.dice != nil {
			c.value = e.dice.below(n)
		}
		e.path = append(e.path, c)
	}
	c := &e.path[e.at]
	if c.choices != n {
		e.diverged()
		return 0
	}
	e.at++
	return c.value
}

// scripted takes the next decision from the script.
func (e *engine) scripted(n int) int {
	d := e.script[0]
	e.script = e.script[1:]
	if d >= n {
		e.refuse("the schedule does not fit the model: decision %d goes way %d of %d", e.at, d, n)
		return 0
	}
	return d
}
