package health_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// realPassive is the PassiveHealth that a slow twin is compared with.
type realPassive struct {
	t failer
	*health.PassiveHealth
	endpoints []*health.PassiveEndpoint
	at        int64
}

func (r *realPassive) now() time.Time { return passiveStart.Add(time.Duration(r.at)) }

// due is when the next trial of the endpoint is due, if it is queued for one.
func (r *realPassive) due(i int) (at int64, queued bool) {
	until := r.endpoints[i].Inspect(r.now()).Until
	return int64(until.Sub(passiveStart)), !until.IsZero()
}

// passiveLaw plays a script on a PassiveHealth and its slow twin: each word is an
// operation in the low bits and numbers in the others.
//
// What endpoints do to calls lasts for a while, since verdicts need runs.
func passiveLaw(t failer, n int, cfg health.PassiveHealthConfig, script []uint32) {
	t.Helper()
	p, err := health.NewPassiveHealth(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	real := &realPassive{t: t, PassiveHealth: p}
	slow := newSlowPassive(cfg, n)
	for i := range n {
		real.endpoints = append(real.endpoints, p.Add(i, passiveStart))
	}
	var open []*slowPassiveCall
	moods := make([]uint32, n)
	for step, word := range script {
		i, number := int(word>>4%uint32(n)), word>>7
		switch word & 15 {
		case 0, 1, 2, 3, 4, 5, 6: // a round of calls
			for k := range n {
				k = (k + i) % n
				c := slow.begin(real, k)
				real.at += int64(time.Millisecond)
				slow.ends(real, c, moodOutcome(moods[k], number+uint32(k)), step)
			}
		case 7, 8: // some calls of one
			for k := range number % 8 {
				c := slow.begin(real, i)
				real.at += int64(number%100) * int64(time.Millisecond)
				slow.ends(real, c, moodOutcome(moods[i], number+k), step)
			}
		case 9:
			open = append(open, slow.begin(real, i))
		case 10:
			if len(open) > 0 {
				k := int(number) % len(open)
				c := open[k]
				slow.ends(real, c, outcomes[number>>4%uint32(len(outcomes))], step)
				if c.phase == 0 {
					open = append(open[:k], open[k+1:]...)
				}
			}
		case 11:
			moods[i] = number
		case 12:
			if j := slow.claim(number&1 == 0, real.at); !slow.trial(real, j, number&1 == 0, number>>1, &open, step) {
				t.Fatalf("step %d: a trial does not go to %d", step, j)
			}
		case 13:
			want := slow.leastRecentlyTried()
			e, ok := p.LeastRecentlyTried(func(any) bool { return true }, real.now())
			if ok != (want >= 0) || ok && e != real.endpoints[want] {
				t.Fatalf("step %d: the least recently tried is not %d", step, want)
			}
			if ok {
				c := slow.begin(real, want)
				slow.ends(real, c, moodOutcome(moods[want], number), step)
			}
		case 14:
			real.at += int64(number%3000) * int64(time.Millisecond)
		default:
			for range number%8 + 1 {
				real.at += int64(100 * time.Millisecond)
				_, got := p.Advance(real.now(), 0)
				if want := slow.advance(real, real.at); got != want {
					t.Fatalf("step %d: Advance has changed somebody: %t, want %t", step, got, want)
				}
			}
		}
		slow.agrees(real, step)
	}
}

var outcomes = []poise.Outcome{
	poise.Success, poise.Failure, poise.Overloaded, poise.Cancelled, poise.Unreachable, poise.Silent, poise.Invalid,
}

// moodOutcome is how an endpoint of the mood answers.
func moodOutcome(mood, number uint32) poise.Outcome {
	switch mood % 8 {
	case 1, 2:
		return poise.Failure
	case 3:
		return poise.Overloaded
	case 4:
		return poise.Unreachable
	case 5:
		if number%3 != 0 {
			return poise.Failure
		}
	case 6:
		if number%2 == 0 {
			return poise.Overloaded
		}
	case 7:
		return poise.Silent
	}
	return poise.Success
}

func (s *slowPassive) begin(real *realPassive, i int) *slowPassiveCall {
	e := s.endpoints[i]
	if e.state == health.Ejected {
		s.tries++
		e.tried = s.tries
	}
	e.waiting++
	return &slowPassiveCall{
		real: real.endpoints[i].Begin(real.now()), endpoint: i, began: real.at,
		heard: e.answered + e.spoke, others: e.waiting - 1, epoch: e.epoch, phase: 1,
	}
}

// ends ends a call, or begins its answer.
func (s *slowPassive) ends(real *realPassive, c *slowPassiveCall, o poise.Outcome, step int) {
	r := poise.Result{Outcome: o}
	e := real.endpoints[c.endpoint]
	phase := c.phase
	var got, want bool
	if phase == 1 && step%3 == 0 {
		got = e.Answered(&c.real, r, real.now())
		c.phase = 2
	} else {
		got = e.End(&c.real, r, real.now())
		c.phase = 0
	}
	switch {
	case phase == 1:
		want = s.end(real, c, r, real.at)
	case phase == 2 && o == poise.Failure:
		want = s.brokeOff(real, c, real.at)
	}
	if got != want {
		real.t.Fatalf("step %d: the end of a call of %d by %v has changed somebody: %t, want %t", step, c.endpoint, o, got, want)
	}
}

// trial makes the trial that the twin claimed for j. It reports whether the real one
// claims the same.
func (s *slowPassive) trial(real *realPassive, j int, repeatable bool, number uint32, open *[]*slowPassiveCall, step int) bool {
	e, call, ok := real.Trial(repeatable, func(any) bool { return true }, real.now())
	if ok != (j >= 0) {
		return false
	}
	if !ok {
		return true
	}
	if e != real.endpoints[j] {
		return false
	}
	twin := s.endpoints[j]
	twin.waiting++
	c := &slowPassiveCall{
		real: call, endpoint: j, began: real.at, heard: twin.answered + twin.spoke, others: twin.waiting - 1, epoch: twin.epoch,
		trial: twin.trial, repeatable: repeatable, phase: 1,
	}
	if number%4 == 0 {
		*open = append(*open, c)
		return true
	}
	real.at += int64(time.Millisecond)
	s.ends(real, c, outcomes[number%uint32(len(outcomes))], step)
	return true
}

// agrees compares every endpoint.
func (s *slowPassive) agrees(real *realPassive, step int) {
	for i, e := range s.endpoints {
		in := real.endpoints[i].Inspect(real.now())
		due, queued := real.due(i)
		switch {
		case in.State != e.state || in.Cause != e.cause || in.Run != e.run || in.Ejections != uint64(e.epoch):
			real.t.Fatalf("step %d: endpoint %d is %+v, want %v for %v, a run of %d, %d ejections", step, i, in, e.state, e.cause, e.run, e.epoch)
		case in.TrialRunning != (e.trial != 0) || queued != (e.state == health.Ejected && e.queued) || queued && due != e.due:
			real.t.Fatalf("step %d: endpoint %d is %+v, want a trial %d, queued %t for %d", step, i, in, e.trial, e.queued, e.due)
		case math.Abs(in.Share-e.share) > 1e-9:
			real.t.Fatalf("step %d: endpoint %d has the share %v, want %v", step, i, in.Share, e.share)
		case real.endpoints[i].Full() != e.full():
			real.t.Fatalf("step %d: endpoint %d is full: %t", step, i, !e.full())
		case real.endpoints[i].Ejected() != (e.state == health.Ejected):
			real.t.Fatalf("step %d: endpoint %d is ejected: %t", step, i, !real.endpoints[i].Ejected())
		}
	}
}

// passiveLawConfig is a config with every field set, and silence never judged.
func passiveLawConfig(seed uint64, odds float64, successes, misses, trials int) health.PassiveHealthConfig {
	return health.PassiveHealthConfig{
		Seed: seed, Odds: odds, PeerRate: 0.01, Misses: misses, MaxPartialPercent: 50, Silence: 90 * 365 * 24 * time.Hour, SilenceLatencies: 8,
		BusyTime: 50 * time.Millisecond, UnreachableBackoff: 100 * time.Millisecond, Backoff: 500 * time.Millisecond, MaxBackoff: 4 * time.Second,
		TrialShare: 0.05, Trials: trials, ReturnSuccesses: successes, MinShare: 0.1, MaxRetryAfter: time.Second,
	}
}

// passiveScript is a script of the length: verdicts need long ones, of which a part is
// no simpler than the whole, so that they are drawn by their seed.
func passiveScript(seed uint64, length int) (script []uint32) {
	chance := poise.NewGenerator(seed)
	for range length {
		script = append(script, uint32(chance.Uint64()))
	}
	return script
}

// Claim: Used by one goroutine, equal seeds and equal inputs give equal results.
func TestPassiveHealth_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := passiveLawConfig(
			rapid.Uint64Min(1).Draw(t, "seed"), rapid.SampledFrom([]float64{10, 1e4, 1e7}).Draw(t, "odds"),
			rapid.IntRange(1, 6).Draw(t, "successes"), rapid.IntRange(1, 3).Draw(t, "misses"), rapid.IntRange(1, 3).Draw(t, "trials"),
		)
		script := passiveScript(rapid.Uint64().Draw(t, "script"), rapid.IntRange(1, 600).Draw(t, "length"))
		passiveLaw(t, rapid.IntRange(1, 6).Draw(t, "endpoints"), cfg, script)
	})
}
