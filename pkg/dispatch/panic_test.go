package dispatch_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// fusePolicy is a RoundRobin whose picks panic while the fuse burns.
type fusePolicy struct {
	policy.RoundRobin
	burns *bool
}

func (p *fusePolicy) Prepare(v *poise.View) (poise.Picker, error) {
	picker, err := p.RoundRobin.Prepare(v)
	return fusePicker{picker, p.burns}, err
}

type fusePicker struct {
	poise.Picker
	burns *bool
}

func (p fusePicker) Pick(q poise.Query) (poise.Selection, error) {
	if *p.burns {
		*p.burns = false
		panic("boom")
	}
	return p.Picker.Pick(q)
}

// Claim: A panic of the policy or of a tracker, while a call waits, is the error of that call and of nobody else.
func TestBalancer_APanicForAWaitingCallIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		burns := false
		b, err := dispatch.New(dispatch.Config[string]{
			Loop:    dispatch.LoopConfig{Policy: &fusePolicy{burns: &burns}},
			Members: []dispatch.Member[string]{{ID: "a", Endpoint: "a", Limit: 1}},
			MaxWait: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		var first dispatch.Call
		if err := b.Acquire(t.Context(), dispatch.Query{}, &first); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		wait := func() {
			var c dispatch.Call
			err := b.Acquire(context.Background(), dispatch.Query{}, &c)
			c.End(poise.Result{}, time.Now())
			errs <- err
		}
		go wait()
		synctest.Wait()
		go wait()
		synctest.Wait()
		burns = true
		if !first.End(poise.Result{}, time.Now()) {
			t.Error("the end of the other call was not told")
		}
		one, two := <-errs, <-errs
		if one == nil {
			one, two = two, one
		}
		if !errors.Is(one, dispatch.ErrPolicyPanic) || two != nil {
			t.Errorf("the waiters got %v and %v, want the panic and nothing", one, two)
		}
	})
}

// callsBack is an Observer that asks the Balancer, and panics.
type callsBack struct{ ask *func() }

func (o callsBack) tell() {
	if *o.ask != nil {
		(*o.ask)()
		panic("boom")
	}
}
func (o callsBack) Refused(observe.Refusal)     { o.tell() }
func (o callsBack) Ended(observe.Ended)         { o.tell() }
func (o callsBack) Published(observe.Published) { o.tell() }

// Claim: An Observer is told under no lock, and may call the loop.
// Code: pkg/dispatch.membership.tell, pkg/dispatch.quietly
//
// Claim: A panic of an Observer is dropped.
// Code: pkg/dispatch.quietly
func TestObserver_MayCallTheBalancerAndPanic(t *testing.T) {
	var ask func()
	told := 0
	b, err := dispatch.New(dispatch.Config[string]{
		Loop:    dispatch.LoopConfig{Policy: new(policy.RoundRobin), Observer: callsBack{&ask}},
		Members: []dispatch.Member[string]{{ID: "a", Endpoint: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask = func() {
		told++
		_ = b.Endpoints()
		_ = b.ForceCondition("a", 0)
	}
	var c dispatch.Call
	if err := b.Acquire(t.Context(), dispatch.Query{}, &c); err != nil || !c.End(poise.Result{}, time.Now()) {
		t.Errorf("a call: %v", err)
	}
	if err := b.Update([]dispatch.Member[string]{{ID: "b", Endpoint: "b"}}); err != nil {
		t.Error(err)
	}
	if err := b.SetStatus("b", poise.Draining); err != nil {
		t.Error(err)
	}
	if err := b.Acquire(t.Context(), dispatch.Query{}, &c); !errors.Is(err, poise.ErrNoEligible) {
		t.Errorf("everybody drains: %v", err)
	}
	if told < 4 {
		t.Errorf("the observer was told %d times", told)
	}
	ask = nil
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestBalancer_APanicOfPublishedIsDropped(t *testing.T) {
	panics := false
	b, err := dispatch.New(dispatch.Config[string]{
		Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin), Published: func() {
			if panics {
				panic("boom")
			}
		}},
		Members: []dispatch.Member[string]{{ID: "a", Endpoint: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	panics = true
	if err := b.SetStatus("a", poise.Draining); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestBalancer_APanicOfLoadLeavesTheMemberOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := discovery.New(discovery.Config[string]{Equal: func(a, b string) bool { return a == b }})
		if err != nil {
			t.Fatal(err)
		}
		source, err := dispatch.DirectorySource(dispatch.DirectoryConfig[string, string]{
			Directory: d, Connect: func(m discovery.Member[string]) (string, error) { return m.Value, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := dispatch.New(dispatch.Config[string]{
			Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin), Load: func(*poise.InFlight) (poise.LoadTracker, error) {
				panic("boom")
			}},
			Source: source,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		session, err := d.Open("s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Reconcile([]discovery.Entry[string]{{ID: "a", Value: "a"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := b.PublishError(); !errors.Is(err, dispatch.ErrMemberPanic) {
			t.Errorf("PublishError is %v", err)
		}
	})
}

func TestNew_RefusesAnEndpointThatIsNotItself(t *testing.T) {
	_, err := dispatch.New(dispatch.Config[float64]{
		Loop:    dispatch.LoopConfig{Policy: new(policy.RoundRobin)},
		Members: []dispatch.Member[float64]{{ID: "a", Endpoint: math.NaN()}},
	})
	requireField(t, err, "members[0].Endpoint", dispatch.ErrNotComparable)
	if text := new(dispatch.MemberError).Error(); text == "" {
		t.Error("the zero MemberError has no text")
	}
}
