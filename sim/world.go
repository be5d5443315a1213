package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// epoch is the instant at which runs begin.
var epoch = time.Unix(1_000_000_000, 0)

// late is how much later than asked for a timer may fire before the delay is this
// process's own: then nobody is to blame.
const late = 100 * time.Millisecond

// patience is how long after the last arrival a run goes on at most.
const patience = 10 * time.Second

// world is one run: what there is and what is to come.
type world struct {
	s        *Scenario
	queue    eventQueue
	now      int64
	end      int64 // when calls stop arriving
	arrivals *rand.Rand
	chance   *rand.Rand
	rate     float64
	life     uint32 // of the arrival that is to come

	servers  []server
	requests []request
	idle     []int32 // requests
	calls    []call
	free     []int32 // calls
	begun    uint32
	clients  []client
	record   *Record

	members     []Member
	listed      []listing
	incarnation uint64
	laneDelay   int64
}

// listing is what discovery says of a server.
type listing struct {
	member Member
	listed bool
}

// client is one process that makes calls.
type client struct {
	subject Subject
	offset  time.Duration // of its clock
	resumes int64         // when it goes on, if that is after now
	advance uint32        // life of the advance that is to come
	ejected []bool
	held    []uint64 // calls at each server
}

// callState is where a call stands.
type callState uint8

const (
	ended callState = iota
	waiting
	sent
	reading
)

// call is one logical call.
type call struct {
	Call
	life     uint32 // another for each attempt
	number   uint32 // another for each call
	client   int32
	server   int32
	class    Class
	state    callState
	attempts int
	everSent bool
	size     float64
	began    int64
	due      int64 // the deadline, 0 for none
	timeout  int64 // of the attempt, 0 for none
	status   int   // of the answer under way: 0 refused, 1 reset, else an HTTP status
	result   poise.Result
}

// The answers that are no HTTP status.
const (
	refused = 0
	broken  = 1
	sound   = 200
)

// begin makes the world that of another run.
func (w *world) begin(s *Scenario, policy string, newSubject NewSubject, seed uint64) error {
	w.s, w.now, w.end = s, 0, int64(s.Length)
	w.queue.reset()
	// The stream of arrivals is the same for every Subject: what comes, when, and
	// what it costs.
	w.arrivals = rand.New(rand.NewPCG(seed, 1))
	w.chance = rand.New(rand.NewPCG(seed, 2))
	w.rate, w.life, w.begun = s.Calls.Rate, 0, 0
	w.requests, w.idle, w.calls, w.free = w.requests[:0], w.idle[:0], w.calls[:0], w.free[:0]
	w.incarnation = 0
	w.servers = make([]server, len(s.Servers))
	w.listed = make([]listing, len(s.Servers))
	w.laneDelay = -1
	for i, of := range s.Servers {
		w.servers[i].begin(of)
		w.listed[i].member = Member{
			Server: i, ID: fmt.Sprintf("server-%03d", i), Weight: max(1, of.Weight), Priority: of.Priority, Limit: of.Limit,
		}
		if !of.Absent {
			w.list(i)
		}
		if w.laneDelay < 0 {
			w.laneDelay = int64(of.Delay)
		}
	}
	w.record = newRecord(s)
	w.clients = make([]client, s.Clients)
	for i := range w.clients {
		subject, err := newSubject(Setup{Scenario: s, Policy: policy, Seed: seed*1009 + uint64(i) + 1, Facts: w})
		if err != nil {
			return err
		}
		w.clients[i] = client{subject: subject, ejected: make([]bool, len(s.Servers)), held: make([]uint64, len(s.Servers))}
	}
	if err := w.update(); err != nil {
		return err
	}
	for i, e := range s.Events {
		w.queue.add(int64(e.At), change, int32(i), 0)
	}
	w.arrive()
	return nil
}

// list makes discovery name a server as a new incarnation.
func (w *world) list(server int) {
	w.incarnation++
	w.listed[server].listed = true
	w.listed[server].member.Incarnation = w.incarnation
	w.listed[server].member.Draining = false
}

// update tells every client who is a member.
func (w *world) update() error {
	w.members = w.members[:0]
	for i := range w.listed {
		if w.listed[i].listed {
			w.members = append(w.members, w.listed[i].member)
		}
	}
	for i := range w.clients {
		if err := w.clients[i].subject.Update(w.members, w.instant(&w.clients[i])); err != nil {
			return err
		}
		if err := w.settle(int32(i), true); err != nil {
			return err
		}
	}
	return nil
}

// instant is what the clock of the client shows.
func (w *world) instant(c *client) time.Time {
	return epoch.Add(time.Duration(w.now) + c.offset)
}

// run lets everything happen.
func (w *world) run() error {
	for {
		h, more := w.queue.pop()
		if !more {
			return w.finish()
		}
		w.now = h.at
		if err := w.handle(h); err != nil {
			return err
		}
		if w.now > w.end && (w.begun == 0 || w.now > w.end+int64(patience)) {
			return w.finish()
		}
	}
}

// finish gives up the calls that nobody answers.
func (w *world) finish() error {
	for i := range w.calls {
		c := &w.calls[i]
		if c.state == ended {
			continue
		}
		if c.state != waiting {
			w.endAttempt(c, poise.Result{Outcome: poise.Cancelled})
		}
		w.finishCall(int32(i), false)
	}
	return nil
}

func (w *world) handle(h happening) error {
	switch h.kind {
	case change:
		return w.change(&w.s.Events[h.index])
	case arrival:
		if h.life == w.life {
			return w.arrived()
		}
	case served:
		if w.requests[h.index].life == h.life {
			w.served(h.index)
		}
	case failing:
		if w.requests[h.index].life == h.life {
			r := &w.requests[h.index]
			w.answer(h.index, int(r.status))
		}
	case up:
		w.servers[h.index].comeUp(w, h.life)
	case advance:
		c := &w.clients[h.index]
		if c.advance != h.life {
			return nil
		}
		if w.defers(c, h) {
			return nil
		}
		return w.settle(h.index, true)
	default:
		return w.handleCall(h)
	}
	return nil
}

// defers puts off what happens to a client whose process is stopped. What waited
// is then found in any order.
func (w *world) defers(c *client, h happening) bool {
	if w.now >= c.resumes {
		return false
	}
	w.queue.add(c.resumes+int64(w.chance.IntN(200_000)), h.kind, h.index, h.life)
	return true
}

// handleCall handles what happens to a call at its client.
func (w *world) handleCall(h happening) error {
	c := &w.calls[h.index]
	if h.kind == deadline && h.life != c.number || h.kind != deadline && h.life != c.life || c.state == ended {
		return nil
	}
	owner := &w.clients[c.client]
	if w.defers(owner, h) {
		return nil
	}
	switch h.kind {
	case answer:
		w.answered(h.index)
	case bodyEnd:
		w.endAttempt(c, poise.Result{})
		w.finishCall(h.index, true)
	case attemptTimeout:
		w.silent(h.index, c.timeout)
	case deadline:
		if c.state == sent || c.state == reading {
			result := w.silence(c.due)
			if c.state == reading {
				result.Outcome = poise.Cancelled // the header had come: what is late is the body
			}
			w.endAttempt(c, result)
		}
		w.finishCall(h.index, false)
	case pause:
		w.attempt(h.index)
	}
	return w.settle(c.client, false)
}

// settle lets the client's loop do what is due, and notes who is ejected.
func (w *world) settle(i int32, due bool) error {
	c := &w.clients[i]
	for turns := 0; due || c.subject.Awake(); turns++ {
		if turns > 1000 {
			return fmt.Errorf("sim: Advance asks for itself without end at %v", time.Duration(w.now))
		}
		now := w.instant(c)
		next, err := c.subject.Advance(now)
		if err != nil {
			return err
		}
		c.advance++
		due = false
		if !next.IsZero() {
			w.queue.add(w.now+max(0, int64(next.Sub(now))), advance, i, c.advance)
		}
	}
	if c.subject.Changed() {
		w.noteEjections(c)
	}
	return nil
}

func (w *world) noteEjections(c *client) {
	for i := range c.ejected {
		is := c.subject.Ejected(i)
		if is && !c.ejected[i] {
			w.record.ejected(w.now, i, w.servers[i].blameless(w))
		}
		c.ejected[i] = is
	}
}

// arrive sets the next arrival.
func (w *world) arrive() {
	w.life++
	if w.rate <= 0 {
		return
	}
	gap := w.draw(w.s.Calls.Gaps) * float64(time.Second) / w.rate
	if at := w.now + int64(gap); at < w.end {
		w.queue.add(at, arrival, 0, w.life)
	}
}

// draw returns a number of mean one from the stream of arrivals.
func (w *world) draw(s Shape) float64 {
	switch s {
	case Exponential:
		return w.arrivals.ExpFloat64()
	case Uniform:
		return 0.5 + w.arrivals.Float64()
	case Pareto:
		return 0.5 / math.Sqrt(1-w.arrivals.Float64())
	}
	return 1
}

// markedKey is the key that all marked calls share.
const markedKey = 1 << 40

// arrived begins a call.
func (w *world) arrived() error {
	of := &w.s.Calls
	size := w.draw(of.Costs)
	class := Get
	draw := w.arrivals.Float64()
	switch {
	case draw < of.Marked:
		class = Marked
	case draw < of.Marked+(1-of.Marked)*of.Posts:
		class = Post
	}
	key := w.arrivals.Uint64()
	if of.Keys > 0 {
		key %= uint64(of.Keys)
	}
	if class == Marked {
		key = markedKey
	}
	owner := int32(0)
	if len(w.clients) > 1 {
		owner = int32(w.arrivals.IntN(len(w.clients)))
	}
	w.arrive()
	if w.now < w.clients[owner].resumes {
		return nil // a stopped process makes no calls
	}
	i := w.newCall()
	c := &w.calls[i]
	c.Key, c.Repeatable = key, class != Post
	c.client, c.class, c.size, c.began, c.due, c.everSent, c.attempts = owner, class, size, w.now, 0, false, 0
	w.record.began(w.now, class)
	if of.Deadline > 0 {
		c.due = w.now + int64(of.Deadline)
		w.queue.addTo(deadlineLane, c.due, deadline, i, c.number)
	}
	w.clients[owner].subject.Begin(&c.Call)
	w.attempt(i)
	return w.settle(owner, false)
}

func (w *world) newCall() int32 {
	var i int32
	if n := len(w.free); n > 0 {
		i = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		i = int32(len(w.calls))
		w.calls = append(w.calls, call{Call: Call{Slot: int(i)}})
	}
	w.calls[i].number++
	w.begun++
	return i
}

// finishCall ends a call.
func (w *world) finishCall(i int32, success bool) {
	c := &w.calls[i]
	c.state = ended
	c.life++
	c.number++
	w.begun--
	w.free = append(w.free, i)
	w.record.ended(c, w.now, success)
}

// attempt sends a call once more, or for the first time.
func (w *world) attempt(i int32) {
	c := &w.calls[i]
	owner := &w.clients[c.client]
	chosen, err := owner.subject.Acquire(&c.Call, w.instant(owner))
	if err != nil {
		w.record.refuse(c, w.roomFor(owner, c))
		w.finishCall(i, false)
		return
	}
	c.life++
	c.state, c.server, c.timeout = sent, int32(chosen), 0
	c.attempts++
	owner.held[chosen]++
	if t := int64(w.s.Calls.AttemptTimeout); t > 0 {
		c.timeout = w.now + t
		w.queue.addTo(timeoutLane, c.timeout, attemptTimeout, i, c.life)
	}
	w.servers[chosen].take(w, i)
}

// endAttempt ends the attempt that the call holds.
func (w *world) endAttempt(c *call, r poise.Result) {
	owner := &w.clients[c.client]
	owner.held[c.server]--
	owner.subject.End(&c.Call, r, w.instant(owner))
}

// roomFor reports whether a member that is listed, not draining and not ejected had
// room for a call of the client that had no attempt yet.
func (w *world) roomFor(c *client, of *call) bool {
	if of.attempts > 0 {
		return false
	}
	for i := range w.listed {
		m := &w.listed[i].member
		if w.listed[i].listed && !m.Draining && !c.ejected[i] && (m.Limit == 0 || c.held[i] < m.Limit) {
			return true
		}
	}
	return false
}

// silence is how an attempt without an answer ended at the instant due.
func (w *world) silence(due int64) poise.Result {
	if w.now > due+int64(late) {
		return poise.Result{Outcome: poise.Invalid}
	}
	return poise.Result{Outcome: poise.Silent}
}

// silent ends an attempt that has had no answer in its time.
func (w *world) silent(i int32, due int64) {
	if w.calls[i].state == sent {
		w.failed(i, w.silence(due), w.calls[i].class != Post)
	}
}

// failed ends an attempt that was no success and does what the Subject says next.
func (w *world) failed(i int32, r poise.Result, repeatable bool) {
	c := &w.calls[i]
	owner := &w.clients[c.client]
	now := w.instant(owner)
	c.life++
	w.endAttempt(c, r)
	step := owner.subject.Next(&c.Call, r, repeatable, now)
	switch {
	case !step.Repeat:
		w.finishCall(i, false)
	case step.Wait > 0:
		c.state = waiting
		w.queue.add(w.now+int64(step.Wait), pause, i, c.life)
	default:
		w.attempt(i)
	}
}

// answered handles the begin of an answer at its caller.
func (w *world) answered(i int32) {
	c := &w.calls[i]
	owner := &w.clients[c.client]
	repeatable := c.class != Post
	switch {
	case c.status == refused:
		w.failed(i, poise.Result{Outcome: poise.Unreachable}, true)
	case c.status == broken:
		w.failed(i, poise.Result{Outcome: poise.Failure}, repeatable)
	case c.status == 503 || c.status == 429:
		w.failed(i, poise.Result{Outcome: poise.Overloaded, RetryAfter: c.result.RetryAfter}, repeatable)
	case c.status >= 500:
		// Another server would most likely answer the same: only what says that it
		// stands between the caller and the service is repeated.
		w.failed(i, poise.Result{Outcome: poise.Failure}, repeatable && (c.status == 502 || c.status == 504))
	default:
		owner.subject.Answered(&c.Call, poise.Result{}, w.instant(owner))
		if body := int64(w.s.Calls.Body); body > 0 {
			c.state = reading
			c.life++
			w.queue.add(w.now+body, bodyEnd, i, c.life)
			return
		}
		w.endAttempt(c, poise.Result{})
		w.finishCall(i, c.status < 400)
	}
}

// change does what the scenario says.
func (w *world) change(e *Event) error {
	listed := false
	for _, i := range e.Servers {
		s := &w.servers[i]
		switch e.Verb {
		case Join:
			w.list(i)
			listed = true
		case Leave:
			w.listed[i].listed = false
			listed = true
		case Drain:
			w.listed[i].member.Draining = true
			listed = true
		case SetLimit:
			w.listed[i].member.Limit = uint64(e.Number)
			listed = true
		case SetWeight:
			w.listed[i].member.Weight = uint32(max(1, e.Number))
			listed = true
		default:
			s.change(w, int32(i), e)
		}
	}
	if listed {
		return w.update()
	}
	switch e.Verb {
	case SetRate:
		w.rate = e.Number
		w.arrive()
	case Pause:
		for i := range w.clients {
			w.clients[i].resumes = max(w.clients[i].resumes, w.now+int64(e.Duration))
		}
	case StepClock:
		for i := range w.clients {
			w.clients[i].offset += e.Duration
		}
	}
	return nil
}

// Well reports whether a call that is sent now would be served.
func (w *world) Well(i int) bool {
	s := &w.servers[i]
	return !s.down && s.fault.Kind == Well && w.listed[i].listed && s.room()
}

// Load is how many requests the server holds.
func (w *world) Load(i int) int { return w.servers[i].busy + w.servers[i].queued() }
