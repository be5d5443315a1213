package fuzz

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// endpoint is one as it looks to somebody who only counts.
type endpoint struct {
	*health.PassiveEndpoint
	number        int
	removed, paid bool // paid: its trial is running and costs a call
}

// fleet is a PassiveHealth, the calls under way, and what the budget has earned and spent.
type fleet struct {
	t         *testing.T
	h         *health.PassiveHealth
	cfg       health.PassiveHealthConfig
	now       time.Time
	added     int
	endpoints []*endpoint
	calls     []fleetCall
	earned    float64
	spent     int
}

type fleetCall struct {
	*health.PassiveCall
	at         *endpoint
	repeatable bool
}

// lostEarns is what a lost call may earn for trials.
const lostEarns = 0.1

func (w *fleet) add() {
	if len(w.endpoints) < 6 {
		w.endpoints = append(w.endpoints, &endpoint{PassiveEndpoint: w.h.Add(w.added, w.now), number: w.added})
		w.added++
	}
}

func (w *fleet) out() (out []bool) {
	for _, p := range w.endpoints {
		out = append(out, p.Ejected())
	}
	return out
}

// during makes an operation, and holds what it says of changes against what changed.
// gives is whether a trial that it ends in an endpoint that stays out is given back.
func (w *fleet) during(what string, gives bool, do func() (changed bool)) {
	w.t.Helper()
	before := w.out()
	said, changed := do(), false
	running := 0
	for i, p := range w.endpoints {
		in := p.Inspect(w.now)
		changed = changed || i < len(before) && before[i] != p.Ejected()
		switch {
		case p.Ejected() != (in.State == health.Ejected), (in.Cause != health.NotEjected) != p.Ejected():
			w.t.Fatalf("after %s %d is %+v, ejected %t", what, p.number, in, p.Ejected())
		case in.Share <= 0 || in.Share > 1 || in.Run < 0 || in.TrialRunning && !p.Ejected():
			w.t.Fatalf("after %s %d is %+v", what, p.number, in)
		case p.removed && (p.Ejected() || in.TrialRunning || in.Run != 0):
			w.t.Fatalf("after %s the removed %d is %+v", what, p.number, in)
		}
		if in.TrialRunning {
			running++
		} else if p.paid {
			p.paid = false
			if p.Ejected() && !gives {
				w.spent++
			}
		}
	}
	if said != changed {
		w.t.Fatalf("%s says that Ejected has changed: %t, and it has: %t", what, said, changed)
	}
	if running > w.cfg.Trials {
		w.t.Fatalf("after %s %d trials run", what, running)
	}
	held := 0
	for _, p := range w.endpoints {
		if p.paid {
			held++
		}
	}
	if float64(w.spent+held) > w.earned+1e-6 {
		w.t.Fatalf("after %s %d trials are spent and %d run, of %v", what, w.spent, held, w.earned)
	}
}

func (w *fleet) begins(p *endpoint, c health.PassiveCall, repeatable bool) {
	if len(w.calls) < 24 {
		w.calls = append(w.calls, fleetCall{&c, p, repeatable})
	}
}

func (w *fleet) tries(mask byte, repeatable bool) {
	allow := func(value any) bool { return mask>>(value.(int)%8)&1 == 1 }
	before := map[*health.PassiveEndpoint]health.PassiveInspection{}
	for _, p := range w.endpoints {
		before[p.PassiveEndpoint] = p.Inspect(w.now)
	}
	e, c, ok := w.h.Trial(repeatable, allow, w.now)
	if !ok {
		return
	}
	for _, p := range w.endpoints {
		if p.PassiveEndpoint != e {
			continue
		}
		if in := before[e]; p.removed || in.State != health.Ejected || in.TrialRunning || !allow(p.number) || !c.Trial() {
			w.t.Fatalf("the trial of %d, which is %+v", p.number, in)
		}
		p.paid = before[e].Cause != health.EjectedUnreachable
		w.begins(p, c, repeatable)
	}
}

func (w *fleet) ends(at int, outcome poise.Outcome, answered bool) {
	if len(w.calls) == 0 {
		return
	}
	at %= len(w.calls)
	c := w.calls[at]
	r := poise.Result{Outcome: outcome}
	// A success may be told that the fleet does not count, and never the other way round.
	if outcome == poise.Success {
		w.earned += w.cfg.TrialShare
	} else if outcome.IsFailure() {
		w.earned += lostEarns
	}
	free := c.Trial() && (outcome == poise.Invalid || outcome == poise.Unreachable || outcome == poise.Overloaded && c.repeatable)
	if answered {
		w.during("Answered", free, func() bool { return c.at.Answered(c.PassiveCall, r, w.now) })
	}
	w.during("End", free, func() bool { return c.at.End(c.PassiveCall, r, w.now) })
	w.during("a second End", false, func() bool { return c.at.End(c.PassiveCall, poise.Result{Outcome: poise.Unreachable}, w.now) })
	w.calls[at] = w.calls[len(w.calls)-1]
	w.calls = w.calls[:len(w.calls)-1]
}

func (w *fleet) step(op, arg byte) {
	var p *endpoint
	if len(w.endpoints) > 0 {
		p = w.endpoints[int(arg)%len(w.endpoints)]
	}
	switch op % 12 {
	case 0, 1:
		if p != nil {
			c := p.Begin(w.now)
			c.SetKey(uint64(arg >> 5))
			w.begins(p, c, false)
		}
	case 2, 3:
		w.ends(int(arg>>3), poise.Outcome(arg%7), op >= 128)
	case 4:
		w.ends(int(arg), poise.Success, op >= 128)
	case 5:
		w.tries(arg, op < 128)
	case 6:
		w.now = w.now.Add(time.Duration(arg) * time.Millisecond)
		w.during("Advance", false, func() bool {
			_, changed := w.h.Advance(w.now, time.Duration(op/12)*10*time.Millisecond)
			return changed
		})
	case 7:
		if p != nil {
			w.during("Probe", false, func() bool { return p.Probe(op < 200, w.now) })
		}
	case 8:
		w.add()
	case 9:
		if p != nil {
			out := p.Ejected()
			p.removed = true
			w.during("Remove", true, func() bool { w.h.Remove(p.PassiveEndpoint, w.now); return out })
		}
	case 10:
		step := time.Duration(arg) * time.Second
		if op >= 128 {
			step = -step
		}
		w.now = w.now.Add(step)
	default:
		w.asks(p, arg)
	}
}

// asks asks for one of the ejected, and makes a call instead of a suspect's.
func (w *fleet) asks(p *endpoint, arg byte) {
	somebody, found := false, (*endpoint)(nil)
	e, ok := w.h.LeastRecentlyTried(func(any) bool { return true }, w.now)
	for _, q := range w.endpoints {
		somebody = somebody || q.Ejected()
		if q.PassiveEndpoint == e {
			found = q
		}
	}
	if ok != somebody || ok && !found.Ejected() {
		w.t.Fatalf("LeastRecentlyTried found %v, %t; somebody is ejected: %t", found, ok, somebody)
	}
	if p != nil && len(w.endpoints) > 1 {
		other := w.endpoints[(int(arg)+1)%len(w.endpoints)]
		c := other.BeginFor(p.PassiveEndpoint, w.now)
		w.begins(other, c, false)
	}
	if share := w.h.OverloadedShare(w.now); !(share >= 0 && share <= 1) {
		w.t.Fatalf("the overloaded share is %v", share)
	}
}

// Claim: At most one trial of an endpoint runs at once.
// Claim: What becomes of a call counts for nothing after Remove.
// Claim: LeastRecentlyTried returns an ejected endpoint while there is one that allow lets through.
// Claim: The first End of a call counts, and every later one changes nothing.
func FuzzPassiveHealth(f *testing.F) {
	f.Add(uint64(0), []byte{8, 0, 8, 0, 0, 0, 2, 4, 6, 200, 5, 255, 4, 0, 11, 1})
	f.Fuzz(func(t *testing.T, sizes uint64, script []byte) {
		size := func(n uint64) int {
			k := int(sizes % n)
			sizes /= n
			return k + 1
		}
		w := &fleet{t: t, now: time.Unix(1<<32, 0)}
		w.cfg = health.PassiveHealthConfig{
			Seed: 1, Trials: size(4), Misses: size(3), ReturnSuccesses: size(5), Divert: size(2) == 2, Odds: []float64{10, 1e3, 1e7}[size(3)-1],
			TrialShare: 1 / float64(size(40)), UnreachableBackoff: time.Duration(size(1000)) * time.Millisecond, Backoff: time.Duration(size(1000)) * time.Millisecond,
			BusyTime: time.Duration(size(300)) * time.Millisecond, MaxPartialPercent: size(100),
		}
		h, err := health.NewPassiveHealth(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.h = h
		w.add()
		w.add()
		for i := 0; i+1 < min(len(script), 4096); i += 2 {
			w.step(script[i], script[i+1])
		}
		w.recovers()
	})
}

// lastResort sends a call to an ejected endpoint where nobody else is left: nobody earns
// a trial for it then.
func (w *fleet) lastResort() {
	for _, p := range w.endpoints {
		if !p.removed && !p.Ejected() {
			return
		}
	}
	e, ok := w.h.LeastRecentlyTried(func(any) bool { return true }, w.now)
	for _, p := range w.endpoints {
		if ok && p.PassiveEndpoint == e {
			w.begins(p, p.Begin(w.now), true)
			w.ends(0, poise.Success, false)
		}
	}
}

// recovers lets every call end, time pass and every endpoint succeed: then all are back,
// so that no trial, token or place in a queue has been lost.
func (w *fleet) recovers() {
	for len(w.calls) > 0 {
		w.ends(0, poise.Cancelled, false)
	}
	for range 200 {
		w.now = w.now.Add(time.Minute)
		w.during("Advance", false, func() bool { _, changed := w.h.Advance(w.now, 0); return changed })
		for range w.endpoints {
			w.tries(255, true)
		}
		for len(w.calls) > 0 {
			w.ends(0, poise.Success, false)
		}
		w.lastResort()
		for _, p := range w.endpoints {
			for range 8 {
				if !p.Ejected() {
					w.begins(p, p.Begin(w.now), true)
					w.ends(0, poise.Success, false)
				}
			}
		}
	}
	for _, p := range w.endpoints {
		if in := p.Inspect(w.now); !p.removed && (in.State != health.Serving || in.Share != 1 || in.Run != 0) {
			w.t.Fatalf("in the end %d is %+v", p.number, in)
		}
	}
}
