package poisehttp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// published is what calls read: a picker and the members its View was made of.
type published struct {
	view    *poise.View
	picker  poise.Picker
	members []*member
	closed  bool
}

// neverOpen is what calls of a zero Balancer read.
var neverOpen = published{closed: true}

// publishAgain is how long after a failed publication the next one is tried.
const publishAgain = time.Second

// prepare makes a View and a Picker of the members. Requires mu.
func (b *Balancer) prepare(members []*member) (*published, error) {
	if !b.cfg.Health.off() {
		now := time.Now()
		for _, m := range members {
			m.signals.at = now
		}
	}
	candidates := make([]poise.Candidate, len(members))
	for i, m := range members {
		candidates[i] = m
	}
	view, err := poise.NewView(candidates)
	if err != nil {
		return nil, asMembers(err)
	}
	picker, err := compile(b.cfg.Policy, view)
	if err != nil {
		return nil, err
	}
	return &published{view: view, picker: picker, members: members}, nil
}

// asMembers returns the error of a View in the words of the list it was made of.
func asMembers(err error) error {
	refused, ok := errors.AsType[*poise.FieldError](err)
	if !ok {
		return err
	}
	field, _ := strings.CutPrefix(refused.Field, "candidates")
	return &poise.FieldError{Field: "members" + field, Value: refused.Value, Err: refused.Err}
}

// compile has the policy prepare the view. A panic becomes an error: it may be the
// view's fault, and must end neither the process nor the following of changes.
func compile(policy poise.Policy, view *poise.View) (picker poise.Picker, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPolicyPanic, v)
		}
	}()
	picker, err = policy.Prepare(view)
	if err == nil && picker == nil {
		err = errNoPicker
	}
	return picker, err
}

// errNoPicker is the error of a policy that breaks the rules of poise.Policy.
var errNoPicker = errors.New("poisehttp: policy returned neither picker nor error")

// publish makes calls see it. Requires mu.
func (b *Balancer) publish(next *published) {
	b.note(next)
	b.current.Store(next)
	b.publishErr = nil
}

// poke tells the goroutine to look at quarantines and directory. It never waits.
func (b *Balancer) poke() { b.kick.Load().Fire() }

// control keeps the published picker in step with the quarantines and the directory,
// off the request path: it publishes when an endpoint was set aside, when its time
// is over, and when there is a newer snapshot.
func (b *Balancer) control() {
	defer close(b.done)
	defer b.watch()()
	defer b.timer.Stop()
	for b.kick.Load().Wait(b.open) == nil {
		// Renewed before the look: what changes after it brings another one.
		b.kick.Store(new(syncx.Event))
		if wait := b.refresh(time.Now()); wait > 0 {
			b.timer.Reset(wait)
		}
		b.tell(true)
	}
}

// refresh takes what is new in the directory and in the quarantines, publishes, and
// returns when to look again; 0 for not before the next poke.
func (b *Balancer) refresh(now time.Time) (wait time.Duration) {
	if b.load().closed {
		return 0
	}
	wait = sooner(b.comeBack(now), b.sweep(now))
	taken, again := b.follow(now)
	if !taken {
		wait = sooner(wait, b.republish())
	}
	return sooner(sooner(wait, again), b.finishDrains(now))
}

// sooner returns the shorter of two times to wait, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// comeBack ends the quarantines that are over, and returns when the next one is.
func (b *Balancer) comeBack(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.members {
		if b.ward.overfull() { // a change has left too few who serve
			m.quarantine.release()
		}
		wait = sooner(wait, m.quarantine.Return(now))
	}
	return wait
}

// republish publishes the members as they are now, and returns when to try again
// if that fails.
func (b *Balancer) republish() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.load().closed {
		return 0
	}
	next, err := b.prepare(b.members)
	if err != nil {
		b.publishErr = err
		return publishAgain
	}
	b.publish(next)
	return 0
}
