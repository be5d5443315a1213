package dispatch_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// ward counts the calls that a member holds, and knows when it was released.
type ward struct {
	limit    int64
	inside   atomic.Int64
	released atomic.Bool
}

// Many callers, changes of every kind and a driver at once.
//
// Claim: Each value of a member that was removed is released once, when its last call has ended.
//
// Claim: A call is refused only while no eligible member that it may go to has room.
//
// Cases: B45, B46.
func TestLoop_HoldsUnderManyGoroutines(t *testing.T) {
	l, err := dispatch.NewLoop(dispatch.LoopConfig{Policy: newTwoChoices(t), PublishEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var clock atomic.Int64
	now := func() time.Time { return epoch.Add(time.Duration(clock.Add(int64(10 * time.Microsecond)))) }
	var mu sync.Mutex
	all := map[uint64]*ward{}
	spec := func(id int, incarnation uint64) dispatch.Spec {
		mu.Lock()
		defer mu.Unlock()
		w := all[incarnation]
		if w == nil {
			w = &ward{limit: 5}
			all[incarnation] = w
		}
		return dispatch.Spec{Sample: poise.Sample{ID: fmt.Sprint(id), Incarnation: incarnation}, Limit: 5, Value: w}
	}
	list := func(generation uint64) (list []dispatch.Spec) {
		for id := range 10 {
			incarnation := generation*10 + uint64(id) + 1
			if id < 5 {
				incarnation = uint64(id) + 1 // these stay
			}
			list = append(list, spec(id, incarnation))
		}
		return list
	}
	if err := l.Update(list(0), now()); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var callers, others sync.WaitGroup
	other := func(f func(i int)) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		})
	}
	must := func(err error) {
		if err != nil && !errors.Is(err, dispatch.ErrUnknownMember) {
			t.Error(err)
		}
	}
	release := func() {
		for _, value := range l.Released() {
			w := value.(*ward)
			if w.released.Swap(true) || w.inside.Load() != 0 {
				t.Error("a value is released twice, or while a call is there")
			}
		}
	}
	other(func(i int) { must(l.Update(list(uint64(i)+1), now())) })
	other(func(i int) { must(l.SetStatus(fmt.Sprint(i%5), poise.Status(i%3), now())) })
	other(func(i int) { must(l.SetConnected(uint64(i%4)+1, i%2 == 0, now())) })
	other(func(i int) {
		if _, err := l.Advance(now()); err != nil {
			t.Error(err)
		}
		release()
	})
	other(func(int) { l.Inspect(now()) })
	var served, refused atomic.Int64
	for n := range 8 {
		callers.Go(func() {
			chance := poise.NewGenerator(uint64(n))
			for range 2000 {
				var attempts dispatch.Attempts
				for {
					var c dispatch.Call
					if err := l.Acquire(&c, dispatch.Query{Now: now(), Attempts: &attempts, Repeatable: true}); err != nil {
						if !errors.Is(err, poise.ErrAtCapacity) && !errors.Is(err, poise.ErrNoEligible) && !errors.Is(err, poise.ErrAllTried) {
							t.Error(err)
						}
						refused.Add(1)
						break
					}
					w := c.Value().(*ward)
					if w.inside.Add(1) > w.limit || w.released.Load() {
						t.Error("a member holds more calls than its limit, or one that was released a call")
					}
					r := poise.Result{Outcome: poise.Outcome(chance.Below(20))}
					if r.Outcome > poise.Invalid {
						r.Outcome = poise.Success
					}
					w.inside.Add(-1)
					if !c.End(r, now()) {
						t.Error("an attempt had ended")
					}
					served.Add(1)
					if l.Next(&attempts, r, true, now()).Action == dispatch.Stop {
						break
					}
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	others.Wait()
	l.Close(now())
	release()
	mu.Lock()
	defer mu.Unlock()
	for incarnation, w := range all {
		if !w.released.Load() && l.Outstanding(incarnation) == 0 {
			t.Errorf("incarnation %d was never released", incarnation)
		}
	}
	if served.Load() == 0 {
		t.Error("no call was served")
	}
	t.Logf("%d served, %d refused", served.Load(), refused.Load())
}

// Claim: A change waits for one other change at most.
// Code: membership.enter, membership.leave
//
// Cases: B102.
func TestLoop_ChangesWaitForOneOther(t *testing.T) {
	entered, proceed := make(chan struct{}, 100), make(chan struct{})
	var prepared atomic.Int64
	slow := policyFunc(func(v *poise.View) (poise.Picker, error) {
		if v.Len() > 0 {
			if prepared.Add(1) > 1 {
				entered <- struct{}{}
				<-proceed
			}
		}
		return new(policy.RoundRobin).Prepare(v)
	})
	l := newLoop(t, 50, func(c *dispatch.LoopConfig) { c.Policy = slow })
	var changes sync.WaitGroup
	changes.Go(func() {
		if err := l.SetStatus("a0", poise.Unavailable, epoch); err != nil {
			t.Error(err)
		}
	})
	<-entered // one change is being built
	for i := 1; i < 50; i++ {
		changes.Go(func() {
			if err := l.SetStatus(fmt.Sprintf("a%d", i), poise.Draining, epoch); err != nil {
				t.Error(err)
			}
		})
	}
	// Everybody has said what they want; Inspect does not wait for the building.
	for told := 0; told < 49; {
		told = 0
		for _, m := range l.Inspect(epoch).Members {
			if m.Status == poise.Draining {
				told++
			}
		}
	}
	proceed <- struct{}{}
	<-entered // the second building is for all of them
	proceed <- struct{}{}
	changes.Wait()
	if n := prepared.Load(); n != 3 {
		t.Errorf("50 changes were built %d times", n-1)
	}
	for i, m := range l.Inspect(epoch).Members {
		if i > 0 && m.Reason != poise.ExcludedDraining || m.Admission == dispatch.Open && i > 0 {
			t.Errorf("%s is %v and %v", m.ID, m.Reason, m.Admission)
		}
	}
}
