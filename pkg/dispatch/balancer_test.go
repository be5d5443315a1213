package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// site is an endpoint of the tests.
type site struct {
	name   string
	closed int // guarded by world
}

// world is a Balancer over sites, with what was closed.
type world struct {
	t *testing.T
	*dispatch.Balancer[*site]
	mu     sync.Mutex
	closed []string
}

func newWorld(t *testing.T, edit func(*dispatch.Config[*site])) *world {
	t.Helper()
	w := &world{t: t}
	cfg := dispatch.Config[*site]{
		Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin), Seed: 1},
		Close: func(s *site) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			s.closed++
			w.closed = append(w.closed, s.name)
			return nil
		},
	}
	if edit != nil {
		edit(&cfg)
	}
	b, err := dispatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Balancer = b
	t.Cleanup(func() { _ = b.Close() })
	return w
}

func (w *world) wasClosed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Clone(w.closed)
	slices.Sort(names)
	return fmt.Sprint(names)
}

// call does one call and returns where it went.
func (w *world) call(f func(*site) error) (where string, err error) {
	err = w.Do(w.t.Context(), dispatch.Query{}, func(_ context.Context, s *site) error {
		where += s.name
		return f(s)
	})
	return where, err
}

func members(names ...string) []dispatch.Member[*site] {
	list := make([]dispatch.Member[*site], len(names))
	for i, name := range names {
		list[i] = dispatch.Member[*site]{ID: name, Endpoint: &site{name: name}}
	}
	return list
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func fine(*site) error { return nil }

// Claim: Do runs the function once for each attempt, with an endpoint that admitted it.
// Code: Balancer.Do, Balancer.attempt
func TestBalancer_DoesEachCallAtOneEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if err := w.Update(members("a", "b")); err != nil {
			t.Fatal(err)
		}
		var all string
		for range 4 {
			where, err := w.call(fine)
			if err != nil {
				t.Fatal(err)
			}
			all += where
		}
		if all != "abab" {
			t.Errorf("the calls went to %s", all)
		}
	})
}

// Claim: A member that stays in the list with the same Endpoint keeps its incarnation, and another Endpoint begins a new one.
// Code: Balancer.update, Balancer.accept
//
// Claim: Each Endpoint that was removed is closed once, when its last call and its probes have ended.
// Code: Balancer.release, Balancer.end
func TestBalancer_ClosesWhatWasRemovedWhenItsLastCallHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		list := members("a", "b")
		if err := w.Update(list); err != nil {
			t.Fatal(err)
		}
		var c dispatch.Call
		if err := w.Acquire(t.Context(), dispatch.Query{}, &c); err != nil || c.ID() != "a" {
			t.Fatal(c.ID(), err)
		}
		list[0].Endpoint, list[1].Weight = &site{name: "a2"}, weight(t, 2)
		if err := w.Update(list); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.wasClosed(); got != "[]" {
			t.Fatalf("closed are %s, and a call is at a", got)
		}
		states := w.Endpoints()
		if states[0].Incarnation != 3 || states[1].Incarnation != 2 {
			t.Errorf("the incarnations are %d and %d", states[0].Incarnation, states[1].Incarnation)
		}
		c.End(poise.Result{}, time.Now())
		synctest.Wait()
		if got := w.wasClosed(); got != "[a]" {
			t.Errorf("closed are %s", got)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := w.wasClosed(); got != "[a a2 b]" {
			t.Errorf("closed are %s", got)
		}
	})
}

func weight(t testing.TB, w uint32) poise.Weight {
	t.Helper()
	of, err := poise.NewWeight(w)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// Claim: Close ends the Balancer's goroutine and its probes; calls in flight go on.
// Code: Balancer.Close, Balancer.close
func TestBalancer_ClosesWhileCallsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if err := w.Update(members("a", "b")); err != nil {
			t.Fatal(err)
		}
		var c dispatch.Call
		if err := w.Acquire(t.Context(), dispatch.Query{}, &c); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.wasClosed(); got != "[b]" {
			t.Errorf("closed are %s", got)
		}
		if _, err := w.call(fine); !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		if err := w.Update(nil); !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("an Update after Close: %v", err)
		}
		if !c.End(poise.Result{}, time.Now()) {
			t.Error("the call had ended")
		}
		synctest.Wait()
		if got := w.wasClosed(); got != "[a b]" {
			t.Errorf("closed are %s", got)
		}
	})
}

// Claim: A call that waits is given room in its turn, or fails when MaxWait is over.
// Code: Balancer.await
//
// Cases: B100.
func TestBalancer_WaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *dispatch.Config[*site]) { c.MaxWait = time.Second })
		list := members("a")
		list[0].Limit = 1
		if err := w.Update(list); err != nil {
			t.Fatal(err)
		}
		var c dispatch.Call
		if err := w.Acquire(t.Context(), dispatch.Query{}, &c); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		var waiting sync.WaitGroup
		for i := range 3 {
			waiting.Go(func() {
				_, err := w.call(func(*site) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
					return nil
				})
				if err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		if n := w.Loop().Inspect(time.Now()).Waiting; n != 3 {
			t.Fatalf("%d calls wait", n)
		}
		c.End(poise.Result{}, time.Now())
		waiting.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) {
			t.Errorf("the calls came in the order %v", order)
		}
		if err := w.Acquire(t.Context(), dispatch.Query{}, &c); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := w.call(fine)
		if waited := time.Since(began); waited != time.Second || !errors.Is(err, dispatch.ErrWaited) || !errors.Is(err, poise.ErrAtCapacity) {
			t.Errorf("after %v: %v", waited, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var second dispatch.Call
		if err := w.Acquire(ctx, dispatch.Query{}, &second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who leaves gets %v", err)
		}
		c.End(poise.Result{}, time.Now())
		if n := w.Endpoints()[0].InFlight; n != 0 {
			t.Errorf("%d slots are held", n)
		}
	})
}

// Claim: An attempt that a deadline ended is held against the endpoint, one that its caller left is not.
// Code: Balancer.judge
//
// Claim: A pause of this process is held against nobody.
// Code: Balancer.judge, membership.judge
//
// Cases: B101, B109.
func TestBalancer_JudgesWhoIsToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outcomes outcomeList
		w := newWorld(t, func(c *dispatch.Config[*site]) {
			c.Loop.Observer = &outcomes
			c.Loop.Retry.Off = true
			c.AttemptTimeout = 500 * time.Millisecond
		})
		if err := w.Update(members("a")); err != nil {
			t.Fatal(err)
		}
		do := func(ctx context.Context, f func(context.Context) error) {
			_ = w.Do(ctx, dispatch.Query{}, func(ctx context.Context, _ *site) error { return f(ctx) })
		}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		leaves, leave := context.WithCancel(t.Context())
		do(t.Context(), func(context.Context) error { return nil })
		do(t.Context(), func(context.Context) error { return errors.New("broken") })
		do(t.Context(), hang)
		deadline, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		do(deadline, hang)
		do(leaves, func(ctx context.Context) error { leave(); return ctx.Err() })
		do(t.Context(), func(ctx context.Context) error { // stopped for long after the timeout
			timer := time.NewTimer(3 * time.Second)
			<-timer.C
			return ctx.Err()
		})
		want := []poise.Outcome{poise.Success, poise.Failure, poise.Silent, poise.Silent, poise.Cancelled, poise.Invalid}
		if !slices.Equal(outcomes.list, want) {
			t.Errorf("the outcomes are %v, want %v", outcomes.list, want)
		}
	})
}

func TestBalancer_RepeatsWhatMayBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *dispatch.Config[*site]) {
			c.Loop.Passive.Off = true
			c.Loop.Retry.Pause = time.Second
		})
		if err := w.Update(members("a", "b", "c", "d")); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		var where string
		f := func(_ context.Context, s *site) error { where += s.name; return broken }
		began := time.Now()
		if err := w.Do(t.Context(), dispatch.Query{Repeatable: true}, f); err != broken || where != "abc" {
			t.Errorf("the call went to %s: %v", where, err)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("two pauses took %v", took)
		}
		where = ""
		if err := w.Do(t.Context(), dispatch.Query{}, f); err != broken || len(where) != 1 {
			t.Errorf("a call that must not be repeated went to %s: %v", where, err)
		}
		where = ""
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := w.Do(ctx, dispatch.Query{Repeatable: true}, f); err != broken || len(where) != 1 {
			t.Errorf("a call whose caller left went to %s: %v", where, err)
		}
	})
}

// Claim: Each Endpoint that was removed is closed once, when its last call and its probes have ended.
//
// Cases: B110.
func TestBalancer_ProbesItsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick := map[string]bool{"b": true}
		var mu sync.Mutex
		w := newWorld(t, func(c *dispatch.Config[*site]) {
			c.Probes = &dispatch.ProbesConfig[*site]{
				Probe: func(m dispatch.Member[*site]) (func(context.Context) error, error) {
					return func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						if sick[m.ID] {
							return errors.New("sick")
						}
						return nil
					}, nil
				},
				Active: health.ActiveHealthConfig{Unknown: health.DenyUnknown},
			}
		})
		if err := w.Update(members("a", "b")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		synctest.Wait()
		states := w.Endpoints()
		if states[0].Reason != poise.NotExcluded || states[1].Reason != poise.ExcludedUnhealthy || states[1].ProbeErr == nil {
			t.Errorf("a is %v, b is %v by %v", states[0].Reason, states[1].Reason, states[1].ProbeErr)
		}
		if err := w.ForceCondition("b", health.Healthy); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Millisecond)
		synctest.Wait()
		if reason := w.Endpoints()[1].Reason; reason != poise.NotExcluded {
			t.Errorf("b was forced and is %v", reason)
		}
		if err := w.Update(nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.wasClosed(); got != "[a b]" {
			t.Errorf("closed are %s", got)
		}
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := w.WaitReady(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, poise.ErrEmpty) {
			t.Errorf("waiting for nobody: %v", err)
		}
	})
}

// Claim: Revision rises with every change of what Take returns.
//
// Claim: Take connects each incarnation that the Balancer does not know, and no other.
//
// Claim: A Balancer has the members and incarnations of the newest snapshot of its Directory, and one endpoint for each incarnation.
// Code: directorySource.Take
//
// Claim: A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
// Code: directorySource.take
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
// Code: directorySource.FinishDrains
//
// Cases: B111.
func TestBalancer_HasTheMembersOfADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, err := discovery.New(discovery.Config[uint32]{Equal: func(a, b uint32) bool { return a == b }})
		if err != nil {
			t.Fatal(err)
		}
		session, err := directory.Open("test")
		if err != nil {
			t.Fatal(err)
		}
		var willing atomic.Bool
		connected := map[uint64]int{}
		source, err := dispatch.DirectorySource(dispatch.DirectoryConfig[uint32, *site]{
			Directory: directory,
			Connect: func(m discovery.Member[uint32]) (*site, error) {
				if m.ID == "bad" && !willing.Load() {
					return nil, errors.New("unwilling")
				}
				if connected[m.Incarnation]++; connected[m.Incarnation] > 1 {
					t.Errorf("incarnation %d is connected twice", m.Incarnation)
				}
				return &site{name: fmt.Sprintf("%s/%d", m.ID, m.Incarnation)}, nil
			},
			Describe: func(m discovery.Member[uint32]) (dispatch.Member[*site], error) {
				return dispatch.Member[*site]{Weight: weight(t, m.Value)}, nil
			},
			FailClosed: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(c *dispatch.Config[*site]) { c.Source = source })
		if err := w.Update(nil); !errors.Is(err, dispatch.ErrHasSource) {
			t.Errorf("a list beside a source: %v", err)
		}
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		must(session.Upsert("a", 1))
		must(session.Upsert("bad", 1))
		must(session.Upsert("b", 2))
		want := func(text string) {
			t.Helper()
			got := ""
			for _, s := range w.Endpoints() {
				got += fmt.Sprintf("%s %v %v; ", s.Endpoint.name, s.Sample.Weight, s.Reason)
			}
			if got != text {
				t.Errorf("the members are %q, want %q", got, text)
			}
		}
		want("a/1 1 eligible; b/3 2 eligible; ")
		var bad *dispatch.MemberError
		if err := w.PublishError(); !errors.As(err, &bad) || bad.ID != "bad" {
			t.Errorf("who is left out: %v", err)
		}
		willing.Store(true)
		pass(time.Second)
		synctest.Wait()
		want("a/1 1 eligible; bad/2 1 eligible; b/3 2 eligible; ")
		must(session.Upsert("a", 3))
		var c dispatch.Call
		must(nil, w.Acquire(t.Context(), dispatch.Query{}, &c))
		must(session.Remove("a"))
		want("a/1 3 draining; bad/2 1 eligible; b/3 2 eligible; ")
		must(nil, w.SetStatus("a", poise.Ready))
		want("a/1 3 draining; bad/2 1 eligible; b/3 2 eligible; ")
		c.End(poise.Result{}, time.Now())
		synctest.Wait()
		want("bad/2 1 eligible; b/3 2 eligible; ")
		if got := w.wasClosed(); got != "[a/1]" {
			t.Errorf("closed are %s", got)
		}
		directory.Close()
		synctest.Wait()
		if _, err := w.call(fine); !errors.Is(err, dispatch.ErrSourceClosed) {
			t.Errorf("a call after the end of the directory: %v", err)
		}
	})
}

// Claim: A call that waits is given room in its turn, or fails when MaxWait is over.
func TestBalancer_HoldsNothingForACallerWhoLeavesAsItIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *dispatch.Config[*site]) { c.MaxWait = time.Hour })
		list := members("a")
		list[0].Limit = 1
		if err := w.Update(list); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			var held, waiting dispatch.Call
			if err := w.Acquire(t.Context(), dispatch.Query{}, &held); err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- w.Acquire(ctx, dispatch.Query{}, &waiting) }()
			synctest.Wait()
			if i%2 == 0 {
				leave()
			}
			held.End(poise.Result{}, time.Now()) // as the caller leaves
			leave()
			if err := <-served; err == nil {
				waiting.End(poise.Result{}, time.Now())
			}
			if n := w.Endpoints()[0].InFlight; n != 0 {
				t.Fatalf("%d slots are held", n)
			}
		}
	})
}

// Claim: Each Endpoint that was removed is closed once, when its last call and its probes have ended.
func TestBalancer_ClosesAnEndpointAfterItsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, proceed := make(chan struct{}, 1), make(chan struct{})
		w := newWorld(t, func(c *dispatch.Config[*site]) {
			c.Probes = &dispatch.ProbesConfig[*site]{
				Probe: func(dispatch.Member[*site]) (func(context.Context) error, error) {
					return func(context.Context) error {
						asked <- struct{}{}
						<-proceed
						return nil
					}, nil
				},
			}
		})
		if err := w.Update(members("a")); err != nil {
			t.Fatal(err)
		}
		<-asked
		if err := w.Update(nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.wasClosed(); got != "[]" {
			t.Errorf("closed are %s, and a probe is at a", got)
		}
		close(proceed)
		synctest.Wait()
		if got := w.wasClosed(); got != "[a]" {
			t.Errorf("closed are %s", got)
		}
	})
}
