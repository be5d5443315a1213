package poisehttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func weight(t testing.TB, w uint32) poise.Weight {
	t.Helper()
	weight, err := poise.NewWeight(w)
	if err != nil {
		t.Fatal(err)
	}
	return weight
}

// Claim: Update is all or nothing: after an error the endpoints and the picker are as before.
//
// Cases: B42, B48.
func TestBalancer_UpdatesAllOrNothing(t *testing.T) {
	a, other := answering(200), answering(200)
	var absent *fake
	for _, row := range []struct {
		name  string
		list  []poisehttp.Member
		field string
		want  error
	}{
		{"a duplicate identity", []poisehttp.Member{{ID: "a", Endpoint: other}, {ID: "a", Endpoint: answering(200)}}, "members[1].ID", poise.ErrDuplicateIdentity},
		{"the same member twice", []poisehttp.Member{{ID: "a", Endpoint: a}, {ID: "a", Endpoint: a}}, "members[1].ID", poise.ErrDuplicateIdentity},
		{"an empty identity", []poisehttp.Member{{ID: "", Endpoint: other}}, "members[0].ID", poise.ErrEmptyIdentity},
		{"no endpoint", []poisehttp.Member{{ID: "a", Endpoint: a}, {ID: "b"}}, "members[1].Endpoint", poisehttp.ErrMissing},
		{"a nil endpoint", []poisehttp.Member{{ID: "b", Endpoint: absent}}, "members[0].Endpoint", poisehttp.ErrMissing},
		{"an endpoint that cannot be compared", []poisehttp.Member{{ID: "b", Endpoint: incomparable{}}}, "members[0].Endpoint", poisehttp.ErrNotComparable},
		{"an endpoint that hides what cannot be compared", []poisehttp.Member{{ID: "b", Endpoint: hiding{[]int{}}}}, "members[0].Endpoint", poisehttp.ErrNotComparable},
		{"an unknown status", []poisehttp.Member{{ID: "b", Endpoint: other, Status: 9}}, "members[0].Status", poise.ErrInvalidStatus},
		{"another limit", []poisehttp.Member{{ID: "b", Endpoint: other}, {ID: "a", Endpoint: a, Limit: 3}}, "members[1].Limit", poisehttp.ErrFixedLimit},
		{"another name", []poisehttp.Member{{ID: "b", Endpoint: a}}, "members[0].Endpoint", poisehttp.ErrSharedEndpoint},
		{"two weights of one locality", []poisehttp.Member{
			{ID: "a", Endpoint: a}, {ID: "b", Endpoint: other, LocalityWeight: weight(t, 2)},
		}, "members[1].LocalityWeight", poise.ErrInconsistentTopology},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBalancer(t, poisehttp.Config{}, a)
			before := fmt.Sprint(b.Endpoints())
			requireField(t, b.Update(row.list), row.field, row.want)
			if after := fmt.Sprint(b.Endpoints()); after != before {
				t.Errorf("the endpoints were %s and are %s", before, after)
			}
			calls := a.calls.Load()
			if status, err := get(t, b); status != 200 || a.calls.Load() != calls+1 {
				t.Errorf("got %d, %v", status, err)
			}
			if a.closed.Load()+other.closed.Load() != 0 {
				t.Error("an endpoint was closed")
			}
			if err := b.Update([]poisehttp.Member{{ID: "a", Endpoint: a}, {ID: "c", Endpoint: other}}); err != nil {
				t.Fatal(err)
			}
			if n := b.Endpoints()[1].Incarnation; n != 2 {
				t.Errorf("the failed change used up incarnations: the next one is %d", n)
			}
			_ = b.Close()
			a.closed.Store(0)
			other.closed.Store(0)
		})
	}
}

type incomparable []func()

func (incomparable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errBroken }
func (incomparable) Close() error                                    { return nil }

type hiding struct{ secret any }

func (hiding) RoundTrip(*http.Request) (*http.Response, error) { return nil, errBroken }
func (hiding) Close() error                                    { return nil }

// Claim: Update is all or nothing: after an error the endpoints and the picker are as before.
//
// Cases: B48.
func TestBalancer_KeepsThePickerWhenThePolicyCannotPrepare(t *testing.T) {
	for name, failure := range map[string]struct {
		prepare func() (poise.Picker, error)
		want    error
	}{
		"refusal":                  {func() (poise.Picker, error) { return nil, errBroken }, errBroken},
		"panic":                    {func() (poise.Picker, error) { panic("oops") }, poisehttp.ErrPolicyPanic},
		"neither picker nor error": {func() (poise.Picker, error) { return nil, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fails := false
			e, other := answering(200), answering(200)
			b := newBalancer(t, poisehttp.Config{Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				if fails {
					return failure.prepare()
				}
				return new(policy.RoundRobin).Prepare(v)
			}}}, e)
			fails = true
			changes := map[string]error{
				"Update":    b.Update(members(other)),
				"SetStatus": b.SetStatus("a", poise.Draining),
			}
			for change, err := range changes {
				if err == nil || failure.want != nil && !errors.Is(err, failure.want) {
					t.Errorf("%s answers %v", change, err)
				}
			}
			if status, err := get(t, b); status != 200 || e.calls.Load() != 1 || e.closed.Load() != 0 {
				t.Errorf("got %d, %v", status, err)
			}
			_, err := poisehttp.New(poisehttp.Config{Policy: fixed{func(*poise.View) (poise.Picker, error) { return failure.prepare() }}})
			if err == nil {
				t.Error("New succeeds")
			}
		})
	}
}

// Claim: An endpoint that stays in the list keeps its load, its quarantine and its incarnation.
func TestBalancer_KeepsTheStateOfWhoStays(t *testing.T) {
	bad, good := failing(errBroken), answering(200)
	b := newBalancer(t, poisehttp.Config{
		Attempts: 1, Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
	}, bad, good)
	_, _ = get(t, b)
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update([]poisehttp.Member{
		{ID: "new", Endpoint: answering(200)},
		{ID: "b", Endpoint: good, Weight: weight(t, 7)},
		{ID: "a", Endpoint: bad, Priority: 1},
	}); err != nil {
		t.Fatal(err)
	}
	got := b.Endpoints()
	want := []poisehttp.EndpointState{
		{ID: "new", Incarnation: 3},
		{ID: "b", Incarnation: 2, InFlight: 1},
		{ID: "a", Incarnation: 1, Reason: poise.ExcludedEjected},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("endpoint %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	_ = resp.Body.Close()
	// Another Endpoint value is another life.
	if err := b.Update([]poisehttp.Member{{ID: "a", Endpoint: answering(200), Limit: 2}, {ID: "b", Endpoint: good}}); err != nil {
		t.Fatal(err)
	}
	if got := b.Endpoints()[0]; got != (poisehttp.EndpointState{ID: "a", Incarnation: 4, Limit: 2}) || bad.closed.Load() != 1 {
		t.Errorf("the new life is %+v, the old was closed %d times", got, bad.closed.Load())
	}
}

// Claim: A draining or removed endpoint gets no call that began after SetStatus or Update returned.
//
// Cases: B44, B45.
func TestBalancer_SendsNothingNewToWhoDrains(t *testing.T) {
	leave := map[string]func(*poisehttp.Balancer, []poisehttp.Member) error{
		"SetStatus": func(b *poisehttp.Balancer, _ []poisehttp.Member) error { return b.SetStatus("a", poise.Draining) },
		"Update draining": func(b *poisehttp.Balancer, list []poisehttp.Member) error {
			list[0].Status = poise.Draining
			return b.Update(list)
		},
		"Update removed": func(b *poisehttp.Balancer, list []poisehttp.Member) error { return b.Update(list[1:]) },
	}
	for name, chosen := range policies(t) {
		for how, change := range leave {
			t.Run(name+" "+how, func(t *testing.T) {
				var gone atomic.Bool
				slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if gone.Load() {
						t.Error("a new call arrived")
					}
					w.WriteHeader(200)
					w.(http.Flusher).Flush()
					_, _ = io.WriteString(w, "all of it")
				})
				list := members(slow, answering(200), answering(200))
				b := newBalancer(t, poisehttp.Config{Policy: chosen, Members: list})
				var held []*http.Response
				for inFlight(b, "a") == 0 {
					resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
					if err != nil {
						t.Fatal(err)
					}
					held = append(held, resp)
				}
				if err := change(b, list); err != nil {
					t.Fatal(err)
				}
				gone.Store(true)
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() {
						for range 25 {
							if _, err := get(t, b); err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
				for _, resp := range held {
					if body, err := io.ReadAll(resp.Body); err != nil || len(body) == 0 {
						t.Errorf("a call in flight was cut short: %q, %v", body, err)
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
}

// A pick that began before the change can end after it. Then admission refuses it,
// and the call goes elsewhere.
//
// Cases: B44, B45.
func TestBalancer_RefusesAPickThatTheChangeOvertook(t *testing.T) {
	for how, change := range map[string]func(*poisehttp.Balancer, []poisehttp.Member) error{
		"SetStatus": func(b *poisehttp.Balancer, _ []poisehttp.Member) error { return b.SetStatus("a", poise.Draining) },
		"Update draining": func(b *poisehttp.Balancer, list []poisehttp.Member) error {
			list[0].Status = poise.Draining
			return b.Update(list)
		},
		"Update removed": func(b *poisehttp.Balancer, list []poisehttp.Member) error { return b.Update(list[1:]) },
	} {
		t.Run(how, func(t *testing.T) {
			var b *poisehttp.Balancer
			leaving, staying := answering(200), answering(200)
			list := members(leaving, staying)
			overtaken := false
			b = newBalancer(t, poisehttp.Config{Members: list, Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				return pickerFunc(func(poise.Query) (poise.Selection, error) {
					chosen, err := v.Select(v.Eligible(0))
					if !overtaken {
						overtaken = true
						if err := change(b, list); err != nil {
							t.Error(err)
						}
					}
					return chosen, err
				}), nil
			}}})
			if status, err := get(t, b); status != 200 || leaving.calls.Load() != 0 || staying.calls.Load() != 1 {
				t.Errorf("got %d, %v; the one that leaves had %d calls", status, err, leaving.calls.Load())
			}
		})
	}
}

// Cases: B45.
func TestBalancer_ChangesTheStatusOfAMember(t *testing.T) {
	e := answering(200)
	b := newBalancer(t, poisehttp.Config{}, e, answering(200))
	requireField(t, b.SetStatus("nobody", poise.Draining), "id", poisehttp.ErrUnknownEndpoint)
	requireField(t, b.SetStatus("a", poise.Unavailable+1), "status", poise.ErrInvalidStatus)
	for _, step := range []struct {
		status poise.Status
		reason poise.Reason
	}{
		{poise.Draining, poise.ExcludedDraining}, {poise.Draining, poise.ExcludedDraining},
		{poise.Unavailable, poise.ExcludedUnavailable}, {poise.Ready, poise.NotExcluded},
	} {
		if err := b.SetStatus("a", step.status); err != nil {
			t.Fatal(err)
		}
		if got := b.Endpoints()[0]; got.Reason != step.reason || got.Incarnation != 1 {
			t.Errorf("%s: %+v", step.status, got)
		}
		calls := e.calls.Load()
		for range 4 {
			_, _ = get(t, b)
		}
		if served := e.calls.Load() - calls; (served == 2) != (step.status == poise.Ready) || served != 2 && served != 0 {
			t.Errorf("%s: %d of 4 calls", step.status, served)
		}
	}
	if err := b.SetStatus("b", poise.Draining); err != nil {
		t.Fatal(err)
	}
	if err := b.SetStatus("a", poise.Unavailable); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, b); !errors.Is(err, poise.ErrNoEligible) {
		t.Errorf("nobody is left: %v", err)
	}
	if err := b.Update(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, b); !errors.Is(err, poise.ErrEmpty) {
		t.Errorf("nobody is there: %v", err)
	}
}

// A discovery that loses everybody for a moment.
//
// Claim: Update refuses an Endpoint that was removed until its last call has ended.
//
// Claim: A Balancer closes an Endpoint once, after it was removed and its last call has ended.
func TestBalancer_RefusesAnEndpointThatIsStillLeaving(t *testing.T) {
	for _, row := range []struct {
		name string
		id   string
		gap  []poisehttp.Member
	}{
		{"after a gap", "a", nil},
		{"after a gap, under another name", "b", nil},
		{"after another took its place", "a", []poisehttp.Member{{ID: "a", Endpoint: answering(200)}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, next := answering(200), answering(200)
			b := newBalancer(t, poisehttp.Config{}, e)
			resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Update(row.gap); err != nil {
				t.Fatal(err)
			}
			again := []poisehttp.Member{{ID: row.id, Endpoint: e}}
			for range 2 {
				requireField(t, b.Update(again), "members[0].Endpoint", poisehttp.ErrSharedEndpoint)
			}
			if err := b.Update([]poisehttp.Member{{ID: "next", Endpoint: next}}); err != nil {
				t.Errorf("another endpoint is refused too: %v", err)
			}
			if e.closed.Load() != 0 {
				t.Error("it was closed with a call in flight")
			}
			_ = resp.Body.Close()
			if e.closed.Load() != 1 {
				t.Errorf("it was closed %d times", e.closed.Load())
			}
			if err := b.Update(again); err != nil {
				t.Errorf("its last call has ended: %v", err)
			}
		})
	}
}

// Claim: Draining and Unavailable of SetStatus hold for the incarnation until SetStatus of Ready, whatever Update says; then the list's status applies.
//
// Cases: B45.
func TestBalancer_KeepsTheOperatorsWordOverUpdates(t *testing.T) {
	e := answering(200)
	b := newBalancer(t, poisehttp.Config{}, e, answering(200))
	require := func(when string, reason poise.Reason) {
		t.Helper()
		if got := b.Endpoints()[0]; got.Reason != reason {
			t.Errorf("%s: it is %s, want %s", when, got.Reason, reason)
		}
		calls := e.calls.Load()
		for range 4 {
			_, _ = get(t, b)
		}
		if served := e.calls.Load() > calls; served != (reason == poise.NotExcluded) {
			t.Errorf("%s: it got calls: %t", when, served)
		}
	}
	update := func(endpoint poisehttp.Endpoint, status poise.Status) {
		t.Helper()
		if err := b.Update([]poisehttp.Member{{ID: "a", Endpoint: endpoint, Status: status}, {ID: "c", Endpoint: answering(200)}}); err != nil {
			t.Fatal(err)
		}
	}
	say := func(status poise.Status) {
		t.Helper()
		if err := b.SetStatus("a", status); err != nil {
			t.Fatal(err)
		}
	}
	reasons := map[poise.Status]poise.Reason{
		poise.Ready: poise.NotExcluded, poise.Draining: poise.ExcludedDraining, poise.Unavailable: poise.ExcludedUnavailable,
	}
	for listed, byList := range reasons {
		update(e, listed)
		require("the list says "+listed.String(), byList)
		for _, said := range []poise.Status{poise.Draining, poise.Unavailable} {
			say(said)
			for other := range reasons {
				update(e, other)
				require(fmt.Sprintf("the operator said %s, the list %s", said, other), reasons[said])
			}
			update(e, listed)
			say(poise.Ready)
			require(fmt.Sprintf("the word is taken back, the list says %s", listed), byList)
		}
	}
	say(poise.Draining)
	e = answering(200)
	update(e, poise.Ready)
	require("a new incarnation", poise.NotExcluded)
}

// Claim: Close ends the Balancer's goroutine; calls in flight go on.
//
// Cases: B30.
func TestBalancer_ClosesWithCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which waits for the goroutine to end
		e := answering(200)
		b := newBalancer(t, poisehttp.Config{}, e)
		resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		for call, err := range map[string]error{
			"Update": b.Update(nil), "SetStatus": b.SetStatus("a", poise.Ready),
			"RoundTrip": func() error { _, err := get(t, b); return err }(),
		} {
			if !errors.Is(err, poisehttp.ErrClosed) {
				t.Errorf("%s after Close: %v", call, err)
			}
		}
		if len(b.Endpoints()) != 0 || b.PublishError() != nil {
			t.Error("a closed Balancer has endpoints")
		}
		b.CloseIdleConnections()
		if body, err := io.ReadAll(resp.Body); string(body) != "served" || err != nil || e.closed.Load() != 1 {
			t.Errorf("the call in flight got %q, %v; the endpoint was closed %d times", body, err, e.closed.Load())
		}
	})
}

// A change of health that waits when Close is called must not open the Balancer
// again.
//
// Claim: Close ends the Balancer's goroutine; calls in flight go on.
//
// Cases: B30.
func TestBalancer_StaysClosedThoughAChangeWasWaiting(t *testing.T) {
	for range 100 {
		b := newBalancer(t, poisehttp.Config{Attempts: 1, Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1}}, failing(errBroken))
		_, _ = get(t, b)
		_ = b.Close()
		if _, err := get(t, b); !errors.Is(err, poisehttp.ErrClosed) {
			t.Fatalf("after Close: %v", err)
		}
	}
}

func TestNew_NamesTheFieldThatIsWrong(t *testing.T) {
	chosen := new(policy.RoundRobin)
	for _, row := range []struct {
		field string
		want  error
		cfg   poisehttp.Config
	}{
		{"Policy", poisehttp.ErrMissing, poisehttp.Config{}},
		{"Policy", poisehttp.ErrMissing, poisehttp.Config{Policy: (*policy.RoundRobin)(nil)}},
		{"Policy", poisehttp.ErrMissing, poisehttp.Config{Policy: policyFunc(nil)}},
		{"Attempts", poisehttp.ErrOutOfRange, poisehttp.Config{Policy: chosen, Attempts: -1}},
		{"Admissions", poisehttp.ErrOutOfRange, poisehttp.Config{Policy: chosen, Admissions: -1}},
		{"AttemptTimeout", poisehttp.ErrOutOfRange, poisehttp.Config{Policy: chosen, AttemptTimeout: -1}},
		{"Quarantine.Failures", poisehttp.ErrOutOfRange, poisehttp.Config{Policy: chosen, Quarantine: poisehttp.QuarantineConfig{Failures: -1}}},
		{"RetryBudget.Percent", poisehttp.ErrOutOfRange, poisehttp.Config{Policy: chosen, RetryBudget: poisehttp.RetryBudgetConfig{Percent: -1}}},
		{"members[0].Endpoint", poisehttp.ErrMissing, poisehttp.Config{Policy: chosen, Members: []poisehttp.Member{{ID: "a"}}}},
	} {
		_, err := poisehttp.New(row.cfg)
		requireField(t, err, row.field, row.want)
	}
}

// policyFunc is a policy made of a function.
type policyFunc func(*poise.View) (poise.Picker, error)

func (f policyFunc) Prepare(v *poise.View) (poise.Picker, error) { return f(v) }

// nothing is a policy without a field, which no nil check may take for none.
type nothing map[string]int

func (nothing) Prepare(v *poise.View) (poise.Picker, error) { return new(policy.RoundRobin).Prepare(v) }

func TestNew_TakesAPolicyThatNeedsNoValue(t *testing.T) {
	for _, chosen := range []poise.Policy{nothing(nil), policyFunc(new(policy.RoundRobin).Prepare)} {
		if status, err := get(t, newBalancer(t, poisehttp.Config{Policy: chosen}, answering(200))); status != 200 {
			t.Errorf("%T: %v", chosen, err)
		}
	}
}

// The zero Balancer is as one that was closed.
func TestBalancer_OfZeroValueIsClosed(t *testing.T) {
	var b poisehttp.Balancer
	body := &source{Reader: strings.NewReader("x")}
	_, err := do(&b, newRequest(t, http.MethodPut, body))
	if failure := requireCallError(t, err); !errors.Is(err, poisehttp.ErrClosed) || failure.Attempts != 0 || body.closes.Load() != 1 {
		t.Errorf("RoundTrip: %v; the body was closed %d times", err, body.closes.Load())
	}
	for change, err := range map[string]error{"Update": b.Update(nil), "SetStatus": b.SetStatus("a", poise.Ready)} {
		if !errors.Is(err, poisehttp.ErrClosed) {
			t.Errorf("%s: %v", change, err)
		}
	}
	b.CloseIdleConnections()
	if len(b.Endpoints()) != 0 || b.PublishError() != nil || b.Close() != nil {
		t.Error("it is not as if closed")
	}
}

func TestBalancer_TakesTenThousandMembers(t *testing.T) {
	e := answering(200)
	list := make([]poisehttp.Member, 10_000)
	for i := range list {
		list[i] = poisehttp.Member{ID: fmt.Sprintf("member-%05d", i), Endpoint: &fake{answer: e.answer}}
	}
	b := newBalancer(t, poisehttp.Config{Members: list})
	if err := b.Update(list[1:]); err != nil {
		t.Fatal(err)
	}
	if err := b.SetStatus("member-09999", poise.Draining); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if status, err := get(t, b); status != 200 {
			t.Fatal(err)
		}
	}
	if list[0].Endpoint.(*fake).closed.Load() != 1 || len(b.Endpoints()) != 9_999 {
		t.Error("the first member is still there")
	}
}

// Claim: A panic of a callback or a policy during a call leaves no slot held.
//
// Cases: B14, B24.
func TestBalancer_HoldsNothingAfterAPanicOfACallback(t *testing.T) {
	oops := func() { panic(errBroken) }
	endsPicks := func(after int) poise.Policy {
		return fixed{func(v *poise.View) (poise.Picker, error) {
			inner, err := new(policy.RoundRobin).Prepare(v)
			return pickerFunc(func(q poise.Query) (poise.Selection, error) {
				if after--; after < 0 {
					oops()
				}
				return inner.Pick(q)
			}), err
		}}
	}
	serving := func() []poisehttp.Endpoint { return []poisehttp.Endpoint{answering(200)} }
	failed := func() []poisehttp.Endpoint { return []poisehttp.Endpoint{failing(errBroken), answering(200)} }
	refusing := func() []poisehttp.Endpoint { return []poisehttp.Endpoint{answering(503), answering(200)} }
	for _, row := range []struct {
		name      string
		cfg       poisehttp.Config
		endpoints []poisehttp.Endpoint
		getBody   func() (io.ReadCloser, error)
	}{
		{name: "Key", cfg: poisehttp.Config{Key: func(*http.Request) poise.Key { oops(); return poise.Key{} }}, endpoints: serving()},
		{name: "Explain", cfg: poisehttp.Config{Explain: func(*http.Request) bool { oops(); return false }}, endpoints: serving()},
		{name: "Classify", cfg: poisehttp.Config{Classify: func(*http.Response, error) poise.Outcome { oops(); return 0 }}, endpoints: serving()},
		{name: "Classify of an error", cfg: poisehttp.Config{Classify: func(*http.Response, error) poise.Outcome { oops(); return 0 }}, endpoints: failed()},
		{name: "Observe", cfg: poisehttp.Config{Observe: func(poisehttp.Event) { oops() }}, endpoints: serving()},
		{name: "Observe of an error", cfg: poisehttp.Config{Observe: func(poisehttp.Event) { oops() }}, endpoints: failed()},
		{name: "Observe of a discarded response", cfg: poisehttp.Config{Observe: func(poisehttp.Event) { oops() }}, endpoints: refusing()},
		{name: "Pick", cfg: poisehttp.Config{Policy: endsPicks(0)}, endpoints: serving()},
		{name: "Pick for a retry after an error", cfg: poisehttp.Config{Policy: endsPicks(1)}, endpoints: failed()},
		{name: "Pick for a retry after a response", cfg: poisehttp.Config{Policy: endsPicks(1)}, endpoints: refusing()},
		{name: "GetBody", endpoints: []poisehttp.Endpoint{readsAndFails()}, getBody: func() (io.ReadCloser, error) { oops(); return nil, nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBalancer(t, row.cfg, row.endpoints...)
			body := &source{Reader: strings.NewReader("x")}
			req := newRequest(t, http.MethodPut, body)
			req.GetBody = row.getBody
			requirePanic(t, func() {
				_, err := do(b, req)
				t.Errorf("the call ended with %v", err)
			})
			requireIdle(t, b)
			if n := body.closes.Load(); n != 1 && row.name != "Observe" && row.name != "Classify" {
				t.Errorf("the body was closed %d times", n) // a fake that served leaves it to the upload
			}
		})
	}
}

// Claim: A panic of a callback or a policy during a call leaves no slot held.
func TestBalancer_TellsOnceThoughTheObserverPanics(t *testing.T) {
	var events record
	b := newBalancer(t, poisehttp.Config{Observe: func(e poisehttp.Event) {
		events.observe(e)
		panic(errBroken)
	}}, failing(errBroken), answering(200))
	requirePanic(t, func() { _, _ = get(t, b) })
	if got := strings.Join(events.all(), "; "); got != "a#1 failure, retried" {
		t.Errorf("the observer was told %s", got)
	}
}

func readsAndFails() *fake {
	return &fake{answer: func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
		return nil, errBroken
	}}
}

// An attempt that ended with an error is told once, even if a panic keeps the
// retry from happening.
//
// Cases: B14.
func TestBalancer_TellsOfAnAttemptThoughThePolicyPanicsAfterIt(t *testing.T) {
	var events record
	picks := 0
	b := newBalancer(t, poisehttp.Config{Observe: events.observe, Policy: fixed{func(v *poise.View) (poise.Picker, error) {
		return pickerFunc(func(poise.Query) (poise.Selection, error) {
			if picks++; picks == 2 {
				panic(errBroken)
			}
			return v.Select(0)
		}), nil
	}}}, failing(errBroken))
	requirePanic(t, func() { _, _ = get(t, b) })
	if got := strings.Join(events.all(), "; "); got != "a#1 failure" {
		t.Errorf("the observer was told %s", got)
	}
}

// Claim: A panic of a callback or a policy during a call leaves no slot held.
func TestBalancer_SurvivesAnObserverThatPanicsOnACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		b := newBalancer(t, poisehttp.Config{Observe: func(poisehttp.Event) { told++; panic(errBroken) }}, answering(200))
		ctx, cancel := contextWithCancel(t)
		if _, err := b.RoundTrip(newRequest(t, http.MethodGet, nil).WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		requireIdle(t, b)
		if told != 1 {
			t.Errorf("the observer was told %d times", told)
		}
	})
}

// Claim: Every call returns a response or a CallError.
func TestBalancer_ReportsAPolicyThatBreaksTheRules(t *testing.T) {
	var foreign poise.Selection
	_ = newBalancer(t, poisehttp.Config{Policy: fixed{func(v *poise.View) (poise.Picker, error) {
		foreign, _ = v.Select(0)
		return pickerFunc(nil), nil
	}}}, answering(200))
	for name, row := range map[string]struct {
		pick func(*poise.View) (poise.Selection, error)
		want error
	}{
		"a selection of another View": {func(*poise.View) (poise.Selection, error) { return foreign, nil }, poise.ErrForeignSelection},
		"the zero selection":          {func(*poise.View) (poise.Selection, error) { return poise.Selection{}, nil }, poise.ErrForeignSelection},
		"an error":                    {func(*poise.View) (poise.Selection, error) { return poise.Selection{}, errBroken }, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			e := answering(200)
			b := newBalancer(t, poisehttp.Config{Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				return pickerFunc(func(poise.Query) (poise.Selection, error) { return row.pick(v) }), nil
			}}}, e)
			body := &source{Reader: strings.NewReader("x")}
			_, err := do(b, newRequest(t, http.MethodPut, body))
			if failure := requireCallError(t, err); !errors.Is(err, row.want) || failure.Attempts != 0 || e.calls.Load() != 0 || body.closes.Load() != 1 {
				t.Errorf("got %+v", failure)
			}
		})
	}
	// A policy that forgets what was tried is asked a bounded number of times.
	asked := 0
	b := newBalancer(t, poisehttp.Config{Admissions: 5, Policy: fixed{func(v *poise.View) (poise.Picker, error) {
		return pickerFunc(func(poise.Query) (poise.Selection, error) { asked++; return v.Select(0) }), nil
	}}, Members: []poisehttp.Member{{ID: "a", Endpoint: answering(200), Limit: 1}}})
	resp, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
	if err != nil {
		t.Fatal(err)
	}
	asked = 0
	if _, err := get(t, b); !errors.Is(err, poise.ErrAtCapacity) || asked != 5 {
		t.Errorf("got %v after %d picks", err, asked)
	}
	_ = resp.Body.Close()
}

// Cases: B24.
func TestBalancer_LetsCallbacksCallIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a deadlock fails the bubble
		var b *poisehttp.Balancer
		inner := answering(200)
		list := []poisehttp.Member{{ID: "a", Endpoint: failing(errBroken)}, {ID: "b", Endpoint: inner}}
		enter := func() {
			_, _ = b.Endpoints(), b.PublishError()
			_ = b.SetStatus("b", poise.Ready)
			_ = b.Update(list)
		}
		nested := false
		list[1].Endpoint = &closing{fake: inner, onClose: func() { enter() }}
		b = newBalancer(t, poisehttp.Config{
			Members: list, Quarantine: poisehttp.QuarantineConfig{MaxAside: 100, Failures: 1},
			Key:      func(*http.Request) poise.Key { enter(); return poise.Key{} },
			Explain:  func(*http.Request) bool { enter(); return true },
			Classify: func(r *http.Response, err error) poise.Outcome { enter(); return poisehttp.Classify(r, err) },
			Observe: func(poisehttp.Event) {
				enter()
				if !nested {
					nested = true
					_, _ = get(t, b)
					return
				}
				_ = b.Close()
			},
		})
		_, _ = get(t, b)
		_, _ = get(t, b)
		if _, err := get(t, b); !errors.Is(err, poisehttp.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
