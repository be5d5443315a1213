package dispatch_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// spec is the value of a member in a directory: plain, as sources parse it.
type spec struct {
	weight uint32
	status poise.Status
	limit  uint64
	bad    string // what fails
}

// network makes the endpoints of a directory's members and remembers them.
type network struct {
	mu    sync.Mutex
	made  []*fake
	names []string // of those made: identity and incarnation
	hook  func(discovery.Member[spec])

	common *fake // whom all those share whose value says so
}

func (n *network) connect(m discovery.Member[spec]) (dispatch.Endpoint, error) {
	if n.hook != nil {
		n.hook(m)
	}
	switch m.Value.bad {
	case "connect":
		return nil, errBroken
	case "panic":
		panic(errBroken)
	case "nil":
		return nil, nil
	case "shared":
		return n.first(), nil
	case "common":
		return n.common, nil
	case "incomparable":
		return incomparable{}, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e := answering(200)
	if m.Value.bad == "call" {
		e = failing(errBroken)
	}
	n.made, n.names = append(n.made, e), append(n.names, fmt.Sprintf("%s/%d", m.ID, m.Incarnation))
	return e, nil
}

func (n *network) describe(m discovery.Member[spec]) (dispatch.Member, error) {
	d := dispatch.Member{ID: "ignored", Status: m.Value.status, Limit: m.Value.limit}
	switch m.Value.bad {
	case "describe":
		return d, errBroken
	case "describe panic":
		panic(errBroken)
	case "status":
		d.Status = 9
	}
	var err error
	d.Weight, err = poise.NewWeight(max(m.Value.weight, 1))
	return d, err
}

func (n *network) first() *fake { return n.all()[0] }

// all returns the endpoints that were made so far.
func (n *network) all() []*fake {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.made)
}

// last returns the endpoint that was made last for the member.
func (n *network) last(id string) *fake {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := len(n.names) - 1; i >= 0; i-- {
		if len(n.names[i]) > len(id) && n.names[i][:len(id)+1] == id+"/" {
			return n.made[i]
		}
	}
	return nil
}

func (n *network) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprint(n.names)
}

// followed is a Balancer over a directory, inside a bubble: changes settle at Wait.
type followed struct {
	t       testing.TB
	d       *discovery.Directory[spec]
	session *discovery.Session[spec]
	net     *network
	b       *dispatch.Balancer
}

func follow(t testing.TB, cfg dispatch.Config, of discovery.Config[spec], failClosed bool) *followed {
	t.Helper()
	f := &followed{t: t, net: new(network)}
	of.Equal = func(a, b spec) bool { return a == b }
	var err error
	if f.d, err = discovery.New(of); err != nil {
		t.Fatal(err)
	}
	if f.session, err = f.d.Open("test"); err != nil {
		t.Fatal(err)
	}
	f.b = f.another(cfg, failClosed)
	return f
}

// another returns one more Balancer on the directory.
func (f *followed) another(cfg dispatch.Config, failClosed bool) *dispatch.Balancer {
	f.t.Helper()
	members, err := dispatch.NewMembership(dispatch.MembershipConfig[spec]{
		Directory: f.d, Connect: f.net.connect, Describe: f.net.describe, FailClosed: failClosed,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if cfg.Policy == nil {
		cfg.Policy = new(policy.RoundRobin)
	}
	cfg.Membership = members
	b, err := dispatch.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		requireIdle(f.t, b)
		_ = b.Close()
	})
	return b
}

// apply changes the directory and waits until that has settled.
func (f *followed) apply(changes ...discovery.Change[spec]) {
	f.t.Helper()
	if _, err := f.session.Apply(changes...); err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait()
}

func upsert(id string, v spec) discovery.Change[spec] {
	return discovery.Change[spec]{ID: id, Value: v}
}

func drop(id string) discovery.Change[spec] {
	return discovery.Change[spec]{Op: discovery.Remove, ID: id}
}

// states returns the members of a Balancer in short.
func states(b *dispatch.Balancer) string {
	text := ""
	for _, s := range b.Endpoints() {
		text += fmt.Sprintf("%s/%d %s; ", s.ID, s.Incarnation, s.Reason)
	}
	return text
}

// require compares the members of the Balancer, and of the directory by number.
func (f *followed) require(when, want string, inDirectory int) {
	f.t.Helper()
	if got := states(f.b); got != want {
		f.t.Errorf("%s: the members are %q, want %q", when, got, want)
	}
	if n := f.d.Load().Len(); n != inDirectory {
		f.t.Errorf("%s: the directory has %d members, want %d", when, n, inDirectory)
	}
	if err := f.b.PublishError(); err != nil {
		f.t.Errorf("%s: %v", when, err)
	}
}

// hold makes a call and returns its response, whose body is open.
func hold(t testing.TB, b *dispatch.Balancer) *http.Response {
	t.Helper()
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// finish reads a response that was held to its end.
func finish(t testing.TB, resp *http.Response) {
	t.Helper()
	if body, err := io.ReadAll(resp.Body); string(body) != "served" || err != nil {
		t.Errorf("a call was cut short: %q, %v", body, err)
	}
	_ = resp.Body.Close()
	if _, bubble := t.(*testing.T); bubble {
		synctest.Wait()
	}
}

// Claim: A Balancer that follows a Directory has the members and incarnations of its newest snapshot, and one Endpoint for each incarnation.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
//
// Cases: B44, B47, B52, G14.
func TestBalancer_FollowsADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		if _, err := get(t, f.b); !errors.Is(err, poise.ErrEmpty) {
			t.Errorf("nobody is there: %v", err)
		}
		f.apply(upsert("a", spec{}), upsert("b", spec{}))
		f.require("two have joined", "a/1 eligible; b/2 eligible; ", 2)
		a := f.net.last("a")
		onA := hold(t, f.b)
		if a.calls.Load() == 0 {
			finish(t, onA)
			onA = hold(t, f.b)
		}

		// The same, fetched anew, and another value: nothing is connected again.
		f.apply(upsert("a", spec{}), upsert("b", spec{weight: 3}))
		f.require("a value has changed", "a/1 eligible; b/2 eligible; ", 2)
		if n := inFlight(f.b, "a"); n != 1 {
			t.Errorf("a holds %d calls", n)
		}

		f.apply(drop("a"), upsert("c", spec{}))
		f.require("one drains", "a/1 draining; b/2 eligible; c/3 eligible; ", 3)
		calls := a.calls.Load()
		for range 10 {
			if _, err := get(t, f.b); err != nil {
				t.Fatal(err)
			}
		}
		if a.calls.Load() != calls || f.net.last("c").calls.Load() == 0 {
			t.Errorf("who drains got %d calls, who joined %d", a.calls.Load()-calls, f.net.last("c").calls.Load())
		}

		f.apply(upsert("a", spec{}))
		f.require("it is revived", "a/1 eligible; b/2 eligible; c/3 eligible; ", 3)
		f.apply(drop("a"))
		f.require("and drains again", "a/1 draining; b/2 eligible; c/3 eligible; ", 3)
		if a.closed.Load() != 0 {
			t.Error("it was closed with a call in flight")
		}
		finish(t, onA)
		f.require("its last call has ended", "b/2 eligible; c/3 eligible; ", 2)
		if a.closed.Load() != 1 {
			t.Errorf("it was closed %d times", a.closed.Load())
		}

		f.apply(upsert("a", spec{}))
		f.require("it comes back", "b/2 eligible; c/3 eligible; a/4 eligible; ", 3)
		f.apply(drop("b"))
		f.require("one leaves that holds nothing", "c/3 eligible; a/4 eligible; ", 2)
		if got := f.net.String(); got != "[a/1 b/2 c/3 a/4]" {
			t.Errorf("connected were %s", got)
		}
	})
}

// A source that says a member was replaced: the old incarnation ends at once, but
// not its calls.
//
// Claim: A Balancer closes an Endpoint once, after it was removed and its last call has ended.
func TestBalancer_ClosesAReplacedIncarnationAfterItsLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{limit: 7}))
		old := f.net.last("a")
		resp := hold(t, f.b)
		f.apply(discovery.Change[spec]{Op: discovery.Replace, ID: "a", Value: spec{limit: 8}})
		f.require("it was replaced", "a/2 eligible; ", 1)
		if s := f.b.Endpoints()[0]; s.InFlight != 0 || s.Limit != 8 {
			t.Errorf("the new incarnation is %+v", s)
		}
		if _, err := get(t, f.b); err != nil || old.calls.Load() != 1 || old.closed.Load() != 0 {
			t.Errorf("%v; the old one got %d calls and was closed %d times", err, old.calls.Load(), old.closed.Load())
		}
		finish(t, resp)
		if old.closed.Load() != 1 || f.net.last("a").closed.Load() != 0 {
			t.Error("the old endpoint is to be closed, and no other")
		}
	})
}

// The shares follow a changed weight; the limit stays that of the incarnation.
//
// Claim: What Describe says of a new value takes effect without another Endpoint.
func TestBalancer_FollowsWhatDescribeSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{Policy: new(policy.SmoothWeightedRoundRobin)}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{limit: 5}), upsert("b", spec{}))
		share := func() int64 {
			before := f.net.last("a").calls.Load()
			for range 40 {
				if _, err := get(t, f.b); err != nil {
					t.Fatal(err)
				}
			}
			return f.net.last("a").calls.Load() - before
		}
		if n := share(); n != 20 {
			t.Errorf("%d of 40 calls with equal weights", n)
		}
		f.apply(upsert("a", spec{weight: 3, limit: 9}))
		if n := share(); n != 30 {
			t.Errorf("%d of 40 calls with three times the weight", n)
		}
		f.apply(upsert("a", spec{status: poise.Unavailable}))
		f.require("unavailable by its value", "a/1 unavailable; b/2 eligible; ", 2)
		if s := f.b.Endpoints()[0]; s.Limit != 5 || f.net.String() != "[a/1 b/2]" {
			t.Errorf("the limit is %d, connected were %s", s.Limit, f.net)
		}
	})
}

// Unavailable is a weaker word than draining, and a panic of a topology policy may
// overrule it.
//
// Claim: A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
//
// Cases: B44, B45.
func TestBalancer_LetsNobodyUndoADrainOfTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topology, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := follow(t, dispatch.Config{Policy: topology}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{}), upsert("b", spec{status: poise.Unavailable}))
		a := f.net.last("a")
		resp := hold(t, f.b)
		for a.calls.Load() == 0 {
			finish(t, resp)
			resp = hold(t, f.b)
		}
		f.apply(drop("a"))
		calls := a.calls.Load()
		for _, word := range []poise.Status{poise.Unavailable, poise.Ready, poise.Draining, poise.Unavailable} {
			if err := f.b.SetStatus("a", word); err != nil {
				t.Fatal(err)
			}
			f.require("the operator says "+word.String(), "a/1 draining; b/2 unavailable; ", 2)
			for range 20 {
				_, _ = get(t, f.b)
			}
		}
		if n := a.calls.Load() - calls; n != 0 {
			t.Errorf("who drains got %d calls", n)
		}
		f.apply(upsert("a", spec{}))
		f.require("revived, the operator's word stands", "a/1 unavailable; b/2 unavailable; ", 2)
		finish(t, resp)
	})
}

// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func TestBalancer_EndsADrainThatLastsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{DrainFor: time.Minute}, false)
		f.apply(upsert("a", spec{}))
		resp := hold(t, f.b)
		f.apply(drop("a"))
		pass(time.Minute - 1)
		f.require("before its time is over", "a/1 draining; ", 1)
		pass(1)
		f.require("after it", "", 0)
		if f.net.last("a").closed.Load() != 0 {
			t.Error("the endpoint was closed with a call in flight")
		}
		finish(t, resp)
		if f.net.last("a").closed.Load() != 1 {
			t.Error("the endpoint was not closed")
		}
	})
}

// Claim: A snapshot that cannot be taken leaves the last good picker serving, and is tried again without a newer one.
//
// Claim: What was connected for a snapshot that cannot be taken is closed.
//
// Cases: B48, G15.
func TestBalancer_KeepsTheLastGoodSnapshotAndTriesAgain(t *testing.T) {
	for bad, want := range map[string]error{
		"connect": errBroken, "describe": errBroken, "nil": dispatch.ErrMissing, "incomparable": dispatch.ErrNotComparable,
		"panic": dispatch.ErrMemberPanic, "describe panic": dispatch.ErrMemberPanic, "shared": dispatch.ErrSharedEndpoint,
		"status": poise.ErrInvalidStatus, "policy": errBroken,
	} {
		t.Run(bad, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refusing atomic.Bool
				f := follow(t, dispatch.Config{Attempts: 1, Policy: fixed{func(v *poise.View) (poise.Picker, error) {
					if refusing.Load() && v.Len() > 1 {
						return nil, errBroken
					}
					return new(policy.RoundRobin).Prepare(v)
				}}}, discovery.Config[spec]{}, false)
				f.apply(upsert("a", spec{}))
				refusing.Store(bad == "policy")
				f.apply(upsert("new", spec{}), upsert("x", spec{bad: bad}), drop("a"))
				if err := f.b.PublishError(); !errors.Is(err, want) {
					t.Errorf("PublishError is %v, want %v", err, want)
				} else if m, ok := errors.AsType[*dispatch.MemberError](err); ok != (bad != "status" && bad != "policy") || ok && (m.ID != "x" || m.Incarnation != 3) {
					t.Errorf("PublishError is %v", err)
				}
				if got := states(f.b); got != "a/1 eligible; " {
					t.Errorf("the members are %s", got)
				}
				if _, err := get(t, f.b); err != nil || f.net.first().calls.Load() != 1 {
					t.Errorf("the last good picker does not serve: %v", err)
				}
				pass(10*time.Second + time.Millisecond)
				for i, e := range f.net.all()[1:] {
					if e.closed.Load() != 1 {
						t.Errorf("%s was connected in vain and closed %d times", f.net.names[1+i], e.closed.Load())
					}
				}
				tries := len(f.net.all()) - 1
				if staged := bad != "describe" && bad != "describe panic"; staged && (tries < 10 || tries > 24) || !staged && tries != 0 {
					t.Errorf("in ten seconds %d endpoints were connected", tries) // "status" and "policy" connect two a time
				}
				if f.d.Load().Revision() != 2 || f.net.first().closed.Load() != 0 {
					t.Errorf("the directory is at %d; a was closed %d times", f.d.Load().Revision(), f.net.first().closed.Load())
				}
				// It heals without a newer snapshot, or with one.
				if refusing.Swap(false) {
					pass(time.Second)
				} else {
					f.apply(upsert("x", spec{}))
				}
				f.require("healed", "new/2 eligible; x/3 eligible; ", 2)
				if f.net.first().closed.Load() != 1 {
					t.Error("a was not closed")
				}
			})
		})
	}
}

// Who drains in a snapshot that cannot be taken still gets calls here, so that it
// must not leave, though others do.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func TestBalancer_EndsNoDrainThatItHasNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		f.apply(upsert("z", spec{}))
		resp := hold(t, f.b)
		f.apply(drop("z"), upsert("a", spec{}))
		f.require("z drains", "z/1 draining; a/2 eligible; ", 2)
		f.apply(drop("a"), upsert("x", spec{bad: "connect"}))
		finish(t, resp)
		if got := states(f.b); got != "z/1 draining; a/2 eligible; " {
			t.Errorf("the members are %s", got)
		}
		if _, err := get(t, f.b); err != nil {
			t.Error(err)
		}
		if m, ok := f.d.Load().Lookup("a"); !ok || !m.Draining || f.d.Load().Len() != 2 {
			t.Errorf("a is %+v in the directory, %t, which has %d members", m, ok, f.d.Load().Len())
		}
		f.apply(upsert("x", spec{}))
		f.require("x can be connected", "x/3 eligible; ", 1)
	})
}

// An Endpoint belongs to one incarnation: whoever it is shared with would lose it
// when that one ends.
//
// Claim: What was connected for a snapshot that cannot be taken is closed.
func TestBalancer_RefusesAnEndpointOfAnotherIncarnation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{RemoveImmediately: true}, false)
		f.net.common = answering(200)
		require := func(when, who, want string) {
			t.Helper()
			m, ok := errors.AsType[*dispatch.MemberError](f.b.PublishError())
			if !ok || m.ID != who || !errors.Is(m, dispatch.ErrSharedEndpoint) {
				t.Errorf("%s: PublishError is %v", when, f.b.PublishError())
			}
			if got := states(f.b); got != want {
				t.Errorf("%s: the members are %s, want %s", when, got, want)
			}
		}
		f.apply(upsert("a", spec{}), upsert("x", spec{bad: "common"}), upsert("y", spec{bad: "common"}))
		require("two that join", "y", "")
		if f.net.common.closed.Swap(0) != 1 {
			t.Error("it was connected in vain and not closed")
		}
		f.apply(drop("y"))
		f.require("one of them", "a/1 eligible; x/2 eligible; ", 2)
		f.apply(discovery.Change[spec]{Op: discovery.Replace, ID: "x", Value: spec{bad: "common"}})
		require("one after itself", "x", "a/1 eligible; x/2 eligible; ")
		held := []*http.Response{hold(t, f.b), hold(t, f.b)}
		f.apply(drop("x"))
		f.require("it has left", "a/1 eligible; ", 1)
		f.apply(upsert("y", spec{bad: "common"}))
		require("one that is leaving", "y", "a/1 eligible; ")
		if f.net.common.closed.Load() != 0 {
			t.Error("it was closed with a call in flight")
		}
		f.apply(upsert("y", spec{}))
		f.require("one of its own", "a/1 eligible; y/5 eligible; ", 2)
		for _, resp := range held {
			finish(t, resp)
		}
		if f.net.common.closed.Load() != 1 {
			t.Error("it was not closed after its last call")
		}
	})
}

// Who was aside and has left makes room in the ward.
//
// Claim: No more than Quarantine.MaxAside percent of the endpoints are set aside at once; after Update, those beyond it come back before their time.
func TestBalancer_CountsAsideOnlyWhoIsInTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{
			Attempts: 1, Quarantine: dispatch.QuarantineConfig{Failures: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
		}, discovery.Config[spec]{RemoveImmediately: true}, false)
		calls := func() {
			for range 8 {
				_, _ = get(t, f.b)
			}
			synctest.Wait()
		}
		f.apply(upsert("a", spec{bad: "call"}), upsert("b", spec{}))
		calls()
		f.require("one of two", "a/1 set aside; b/2 eligible; ", 2)
		f.apply(drop("a"), upsert("c", spec{bad: "call"}))
		calls()
		f.require("another one", "b/2 eligible; c/3 set aside; ", 2)
		f.apply(drop("b"))
		f.require("nobody else is left", "c/3 eligible; ", 1)
	})
}

// Health goes on to be followed while a snapshot cannot be taken, and no failure is
// a reason to connect more often.
//
// Claim: A snapshot that cannot be taken leaves the last good picker serving, and is tried again without a newer one.
func TestBalancer_FollowsHealthWhileASnapshotIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{
			Attempts: 1, Quarantine: dispatch.QuarantineConfig{Failures: 1, Backoff: 10 * time.Millisecond, MaxBackoff: 10 * time.Millisecond},
		}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{}), upsert("b", spec{bad: "call"}))
		tries := 0
		f.net.hook = func(discovery.Member[spec]) { tries++ }
		f.apply(upsert("x", spec{bad: "connect"}))
		aside := 0
		for range 90 {
			_, _ = get(t, f.b)
			synctest.Wait()
			if states(f.b) == "a/1 eligible; b/2 set aside; " {
				aside++
			}
			pass(10 * time.Millisecond)
		}
		if aside < 10 || tries != 1 {
			t.Errorf("b was seen aside %d times; x was tried %d times in 0.9 s", aside, tries)
		}
		if !errors.Is(f.b.PublishError(), errBroken) {
			t.Errorf("PublishError is %v", f.b.PublishError())
		}
	})
}

// Who joins and leaves while the Balancer is busy is never connected.
//
// Claim: Of several snapshots that came meanwhile only the newest is taken.
//
// Cases: G15.
func TestBalancer_TakesOnlyTheNewestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{RemoveImmediately: true}, false)
		gate := make(chan struct{})
		f.net.hook = func(m discovery.Member[spec]) {
			if m.ID == "slow" {
				<-gate
			}
		}
		f.apply(upsert("slow", spec{}))
		for i := range 100 {
			id := fmt.Sprint("m", i)
			f.apply(upsert(id, spec{}))
			f.apply(drop(id))
		}
		f.apply(upsert("last", spec{}))
		close(gate)
		synctest.Wait()
		f.require("in the end", "slow/1 eligible; last/102 eligible; ", 2)
		if got := f.net.String(); got != "[slow/1 last/102]" {
			t.Errorf("connected were %s", got)
		}
	})
}

// Claim: A Directory that is closed leaves its last snapshot serving; with FailClosed every call and change is refused.
//
// Cases: G15, G13.
func TestBalancer_OfAClosedDirectory(t *testing.T) {
	for _, failClosed := range []bool{false, true} {
		t.Run(fmt.Sprintf("fail closed %t", failClosed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, failClosed)
				f.apply(upsert("a", spec{}))
				resp := hold(t, f.b)
				_, _ = f.session.Upsert("b", spec{})
				f.d.Close()
				// Nothing has settled yet: the refusal waits for nobody.
				refused := func(err error) bool { return errors.Is(err, dispatch.ErrDirectoryClosed) }
				for range 2 {
					_, err := get(t, f.b)
					status := f.b.SetStatus("a", poise.Unavailable)
					if failClosed != refused(err) || failClosed != refused(status) || !failClosed && (err != nil || status != nil) {
						t.Errorf("RoundTrip %v, SetStatus %v", err, status)
					}
					_ = f.b.SetStatus("a", poise.Ready)
					synctest.Wait()
					f.require("the last snapshot", "a/1 eligible; b/2 eligible; ", 2)
				}
				finish(t, resp)
			})
		})
	}
}

// A retry is an entry point too.
//
// Claim: A Directory that is closed leaves its last snapshot serving; with FailClosed every call and change is refused.
func TestBalancer_RetriesNothingOnceTheDirectoryIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, true)
		f.apply(upsert("a", spec{}), upsert("b", spec{}))
		for _, id := range []string{"a", "b"} {
			f.net.last(id).answer = func(*http.Request) (*http.Response, error) { f.d.Close(); return nil, errBroken }
		}
		_, err := get(t, f.b)
		if failure := requireCallError(t, err); failure.Attempts != 1 || !errors.Is(err, errBroken) {
			t.Errorf("got %+v", failure)
		}
	})
}

// Claim: Update is refused while the Balancer follows a Directory.
func TestBalancer_RefusesUpdatesBesideADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{}))
		if err := f.b.Update(nil); !errors.Is(err, dispatch.ErrFollowing) {
			t.Errorf("Update: %v", err)
		}
		f.require("after it", "a/1 eligible; ", 1)
		members, err := dispatch.NewMembership(dispatch.MembershipConfig[spec]{Directory: f.d, Connect: f.net.connect})
		if err != nil {
			t.Fatal(err)
		}
		_, err = dispatch.New(dispatch.Config{Policy: new(policy.RoundRobin), Members: []dispatch.Member{}, Membership: members})
		requireField(t, err, "Members", dispatch.ErrFollowing)
		_ = f.b.Close()
		if err := f.b.Update(nil); !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("Update of a closed one: %v", err)
		}
	})
}

func TestNewMembership_NamesTheFieldThatIsMissing(t *testing.T) {
	d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dispatch.NewMembership(dispatch.MembershipConfig[int]{})
	requireField(t, err, "Directory", dispatch.ErrMissing)
	_, err = dispatch.NewMembership(dispatch.MembershipConfig[int]{Directory: d})
	requireField(t, err, "Connect", dispatch.ErrMissing)
	// Without Describe every member has the defaults.
	e := answering(200)
	members, err := dispatch.NewMembership(dispatch.MembershipConfig[int]{Directory: d, Connect: func(discovery.Member[int]) (dispatch.Endpoint, error) { return e, nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Upsert("a", 1); err != nil {
		t.Fatal(err)
	}
	b, err := dispatch.New(dispatch.Config{Policy: new(policy.RoundRobin), Membership: members})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if status, err := get(t, b); status != 200 || err != nil || states(b) != "a/1 eligible; " {
		t.Errorf("got %d, %v, %s", status, err, states(b))
	}
}

// New waits for nobody: a snapshot that cannot be taken yet is tried again.
//
// Claim: A snapshot that cannot be taken leaves the last good picker serving, and is tried again without a newer one.
func TestNew_WaitsForNoMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{}))
		var fails atomic.Bool
		fails.Store(true)
		f.net.hook = func(discovery.Member[spec]) {
			if fails.Load() {
				panic(errBroken)
			}
		}
		told := 0
		b := f.another(dispatch.Config{ObserveState: func(dispatch.EndpointState) { told++ }}, false)
		if !errors.Is(b.PublishError(), dispatch.ErrMemberPanic) || len(b.Endpoints()) != 0 {
			t.Errorf("it has %s, %v", states(b), b.PublishError())
		}
		if _, err := get(t, b); !errors.Is(err, poise.ErrEmpty) {
			t.Errorf("got %v", err)
		}
		fails.Store(false)
		pass(time.Second)
		if _, err := get(t, b); err != nil || b.PublishError() != nil || told != 0 {
			t.Errorf("after a second: %v, %v; told %d times", err, b.PublishError(), told)
		}
		members, err := dispatch.NewMembership(dispatch.MembershipConfig[spec]{Directory: f.d, Connect: f.net.connect})
		if err != nil {
			t.Fatal(err)
		}
		_, err = dispatch.New(dispatch.Config{Membership: members, Policy: fixed{func(*poise.View) (poise.Picker, error) { return nil, errBroken }}})
		if !errors.Is(err, errBroken) {
			t.Errorf("a policy that can prepare nothing: %v", err)
		}
		synctest.Wait()
		if all := f.net.all(); all[len(all)-1].closed.Load() != 1 {
			t.Error("what it had connected was not closed")
		}
	})
}

// Connect may call every method, Close too; what it then returns is closed.
//
// Claim: Close ends the Balancer's goroutine; calls in flight go on.
//
// Claim: What was connected for a snapshot that cannot be taken is closed.
//
// Cases: B24, B30.
func TestBalancer_ClosesWhileItConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		f.apply(upsert("a", spec{}))
		resp := hold(t, f.b)
		f.net.hook = func(discovery.Member[spec]) {
			f.net.hook = nil
			_, _ = f.session.Upsert("late", spec{})
			_, _, _ = f.b.Endpoints(), f.b.PublishError(), f.b.Update(nil)
			_ = f.b.SetStatus("a", poise.Ready)
			_ = f.b.Close()
		}
		f.apply(upsert("b", spec{}))
		if _, err := get(t, f.b); !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if f.net.last("b").closed.Load() != 1 || f.net.last("a").closed.Load() != 0 {
			t.Error("who was connected in vain is to be closed, and nobody else yet")
		}
		finish(t, resp)
		if f.net.last("a").closed.Load() != 1 {
			t.Error("a was not closed after its last call")
		}
		f.apply(upsert("c", spec{}))
		if f.net.last("c") != nil || f.net.last("late") != nil {
			t.Error("a closed Balancer follows")
		}
	})
}

// Whoever wakes the Balancer in the moment of Close does not make it follow on. Which
// of the two it sees first is chance, hence so many trials.
//
// Claim: Close ends the Balancer's goroutine; calls in flight go on.
func TestBalancer_FollowsNothingOnceItIsClosed(t *testing.T) {
	for range 30 {
		synctest.Test(t, func(t *testing.T) {
			f := follow(t, dispatch.Config{
				Attempts: 1, Quarantine: dispatch.QuarantineConfig{Failures: 1},
			}, discovery.Config[spec]{}, false)
			f.apply(upsert("a", spec{bad: "call"}), upsert("b", spec{bad: "call"}))
			f.net.hook = func(discovery.Member[spec]) {
				f.net.hook = nil
				if _, err := f.session.Upsert("late", spec{}); err != nil {
					t.Error(err)
				}
				_, _ = get(t, f.b) // sets one aside, which wakes the Balancer
				_ = f.b.Close()
			}
			f.apply(upsert("c", spec{}))
			if f.net.last("late") != nil {
				t.Fatal("it connects a member after Close")
			}
		})
	}
}

// Each Balancer connects for itself. The first in which the last call has ended lets
// the member leave the directory; the calls of the others go on.
//
// Claim: A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func TestBalancer_SharesADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		other := f.another(dispatch.Config{}, false)
		f.apply(upsert("a", spec{}), upsert("b", spec{}))
		if got := f.net.String(); states(other) != states(f.b) || len(f.net.all()) != 4 {
			t.Errorf("connected were %s", got)
		}
		var held []*http.Response
		for range 2 {
			held = append(held, hold(t, f.b), hold(t, other))
		}
		f.apply(drop("a"))
		f.require("both hold calls of a", "a/1 draining; b/2 eligible; ", 2)
		finish(t, held[0])
		finish(t, held[2])
		f.require("one has none left", "b/2 eligible; ", 1)
		if states(other) != states(f.b) || f.net.closed() != 1 {
			t.Errorf("the other has %s; %d endpoints are closed", states(other), f.net.closed())
		}
		finish(t, held[1])
		finish(t, held[3])
		if f.net.closed() != 2 {
			t.Errorf("%d endpoints are closed", f.net.closed())
		}
	})
}

func (n *network) closed() (count int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.made {
		count += e.closed.Load()
	}
	return count
}

// What a life leaves behind would add up: members that join, serve and leave one after
// the other, and Balancers that come and go on a directory that stays.
//
// Claim: Close ends the Balancer's goroutine; calls in flight go on.
//
// Cases: B30, G12.
func TestBalancer_LeavesNothingOfWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, dispatch.Config{}, discovery.Config[spec]{}, false)
		constant := func(discovery.Member[spec]) (dispatch.Endpoint, error) {
			return &fake{answer: func(*http.Request) (*http.Response, error) { return reply(200, "served"), nil }}, nil
		}
		members, err := dispatch.NewMembership(dispatch.MembershipConfig[spec]{Directory: f.d, Connect: constant})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.b.Close() // it would remember every endpoint
		open := func() *dispatch.Balancer {
			b, err := dispatch.New(dispatch.Config{Policy: new(policy.RoundRobin), Membership: members})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		b := open()
		defer b.Close()
		turn := func() {
			f.apply(upsert("a", spec{}))
			resp := hold(t, b)
			f.apply(drop("a"))
			finish(t, resp)
			if got := states(b); got != "" || f.d.Load().Len() != 0 {
				t.Fatalf("left are %s", got)
			}
			_ = open().Close()
		}
		for range 100 {
			turn()
		}
		before, goroutines := liveHeap(), runtime.NumGoroutine()
		const turns = 1000
		for range turns {
			turn()
		}
		// A life is more than 300 bytes, and a Balancer more than a thousand.
		if after := liveHeap(); after > before+turns*100 {
			t.Errorf("the heap grew from %d to %d bytes", before, after)
		}
		if n := runtime.NumGoroutine(); n != goroutines {
			t.Errorf("%d goroutines, before %d", n, goroutines)
		}
	})
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
