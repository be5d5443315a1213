package health

import (
	"cmp"
	"context"
	"runtime/debug"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// ProberConfig are the settings of a Prober. The zero value of each field is its
// default.
type ProberConfig struct {
	_ struct{}
	// Schedule are the settings of the schedule.
	Schedule ProbeScheduleConfig
	// Timeout is how long one probe may take. Positive, less than Hold of the
	// schedule, default 5 s or half of Hold if that is shorter.
	Timeout time.Duration
	// OnTimeout is what a probe past its timeout says, default TimeoutUnhealthy.
	OnTimeout TimeoutPolicy
	// Observe is told each report, by the goroutine of Run and in order. Default
	// nobody.
	Observe func(ProbeReport)
}

// Prober sends the probes of many members when they are due, as a [ProbeSchedule]
// says. It keeps a clock, and runs each probe in a goroutine of its own.
//
// A Prober is made by NewProber.
//
// # Contract
//
//   - Run probes whenever a member is due until its context ends, and returns the context's error.
//   - A second Run at the same time, also while the first one is leaving, is refused with ErrRunning and changes nothing.
//   - A probe that does not answer within Timeout is recorded at that moment, as OnTimeout says, and its context ends.
//   - A probe that panics or ends its goroutine has failed, and the Prober goes on.
//   - At most one call of a member's probe is running at any instant, and at most MaxRunning of all members that have not timed out.
//   - A probe is not sent while the last one of its member still runs, and times out if that does not return within Timeout.
//   - When Run has returned or panicked, no probe is outstanding, and those that honour their context have returned.
//   - Run returns within one Timeout after its context has ended, whatever the probes do.
//   - Observe is told each probe that was recorded, in order, and nothing of a member that was removed or after Run has returned.
//
// # Cost
//
// A Prober costs the goroutine of Run, and a goroutine and a timer for each probe
// that is running.
//
// # Concurrency
//
// Every method may be called at any time, also by a probe and by Observe. A probe
// that never returns keeps its goroutine, one for each member and no more.
type Prober struct {
	cfg ProberConfig
	// wake has room for one signal to Run.
	wake chan struct{}

	mu syncx.Mutex
	// Guarded by mu.
	schedule *ProbeSchedule
	members  map[uint64]*probedMember
	reports  []observedReport // not yet taken for delivery
	running  bool
	calls    int // of probes that have not returned
}

// probedMember is one member of a Prober.
type probedMember struct {
	probe func(context.Context) error
	// Guarded by Prober.mu.
	busy    bool       // a call of the probe is running
	call    *probeCall // the one that is not recorded yet; nil if there is none
	waiting *probeCall // the call that waits for one that has timed out
	removed bool
}

// probeCall is one probe on its way.
type probeCall struct {
	right  ScheduledProbe
	of     *probedMember
	run    context.Context // of Run
	ctx    context.Context // of the probe
	cancel context.CancelFunc
	stop   func() bool // nobody waits for the end of ctx any more
}

// observedReport is a report of a member, not delivered if that is removed.
type observedReport struct {
	of     *probedMember
	report ProbeReport
}

// NewProber returns a Prober without members, or a [poise.FieldError].
func NewProber(cfg ProberConfig) (*Prober, error) {
	schedule, err := NewProbeSchedule(cfg.Schedule)
	if err != nil {
		return nil, inField("Schedule", err)
	}
	hold := schedule.cfg.Health.Hold
	cfg.Timeout = cmp.Or(cfg.Timeout, min(5*time.Second, hold/2))
	switch {
	case cfg.Timeout < 1 || cfg.Timeout >= hold:
		return nil, outOfRange("Timeout", cfg.Timeout)
	case cfg.OnTimeout >= timeoutPolicies:
		return nil, outOfRange("OnTimeout", cfg.OnTimeout)
	}
	return &Prober{cfg: cfg, wake: make(chan struct{}, 1), schedule: schedule, members: make(map[uint64]*probedMember)}, nil
}

// Add adds a member, whose number is the caller's: an incarnation. The probe asks
// the member once; nil means it is healthy. It should return soon after its context
// has ended. A number that is there already is refused.
func (p *Prober) Add(member uint64, probe func(context.Context) error) error {
	if probe == nil {
		return missing("probe")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.schedule.Add(member, time.Now()); err != nil {
		return err
	}
	p.members[member] = &probedMember{probe: probe}
	p.signal()
	return nil
}

// Remove removes a member, and reports whether it was there. The context of its
// probe ends.
func (p *Prober) Remove(member uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[member]
	if m == nil {
		return false
	}
	m.removed = true
	p.schedule.Remove(member)
	delete(p.members, member)
	if m.call != nil {
		m.call.cancel()
	}
	p.signal()
	return true
}

// Force sets the condition of a member, as ActiveHealth.Force does.
func (p *Prober) Force(member uint64, condition Condition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.signal()
	return p.schedule.Force(member, condition, time.Now())
}

// State returns the state of a member, and whether it is there.
func (p *Prober) State(member uint64) (ActiveState, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.schedule.State(member, time.Now())
}

// Len returns the number of members.
func (p *Prober) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.schedule.Len()
}

// signal wakes Run.
func (p *Prober) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run probes until ctx ends, whose error it returns. A panic of Observe ends it
// with that panic.
func (p *Prober) Run(ctx context.Context) error {
	if !p.begin() {
		return ErrRunning
	}
	defer p.end()
	probing, cancel := context.WithCancel(ctx)
	left := false
	leave := func() {
		if !left {
			left = true
			p.leave(cancel)
		}
	}
	defer leave()
	for ctx.Err() == nil {
		p.rest(ctx, p.send(probing))
		p.deliver()
	}
	leave()
	p.deliver()
	return ctx.Err()
}

func (p *Prober) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		return false
	}
	p.running = true
	return true
}

func (p *Prober) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports, p.running = nil, false
}

// rest waits until somebody signals, or for so long; for ever if that is negative.
func (p *Prober) rest(ctx context.Context, wait time.Duration) {
	var over <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-p.wake:
	case <-over:
	case <-ctx.Done():
	}
}

// deliver tells the reports that wait.
func (p *Prober) deliver() {
	for {
		p.mu.Lock()
		var next observedReport
		for len(p.reports) > 0 && next.of == nil {
			if first := p.reports[0]; !first.of.removed {
				next = first
			}
			p.reports = p.reports[1:]
		}
		p.mu.Unlock()
		if next.of == nil {
			return
		}
		p.cfg.Observe(next.report)
	}
}

// send sends the probes that are due, and returns how long until the next is.
func (p *Prober) send(ctx context.Context) time.Duration {
	for {
		p.mu.Lock()
		right, wait, due := p.schedule.Next(time.Now())
		if due {
			p.start(ctx, right)
		}
		p.mu.Unlock()
		if !due {
			return wait
		}
	}
}

// start begins one call. Requires mu.
func (p *Prober) start(ctx context.Context, right ScheduledProbe) {
	m := p.members[right.Member]
	c := &probeCall{right: right, of: m, run: ctx}
	c.ctx, c.cancel = context.WithTimeout(ctx, p.cfg.Timeout)
	c.stop = context.AfterFunc(c.ctx, func() { p.record(c, nil) })
	m.call = c
	if m.busy {
		m.waiting = c
		return
	}
	m.busy = true
	p.calls++
	go p.ask(c)
}

// ask calls the probe, however that ends, and after it the one that waits for it.
func (p *Prober) ask(c *probeCall) {
	failure := error(&PanicError{})
	defer func() {
		if v := recover(); v != nil {
			failure = &PanicError{Value: v, Stack: debug.Stack()}
		}
		p.record(c, failure)
		if next := p.waitingFor(c.of); next != nil {
			go p.ask(next)
		}
	}()
	failure = c.of.probe(c.ctx)
}

// waitingFor returns the call that waits for the one of the member that has returned;
// nil if there is none.
func (p *Prober) waitingFor(m *probedMember) *probeCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := m.waiting
	m.waiting = nil
	if next == nil || next.ctx.Err() != nil {
		m.busy = false
		if p.calls--; p.calls == 0 {
			p.signal()
		}
		return nil
	}
	return next
}

// record ends a call, once: it has failed or not, or its context has ended.
func (p *Prober) record(c *probeCall, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.of.call != c {
		return
	}
	c.of.call = nil
	c.stop()
	report := ProbeReport{Member: c.right.Member, Result: ProbePassed, Err: failure}
	// An answer that comes with the end of its time comes too late.
	cancelled := c.run.Err() != nil || c.ctx.Err() == context.Canceled
	switch report.TimedOut = !cancelled && c.ctx.Err() != nil; {
	case cancelled, report.TimedOut && p.cfg.OnTimeout == TimeoutCancels:
		report.Result = ProbeCancelled
	case report.TimedOut || failure != nil:
		report.Result = ProbeFailed
	}
	if report.TimedOut {
		report.Err = ErrTimedOut
	}
	c.cancel()
	counts := false
	report.State, counts = p.schedule.End(c.right, report.Result, report.TimedOut, time.Now())
	if cancelled {
		return
	}
	if !counts {
		report.Result, report.Err = ProbeDiscarded, nil
	}
	if p.cfg.Observe != nil {
		p.reports = append(p.reports, observedReport{c.of, report})
	}
	p.signal()
}

// leave ends the probes that are running and waits for their goroutines, for one
// Timeout at most.
func (p *Prober) leave(cancel context.CancelFunc) {
	p.mu.Lock()
	for _, m := range p.members {
		if m.call != nil {
			m.call.cancel()
		}
	}
	p.mu.Unlock()
	cancel()
	timer := time.NewTimer(p.cfg.Timeout)
	defer timer.Stop()
	for !p.returned() {
		select {
		case <-p.wake:
			continue
		case <-timer.C:
		}
		break
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members { // what has not been recorded yet
		if c := m.call; c != nil {
			m.call = nil
			c.stop()
			p.schedule.End(c.right, ProbeCancelled, false, time.Now())
		}
	}
}

// returned reports whether no probe is running.
func (p *Prober) returned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls == 0
}
