package fuzz

import (
	"errors"
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// trial is a permit as its holder notes it.
type trial struct {
	health.Permit
	epoch   uint64
	since   time.Time
	over    error // why it acts no more, if it does not
	counted bool  // it takes a place of the half-open circuit
}

// bystander is told of each event, and notes what a person would on paper: since
// when and until when, who is out, and how the latest calls ended.
type bystander struct {
	t       *testing.T
	c       *health.Circuit
	cfg     health.CircuitConfig
	told    []health.CircuitEvent
	now     time.Time
	mode    health.CircuitMode
	epoch   uint64
	since   time.Time
	wait    time.Duration
	whole   time.Duration // of the latest time open since it was closed; 0 if none
	row     int
	latest  []bool
	good    int
	permits []*trial
}

// gone reports whether a span is over, in whichever direction the clock went.
func (b *bystander) gone(since time.Time, span time.Duration) bool {
	passed := b.now.Sub(since)
	return passed >= span || passed <= -span
}

func (b *bystander) out() (n int) {
	for _, p := range b.permits {
		if p.counted && !b.gone(p.since, b.cfg.MaxHold) {
			n++
		}
	}
	return n
}

func (b *bystander) available() bool {
	switch b.mode {
	case health.Open:
		return b.gone(b.since, b.wait)
	case health.HalfOpen:
		return b.out() < b.cfg.Trials
	}
	return true
}

// turns notes a transition, which must have been told just so.
func (b *bystander) turns(to health.CircuitMode, cause health.CircuitCause) {
	b.t.Helper()
	b.epoch++
	want := health.CircuitEvent{From: b.mode, To: to, Epoch: b.epoch, Cause: cause, At: b.now}
	if len(b.told) != 1 {
		b.t.Fatalf("told %+v, want one event to %s", b.told, to)
	}
	got := b.told[0]
	b.told = nil
	b.wait, got.OpenFor = got.OpenFor, 0
	if got != want {
		b.t.Fatalf("told %+v, want %+v", got, want)
	}
	switch {
	case to == health.Closed:
		b.whole = 0
	case to == health.Open && (b.whole == 0 || cause == health.CauseForced):
		b.whole = b.cfg.OpenFor
	case to == health.Open && b.whole > b.cfg.MaxOpenFor/2:
		b.whole = b.cfg.MaxOpenFor
	case to == health.Open:
		b.whole *= 2
	}
	if to == health.Open && (b.wait < 1 || b.wait < b.whole-b.whole/2 || b.wait > b.whole) {
		b.t.Fatalf("open for %v of %v", b.wait, b.whole)
	}
	b.mode, b.since, b.row, b.good, b.latest = to, b.now, 0, 0, nil
	for _, p := range b.permits {
		p.counted = false
	}
}

// reclaims is what happens at the head of Acquire and End.
func (b *bystander) reclaims() {
	for _, p := range b.permits {
		switch {
		case !p.counted:
		case b.gone(p.since, b.cfg.MaxHold):
			p.counted, p.over = false, health.ErrPermitExpired
		case b.now.Before(p.since):
			p.since = b.now
		}
	}
}

func (b *bystander) acquires() {
	available := b.c.Available(b.now)
	p, err := b.c.Acquire(b.now)
	b.reclaims()
	if want := b.available(); available != want || (err == nil) != want {
		b.t.Fatalf("Available is %t and Acquire answers %v, want %t", available, err, want)
	}
	var refused *health.CircuitError
	switch {
	case err == nil:
		if b.mode == health.Open {
			b.turns(health.HalfOpen, health.CauseTime)
		}
		half := b.mode == health.HalfOpen
		b.permits = append(b.permits, &trial{Permit: p, epoch: b.epoch, since: b.now, counted: half})
	case !errors.As(err, &refused):
		b.t.Fatalf("Acquire answers %v", err)
	case b.mode == health.Open:
		if b.now.Before(b.since) {
			b.since = b.now
		}
		if left := b.wait - b.now.Sub(b.since); refused.Err != health.ErrOpen || refused.RetryAfter != left {
			b.t.Fatalf("refused by %v, want %v to be left", err, left)
		}
	case refused.Err != health.ErrTrialsTaken || refused.RetryAfter != 0:
		b.t.Fatalf("refused by %v", err)
	}
}

func (b *bystander) ends(p *trial, outcome poise.Outcome) {
	err := b.c.End(p.Permit, outcome, b.now)
	b.reclaims()
	want := p.over
	if want == nil && p.epoch != b.epoch {
		want = health.ErrPermitStale
	}
	if err != want {
		b.t.Fatalf("End of %s answers %v, want %v", outcome, err, want)
	}
	if p.over == nil {
		p.over, p.counted = health.ErrPermitEnded, false
	}
	if err == nil && outcome < poise.Cancelled {
		b.counts(outcome != poise.Success)
	}
}

func (b *bystander) counts(failed bool) {
	if b.mode == health.HalfOpen {
		if b.good++; failed {
			b.turns(health.Open, health.CauseTrialFailed)
		} else if b.good == b.cfg.Successes {
			b.turns(health.Closed, health.CauseTrialsSucceeded)
		}
		return
	}
	if b.row++; !failed {
		b.row = 0
	}
	if b.latest = append(b.latest, failed); len(b.latest) > b.cfg.Window {
		b.latest = b.latest[1:]
	}
	bad := 0
	for _, failed := range b.latest {
		if failed {
			bad++
		}
	}
	switch {
	case b.row == b.cfg.Failures:
		b.turns(health.Open, health.CauseFailures)
	case b.cfg.Window > 0 && len(b.latest) >= b.cfg.MinSamples && bad*100 >= b.cfg.FailurePercent*len(b.latest):
		b.turns(health.Open, health.CauseFailureRate)
	}
}

// agrees compares what is asked with what was noted.
func (b *bystander) agrees() {
	left, waits := b.c.NextChange(b.now)
	state := b.c.State(b.now)
	switch want := b.available(); {
	case b.c.Available(b.now) != want || waits == want || waits != (left > 0):
		b.t.Fatalf("Available is %t, NextChange %v and %t, want %t", !want, left, waits, want)
	case state.Mode != b.mode || state.Epoch != b.epoch || state.Trials != b.out():
		b.t.Fatalf("State is %+v, want %s of epoch %d with %d out", state, b.mode, b.epoch, b.out())
	case waits && left < math.MaxInt64 && !b.c.Available(b.now.Add(left)):
		b.t.Fatalf("%v later it is not available", left)
	case len(b.told) > 0:
		b.t.Fatalf("told %+v", b.told)
	}
}

// spanOf makes a positive duration of any number.
func spanOf(n int64) time.Duration {
	switch {
	case n == math.MinInt64:
		return math.MaxInt64
	case n == 0:
		return 1
	}
	return time.Duration(max(n, -n))
}

// Claim: The configured number of failures in a row opens a closed circuit; a success in between starts the count again.
//
// Claim: A half-open circuit never has more permits out than configured.
//
// Claim: A permit of an earlier epoch changes nothing: neither its result nor its end counts.
//
// Claim: Acquire gives a permit exactly when Available at that instant is true.
//
// Claim: Each time open is between half of the whole and the whole of it, which doubles with each opening up to the longest; closing forgets that.
//
// Cases: B18, B19, B20, B21, B22, B31, G4, G19.
func FuzzCircuit(f *testing.F) {
	f.Add(uint64(0), int64(time.Second), int64(time.Minute), int64(time.Second), uint64(1), []byte{0, 1, 0, 1, 0, 1, 4, 255, 0, 0, 2})
	f.Add(uint64(0xffff), int64(1), int64(math.MaxInt64), int64(math.MinInt64), uint64(0), []byte{0, 0, 1, 0, 6, 0, 5, 255, 0, 7, 9, 0})
	f.Fuzz(func(t *testing.T, sizes uint64, open, longest, hold int64, seed uint64, script []byte) {
		b := &bystander{t: t, now: time.Unix(1<<32, 0)}
		size := func(n uint64) int {
			k := int(sizes % n)
			sizes /= n
			return k + 1
		}
		cfg := health.CircuitConfig{
			Failures: size(4), Trials: size(3), Successes: size(3), OpenFor: spanOf(open), MaxHold: spanOf(hold),
			Chance: poise.NewGenerator(seed), Observer: func(e health.CircuitEvent) { b.told = append(b.told, e) },
		}
		cfg.MaxOpenFor = max(cfg.OpenFor, spanOf(longest))
		if cfg.Window = size(130) - 1; cfg.Window > 0 {
			cfg.MinSamples, cfg.FailurePercent = size(uint64(cfg.Window)), size(100)
		}
		c, err := health.NewCircuit(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b.c, b.cfg = c, cfg
		for step := 0; step+1 < len(script); step += 2 {
			argument := script[step+1]
			b.step(script[step]%8, argument)
			b.agrees()
		}
	})
}

// step makes one operation. Instants move by shares of a time open or of a hold,
// or by as much as a Duration holds.
func (b *bystander) step(op, argument byte) {
	share := time.Duration(argument)
	switch op {
	case 0:
		b.acquires()
	case 1, 2, 3: // one of the latest permits fails, succeeds, or ends in any way
		if len(b.permits) == 0 {
			return
		}
		p := b.permits[len(b.permits)-1-int(argument)%min(len(b.permits), 4)]
		b.ends(p, []poise.Outcome{poise.Failure, poise.Success, poise.Outcome(argument >> 2 % 6)}[op-1])
	case 4:
		b.now = b.now.Add(b.cfg.OpenFor / 128 * share)
	case 5:
		b.now = b.now.Add(-b.cfg.OpenFor / 128 * share)
	case 6:
		b.now = b.now.Add(b.cfg.MaxHold / 128 * share)
	default:
		switch argument % 8 {
		case 0:
			b.c.ForceOpen(b.now)
			b.turns(health.Open, health.CauseForced)
		case 1:
			b.c.ForceClose(b.now)
			b.turns(health.Closed, health.CauseForced)
		case 2:
			b.now = b.now.Add(math.MaxInt64)
		case 3:
			b.now = b.now.Add(math.MinInt64)
		default:
			b.now = b.now.Add(share - 130)
		}
	}
}
