package sim

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// NewLoop returns the shipped loop with default settings, and the policy of the
// scenario: where its servers have several priorities, that policy inside of
// Priority.
func NewLoop(s Setup) (Subject, error) { return NewLoopWith(s, dispatch.LoopConfig{}) }

// NewBareLoop returns the shipped loop without passive health and without retries:
// what the policy does alone.
func NewBareLoop(s Setup) (Subject, error) {
	var cfg dispatch.LoopConfig
	cfg.Passive.Off, cfg.Retry.Off = true, true
	return NewLoopWith(s, cfg)
}

// NewLoopWithoutPassiveHealth returns the shipped loop, passive health off.
func NewLoopWithoutPassiveHealth(s Setup) (Subject, error) {
	var cfg dispatch.LoopConfig
	cfg.Passive.Off = true
	return NewLoopWith(s, cfg)
}

// NewLoopWithoutRetries returns the shipped loop, retries off.
func NewLoopWithoutRetries(s Setup) (Subject, error) {
	var cfg dispatch.LoopConfig
	cfg.Retry.Off = true
	return NewLoopWith(s, cfg)
}

// NewLoopWith returns the shipped loop with settings of one's own. Policy, Seed, Wake
// and Observer are set by the run.
func NewLoopWith(s Setup, cfg dispatch.LoopConfig) (Subject, error) {
	chosen, err := policyOf(s)
	if err != nil {
		return nil, err
	}
	l := &loopSubject{ejected: make([]bool, len(s.Scenario.Servers)), servers: map[string]int{}}
	cfg.Policy, cfg.Seed, cfg.Wake, cfg.Observer = chosen, s.Seed, l.wake, l
	if l.loop, err = dispatch.NewLoop(cfg); err != nil {
		return nil, err
	}
	return l, nil
}

// keyed are the policies that need a key.
var keyed = map[string]bool{"ring-hash": true, "maglev": true, "rendezvous": true}

func policyOf(s Setup) (poise.Policy, error) {
	make := policies[s.Policy]
	several := false
	for _, server := range s.Scenario.Servers {
		several = several || server.Priority != s.Scenario.Servers[0].Priority
	}
	if !several || s.Policy == "priority" {
		return make(s.Seed)
	}
	return policy.NewPriority(policy.TopologyConfig{Endpoint: make, ByKey: keyed[s.Policy], Seed: s.Seed})
}

// loopSubject drives a dispatch.Loop as a driver and a face would.
type loopSubject struct {
	observe.Nobody
	loop    *dispatch.Loop
	calls   []*loopCall // by slot
	specs   []dispatch.Spec
	servers map[string]int
	ejected []bool
	awake   bool
	changed bool
}

// loopCall is what the loop keeps of one call.
type loopCall struct {
	attempts dispatch.Attempts
	call     dispatch.Call
}

func (l *loopSubject) wake() { l.awake = true }

// Published notes whom the publication left out, or took back.
func (l *loopSubject) Published(p observe.Published) {
	for _, c := range p.Changed {
		if server, known := l.servers[c.ID]; known {
			l.ejected[server] = c.Is == poise.ExcludedEjected
			l.changed = true
		}
	}
}

func (l *loopSubject) Update(members []Member, now time.Time) error {
	l.specs = l.specs[:0]
	for _, m := range members {
		weight, err := poise.NewWeight(m.Weight)
		if err != nil {
			return err
		}
		spec := dispatch.Spec{Limit: m.Limit, Value: m.Server, Sample: poise.Sample{
			ID: m.ID, Incarnation: m.Incarnation, Weight: weight, Priority: m.Priority,
		}}
		if m.Draining {
			spec.Status = poise.Draining
		}
		l.specs = append(l.specs, spec)
		l.servers[m.ID] = m.Server
	}
	err := l.loop.Update(l.specs, now)
	for i := range l.ejected {
		l.ejected[i] = false
	}
	for _, m := range l.loop.Inspect(now).Members {
		l.ejected[l.servers[m.ID]] = m.Reason == poise.ExcludedEjected
	}
	l.changed = true
	return err
}

func (l *loopSubject) Begin(c *Call) {
	for c.Slot >= len(l.calls) {
		l.calls = append(l.calls, new(loopCall))
	}
	l.calls[c.Slot].attempts = dispatch.Attempts{}
}

func (l *loopSubject) Acquire(c *Call, now time.Time) (int, error) {
	of := l.calls[c.Slot]
	err := l.loop.Acquire(&of.call, dispatch.Query{
		Key: poise.Uint64Key(c.Key), Now: now, Attempts: &of.attempts, Repeatable: c.Repeatable,
	})
	if err != nil {
		return 0, err
	}
	return of.call.Value().(int), nil
}

func (l *loopSubject) Answered(c *Call, r poise.Result, now time.Time) {
	l.calls[c.Slot].call.Answered(r, now)
}

func (l *loopSubject) End(c *Call, r poise.Result, now time.Time) { l.calls[c.Slot].call.End(r, now) }

func (l *loopSubject) Next(c *Call, r poise.Result, repeatable bool, now time.Time) Step {
	step := l.loop.Next(&l.calls[c.Slot].attempts, r, repeatable, now)
	return Step{Repeat: step.Action == dispatch.Repeat, Wait: step.Wait}
}

func (l *loopSubject) Advance(now time.Time) (time.Time, error) {
	l.awake = false
	return l.loop.Advance(now)
}

func (l *loopSubject) Awake() bool { return l.awake }

func (l *loopSubject) Changed() bool {
	was := l.changed
	l.changed = false
	return was
}

func (l *loopSubject) Ejected(server int) bool { return l.ejected[server] }
