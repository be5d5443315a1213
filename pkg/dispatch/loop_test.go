package dispatch_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/transform"
)

// newLoop returns a loop over n members without limits, named a0 and on.
func newLoop(tb fatal, n int, edit func(*dispatch.LoopConfig)) *dispatch.Loop {
	tb.Helper()
	cfg := dispatch.LoopConfig{Policy: new(policy.RoundRobin), Seed: 1}
	if edit != nil {
		edit(&cfg)
	}
	l, err := dispatch.NewLoop(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.Update(specs(n), epoch); err != nil {
		tb.Fatal(err)
	}
	return l
}

// specs returns n members of the incarnations 1 and on.
func specs(n int) []dispatch.Spec {
	list := make([]dispatch.Spec, n)
	for i := range list {
		list[i] = dispatch.Spec{Sample: poise.Sample{ID: "a" + strconv.Itoa(i), Incarnation: uint64(i) + 1}, Value: i}
	}
	return list
}

// at returns the instant after so many milliseconds.
func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// unreachable and others are results.
var (
	success     = poise.Result{}
	failure     = poise.Result{Outcome: poise.Failure}
	unreachable = poise.Result{Outcome: poise.Unreachable}
	overloaded  = poise.Result{Outcome: poise.Overloaded}
)

// call makes one call of one attempt, and returns where it went and how.
func call(tb testing.TB, l *dispatch.Loop, now time.Time, r poise.Result) (where string) {
	tb.Helper()
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: now, Repeatable: true}); err != nil {
		tb.Fatal(err)
	}
	c.End(r, now)
	advance(tb, l, now)
	return fmt.Sprintf("%s %v", c.ID(), c.Choice())
}

func advance(tb testing.TB, l *dispatch.Loop, now time.Time) time.Time {
	tb.Helper()
	next, err := l.Advance(now)
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

// eject makes the member the only one that cannot be reached.
func eject(tb testing.TB, l *dispatch.Loop, id string, now time.Time) {
	tb.Helper()
	misses := 0
	for range 100 {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			tb.Fatal(err)
		}
		if c.ID() != id {
			c.End(success, now)
			continue
		}
		c.End(unreachable, now)
		if misses++; misses == 3 { // as many as it takes if it served before
			break
		}
	}
	if misses > 0 {
		advance(tb, l, now)
		return
	}
	tb.Fatalf("no call came to %s", id)
}

// Claim: An ejected member gets trials, and calls for which nobody else is left, and no others.
// Code: admission.acquire
func TestLoop_SendsAnEjectedMemberOnlyTrials(t *testing.T) {
	l := newLoop(t, 3, nil)
	eject(t, l, "a0", at(0))
	for range 10 {
		if where := call(t, l, at(0), success); strings.HasPrefix(where, "a0") {
			t.Fatalf("a call went to %s", where)
		}
	}
	advance(t, l, at(10))
	if in := l.Inspect(at(10)).Members[0]; in.Reason != poise.ExcludedEjected || in.Passive.Cause != health.EjectedUnreachable {
		t.Errorf("a0 is %v, because %v", in.Reason, in.Passive.Cause)
	}
	var trials int
	for ms := 10; ms < 1000; ms += 10 {
		where := call(t, l, at(ms), success)
		if where == "a0 trial" {
			trials++
		} else if trials == 0 && strings.HasPrefix(where, "a0") {
			t.Fatalf("a call went to %s", where)
		}
	}
	if trials != 1 {
		t.Errorf("%d trials were made", trials)
	}
	if in := l.Inspect(at(1000)).Members[0]; in.Reason != poise.NotExcluded {
		t.Errorf("after a trial that succeeded a0 is %v", in.Reason)
	}
}

// A member that says that it is too busy takes a share of its picks only.
func TestLoop_OffersLessToWhoIsTooBusy(t *testing.T) {
	for name, p := range map[string]func() poise.Policy{
		"round robin": func() poise.Policy { return new(policy.RoundRobin) },
		"ring hash": func() poise.Policy {
			ring, err := policy.NewRingHash(policy.RingHashConfig{})
			if err != nil {
				t.Fatal(err)
			}
			return ring
		},
	} {
		l := newLoop(t, 4, func(c *dispatch.LoopConfig) { c.Policy = p() })
		now, busy := epoch, 0
		for i := range 4000 {
			now = now.Add(time.Millisecond)
			var c dispatch.Call
			var why poise.Decision
			if err := l.Acquire(&c, dispatch.Query{Now: now, Key: poise.Uint64Key(uint64(i)), Why: &why}); err != nil {
				t.Fatal(err)
			}
			if s, err := why.View.Sample(why.Chosen); c.Choice() == observe.Picked && (err != nil || s.ID != c.ID()) {
				t.Fatalf("%s: %s is explained as %v", name, c.ID(), why)
			}
			r := success
			if c.ID() == "a0" && i%2 == 0 {
				r = overloaded
			}
			if c.ID() == "a0" && i >= 2000 {
				busy++
			}
			c.End(r, now)
			advance(t, l, now)
		}
		if busy > 350 || busy == 0 {
			t.Errorf("%s: a busy member of four gets %d of 2000", name, busy)
		}
	}
}

// A member that refuses calls beside two others is passed over while two wait there, by
// the owner of a key as well; and where everybody is full, the pick stands.
func TestLoop_PassesOverWhoIsFull(t *testing.T) {
	l := newLoop(t, 3, func(c *dispatch.LoopConfig) { c.Policy = new(policy.Rendezvous) })
	now := epoch
	acquire := func() *dispatch.Call {
		t.Helper()
		c := new(dispatch.Call)
		if err := l.Acquire(c, dispatch.Query{Now: now, Key: poise.Uint64Key(7)}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	// fill has the member to which the key leads take two calls, and refuse a third.
	fill := func() (id string) {
		t.Helper()
		first, second, third := acquire(), acquire(), acquire()
		if id = first.ID(); second.ID() != id || third.ID() != id {
			t.Fatalf("calls of one key went to %s, %s and %s", id, second.ID(), third.ID())
		}
		third.End(overloaded, now)
		return id
	}
	owner := fill()
	next := fill()
	last := fill()
	if owner == next || next == last || owner == last {
		t.Errorf("calls went to %s, then %s, then %s", owner, next, last)
	}
	if c := acquire(); c.ID() != owner {
		t.Errorf("while all are full a call went to %s, and the owner is %s", c.ID(), owner)
	}
}

// Cases: B110.
func TestLoop_LetsAProbeEndAnEjection(t *testing.T) {
	l := newLoop(t, 3, nil)
	eject(t, l, "a0", at(0))
	advance(t, l, at(10))
	if reason := l.Inspect(at(10)).Members[0].Reason; reason != poise.ExcludedEjected {
		t.Fatalf("a0 is %v", reason)
	}
	if err := l.Passed(1, at(30)); err != nil {
		t.Fatal(err)
	}
	if reason := l.Inspect(at(30)).Members[0].Reason; reason != poise.NotExcluded {
		t.Errorf("after a probe that passed a0 is %v", reason)
	}
	if err := l.Passed(9, at(30)); !errors.Is(err, dispatch.ErrUnknownMember) {
		t.Errorf("a probe of nobody: %v", err)
	}
}

// Claim: An ejected member gets trials, and calls for which nobody else is left, and no others.
//
// Cases: B85.
func TestLoop_RefusesNoCallWhenAllAreEjected(t *testing.T) {
	l := newLoop(t, 4, nil)
	for range 4 {
		call(t, l, epoch, unreachable)
	}
	var order []string
	for range 8 {
		var c dispatch.Call
		var why poise.Decision
		if err := l.Acquire(&c, dispatch.Query{Now: epoch, Why: &why}); err != nil {
			t.Fatal(err)
		}
		c.End(unreachable, epoch)
		if c.Choice() != observe.LastResort || !strings.Contains(why.String(), "least recently tried of the ejected") {
			t.Errorf("%s was chosen as %v: %v", c.ID(), c.Choice(), why)
		}
		order = append(order, c.ID())
	}
	if !slices.Equal(order[:4], order[4:]) || len(slices.Compact(slices.Sorted(slices.Values(order[:4])))) != 4 {
		t.Errorf("they are called in the order %v", order)
	}
}

// An operator's word and a list are above passive health.
func TestLoop_ResortsToNobodyWhoIsLeftOutForAnotherReason(t *testing.T) {
	l := newLoop(t, 3, nil)
	for range 3 {
		call(t, l, epoch, unreachable)
	}
	if err := l.SetStatus("a0", poise.Draining, epoch); err != nil {
		t.Fatal(err)
	}
	if err := l.SetConnected(2, false, epoch); err != nil {
		t.Fatal(err)
	}
	advance(t, l, at(20))
	for range 4 {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: at(20)}); err != nil || c.ID() != "a2" {
			t.Fatalf("a call went to %q: %v", c.ID(), err)
		}
		c.End(unreachable, at(20))
	}
}

// Cases: B82, B86.
func TestLoop_LetsBackupsTakeOverFromEjectedPrimaries(t *testing.T) {
	l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Policy = newPriority(t, nil) })
	list := specs(4)
	list[3].Priority = 1
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		var attempts dispatch.Attempts
		var c dispatch.Call
		served := false
		for range 10 {
			if err := l.Acquire(&c, dispatch.Query{Now: epoch, Attempts: &attempts}); err != nil {
				t.Fatal(err)
			}
			if served = c.ID() == "a3"; served {
				c.End(success, epoch)
				break
			}
			c.End(unreachable, epoch)
			if step := l.Next(&attempts, unreachable, false, epoch); step.Action != dispatch.Repeat {
				t.Fatalf("call %d stops at %s: %v", n, c.ID(), step.Reason)
			}
			advance(t, l, epoch)
		}
		if !served {
			t.Errorf("call %d was not served by the backup", n)
		}
		if n > 0 && attempts.Len() > 1 {
			t.Errorf("call %d went to %v", n, attempts.IDs())
		}
	}
}

// Claim: The first change of health is published at once, and the next ones at most once in PublishEvery.
// Code: membership.publishDue
func TestLoop_PublishesStormsTogether(t *testing.T) {
	var woken int
	l := newLoop(t, 100, func(c *dispatch.LoopConfig) {
		c.PublishEvery = 50 * time.Millisecond
		c.Wake = func() { woken++ }
	})
	published := func() uint64 { return l.Inspect(epoch).Published }
	before := published()
	first := at(1000)
	if err := l.SetConnected(1, false, first); err != nil {
		t.Fatal(err)
	}
	if n := published() - before; n != 1 || l.Inspect(first).Members[0].Reason != poise.ExcludedNotReady {
		t.Fatalf("the first change was published %d times", n)
	}
	woken = 0
	for i := range 90 {
		if err := l.SetConnected(uint64(i+2), false, first.Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	if n := published() - before; n != 1 || woken == 0 {
		t.Fatalf("after a storm there were %d publications, and %d wakes", n, woken)
	}
	next := advance(t, l, first.Add(2*time.Millisecond))
	if next.After(first.Add(50 * time.Millisecond)) {
		t.Fatalf("the storm is to be published after %v", next.Sub(first))
	}
	advance(t, l, first.Add(50*time.Millisecond))
	if in := l.Inspect(epoch); in.Published-before != 2 || in.Pending || in.Members[90].Reason != poise.ExcludedNotReady {
		t.Errorf("after the interval there were %d publications", in.Published-before)
	}
	// A clock that steps back makes nobody wait for the old instant.
	if err := l.SetConnected(1, true, epoch); err != nil {
		t.Fatal(err)
	}
	if n := published() - before; n != 3 {
		t.Errorf("after a step of the clock there were %d publications", n)
	}
}

// Claim: After an error of Update the members and the picker are as before.
// Code: membership.update
func TestLoop_UpdateIsAllOrNothing(t *testing.T) {
	boom := false
	l := newLoop(t, 2, func(c *dispatch.LoopConfig) {
		c.Policy = policyFunc(func(v *poise.View) (poise.Picker, error) {
			if _, found := v.Lookup("refused"); found {
				return nil, errors.New("the policy refuses")
			}
			if boom {
				panic("boom")
			}
			return new(policy.RoundRobin).Prepare(v)
		})
	})
	refused := func(want error, field string, edit func(list []dispatch.Spec) []dispatch.Spec) {
		t.Helper()
		seen := func() string {
			in := l.Inspect(epoch)
			in.Published = 0
			for i := range in.Members {
				in.Members[i].Sample.Load = nil
			}
			return fmt.Sprintf("%+v", in)
		}
		before := seen()
		err := l.Update(edit(specs(3)), epoch)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("the error is %v, want %v", err, want)
		}
		var of *poise.FieldError
		if field != "" && (!errors.As(err, &of) || of.Field != field) {
			t.Errorf("the error is %v, want one of %s", err, field)
		}
		if after := seen(); after != before {
			t.Errorf("the loop was\n%s\nand is\n%s", before, after)
		}
		if where := call(t, l, epoch, success); !strings.HasPrefix(where, "a") {
			t.Errorf("a call went to %s", where)
		}
		// What comes next is built of the members that there were.
		boomed := boom
		boom = false
		for _, status := range []poise.Status{poise.Unavailable, poise.Ready} {
			if err := l.SetStatus("a0", status, epoch); err != nil || len(l.Inspect(epoch).Members) != 2 {
				t.Errorf("after a list that was refused: %v", err)
			}
			if status == poise.Unavailable {
				for range 2 {
					if where := call(t, l, epoch, success); where != "a1 picked" {
						t.Errorf("a call went to %s", where)
					}
				}
			}
		}
		boom = boomed
	}
	edit := func(f func(*dispatch.Spec)) func([]dispatch.Spec) []dispatch.Spec {
		return func(list []dispatch.Spec) []dispatch.Spec {
			f(&list[2])
			list[0].Weight = weight(t, 7)
			return list[1:]
		}
	}
	refused(poise.ErrEmptyIdentity, "members[1].ID", edit(func(s *dispatch.Spec) { s.ID = "" }))
	refused(poise.ErrDuplicateIdentity, "members[1].ID", edit(func(s *dispatch.Spec) { s.ID = "a1" }))
	refused(dispatch.ErrMissing, "members[1].Incarnation", edit(func(s *dispatch.Spec) { s.Incarnation = 0 }))
	refused(dispatch.ErrOldIncarnation, "members[1].Incarnation", edit(func(s *dispatch.Spec) { s.Incarnation = 2 }))
	refused(dispatch.ErrOldIncarnation, "members[1].Incarnation", edit(func(s *dispatch.Spec) { s.Incarnation = 1 }))
	refused(dispatch.ErrOutOfRange, "members[1].Load", edit(func(s *dispatch.Spec) { s.Load = new(poise.InFlight) }))
	refused(poise.ErrInvalidStatus, "members[1].Status", edit(func(s *dispatch.Spec) { s.Status = 99 }))
	refused(nil, "", edit(func(s *dispatch.Spec) { s.ID = "refused" }))
	boom = true
	refused(dispatch.ErrPolicyPanic, "", edit(func(*dispatch.Spec) {}))
	boom = false
	if err := l.Update(specs(3), epoch); err != nil {
		t.Error(err)
	}
}

// policyFunc is a Policy that is a function.
type policyFunc func(*poise.View) (poise.Picker, error)

func (f policyFunc) Prepare(v *poise.View) (poise.Picker, error) { return f(v) }

// Claim: A publication that fails leaves the last good picker serving, and is tried again.
// Code: membership.republish
//
// Cases: B48, G15.
func TestLoop_ServesOnWhenAPublicationFails(t *testing.T) {
	sick := false
	l := newLoop(t, 2, func(c *dispatch.LoopConfig) {
		c.Policy = policyFunc(func(v *poise.View) (poise.Picker, error) {
			if sick {
				return nil, errors.New("sick")
			}
			return new(policy.RoundRobin).Prepare(v)
		})
	})
	sick = true
	if err := l.SetConnected(1, false, at(100)); err != nil {
		t.Fatal(err)
	}
	next, err := l.Advance(at(100))
	if err == nil || next.After(at(1100)) {
		t.Errorf("a publication that failed says %v, and is tried again at %v", err, next)
	}
	if err := l.SetStatus("a1", poise.Unavailable, at(100)); err == nil || l.Inspect(at(100)).Members[1].Status != poise.Ready {
		t.Errorf("a status that cannot be published: %v", err)
	}
	call2 := func(now time.Time) string {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			t.Fatal(err)
		}
		c.End(success, now)
		return c.ID()
	}
	if a, b := call2(at(200)), call2(at(200)); a == b {
		t.Errorf("both calls went to %s: not the last good picker", a)
	}
	sick = false
	advance(t, l, at(1200))
	if a, b := call2(at(1200)), call2(at(1200)); a != "a1" || b != "a1" {
		t.Errorf("the calls went to %s and %s", a, b)
	}
}

// Claim: A member that no View can hold, or that the policy refuses, is left out, and the others are served.
//
// Cases: B111.
func TestLoop_FollowLeavesOutWhoCannotBeServed(t *testing.T) {
	ring, err := policy.NewRingHash(policy.RingHashConfig{NoKey: new(policy.RoundRobin)})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Policy = ring })
	list := specs(6)
	list[1].Weight = weight(t, 4_294_967_295)
	list[3].Status = 99
	list[4].LocalityWeight = weight(t, 5)
	if err := l.Update(list, epoch); err == nil {
		t.Error("Update has taken them")
	}
	left, err := l.Follow(list, epoch)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range left {
		ids = append(ids, m.ID)
	}
	if !slices.Equal(ids, []string{"a1", "a3", "a4"}) {
		t.Errorf("left out are %v", left)
	}
	served := map[string]bool{}
	for range 30 {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil {
			t.Fatal(err)
		}
		served[c.ID()] = true
		c.End(success, epoch)
	}
	if len(served) != 3 || !served["a0"] || !served["a2"] || !served["a5"] {
		t.Errorf("served are %v", served)
	}
	if _, err := l.Advance(at(100)); err == nil || !strings.Contains(err.Error(), "a1") {
		t.Errorf("nobody is told: %v", err)
	}
	if in := l.Inspect(epoch).Members[1]; in.LeftOut == nil || in.Reason != poise.ExcludedOutOfScope {
		t.Errorf("a1 is %v by %v", in.Reason, in.LeftOut)
	}
	if left, err := l.Follow(specs(6), at(200)); err != nil || left != nil {
		t.Errorf("corrected, there are left out %v: %v", left, err)
	}
	advance(t, l, at(300))
}

// Cases: B96.
func TestLoop_ChangesLimitsAndValuesInPlace(t *testing.T) {
	l := newLoop(t, 1, nil)
	list := specs(1)
	held := make([]dispatch.Call, 3)
	for i := range held {
		if err := l.Acquire(&held[i], dispatch.Query{Now: epoch}); err != nil {
			t.Fatal(err)
		}
	}
	list[0].Limit, list[0].Value = 2, "new"
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); !errors.Is(err, poise.ErrAtCapacity) {
		t.Fatalf("with 3 calls of 2: %v", err)
	}
	held[0].End(success, epoch)
	held[1].End(success, epoch)
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil || c.Value() != "new" || held[2].Value() != 0 {
		t.Errorf("the values are %v and %v: %v", c.Value(), held[2].Value(), err)
	}
	if in := l.Inspect(epoch).Members[0]; in.Incarnation != 1 || in.InFlight != 2 || in.Limit != 2 {
		t.Errorf("it is incarnation %d with %d calls of %d", in.Incarnation, in.InFlight, in.Limit)
	}
}

// The order in which the parts of a member count.
func TestLoop_GivesTheFirstReasonThatApplies(t *testing.T) {
	l := newLoop(t, 2, nil)
	eject(t, l, "a0", epoch)
	now := epoch
	list := specs(2)
	requireReason := func(want poise.Reason) {
		t.Helper()
		now = now.Add(20 * time.Millisecond)
		advance(t, l, now)
		if in := l.Inspect(now).Members[0]; in.Reason != want {
			t.Errorf("a0 is %v, want %v", in.Reason, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	requireReason(poise.ExcludedEjected)
	must(l.Report(1, poise.ExcludedUnhealthy, now))
	requireReason(poise.ExcludedUnhealthy)
	must(l.SetConnected(1, false, now))
	requireReason(poise.ExcludedNotReady)
	list[0].Excluded = poise.ExcludedByUser
	must(l.Update(list, now))
	requireReason(poise.ExcludedByUser)
	list[0].Status = poise.Unavailable
	must(l.Update(list, now))
	requireReason(poise.ExcludedUnavailable)
	must(l.SetStatus("a0", poise.Draining, now))
	requireReason(poise.ExcludedDraining)
	list[0].Status = poise.Draining
	must(l.Update(list, now))
	must(l.SetStatus("a0", poise.Ready, now))
	requireReason(poise.ExcludedDraining)
	list[0].Status, list[0].Excluded = poise.Ready, poise.NotExcluded
	must(l.Update(list, now))
	must(l.SetConnected(1, true, now))
	must(l.Report(1, poise.NotExcluded, now))
	if in := l.Inspect(now).Members[0]; in.Offline || in.Unhealthy != poise.NotExcluded {
		t.Errorf("a0 is %+v", in)
	}
}

// Claim: The Observer is told under no lock, and of publications in their order.
// Code: membership.tell
//
// Claim: An Observer is told of every attempt that ended and of every call that was refused.
// Code: pkg/dispatch.Call.finish, pkg/dispatch.Loop.refused
//
// Claim: Publications are told in their order, one after the other.
// Code: pkg/dispatch.membership.tell
func TestLoop_TellsWhatHappens(t *testing.T) {
	o := &diary{}
	l := newLoop(t, 1, func(c *dispatch.LoopConfig) { c.Observer = o })
	o.loop = l
	list := specs(2)
	list[1].Limit = 1
	if err := l.Update(list[1:], epoch); err != nil {
		t.Fatal(err)
	}
	var a, b dispatch.Call
	if err := l.Acquire(&a, dispatch.Query{Now: at(1)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Acquire(&b, dispatch.Query{Now: at(2)}); !errors.Is(err, poise.ErrAtCapacity) {
		t.Fatal(err)
	}
	a.Answered(success, at(3))
	a.End(failure, at(4))
	if err := l.SetStatus("a1", poise.Draining, at(5)); err != nil {
		t.Fatal(err)
	}
	l.Close(at(6))
	if err := l.Acquire(&b, dispatch.Query{Now: at(7)}); !errors.Is(err, dispatch.ErrClosed) {
		t.Fatal(err)
	}
	want := []string{
		"1: 0 of 0 eligible", "2: 1 of 1 eligible", "3: 1 of 1 eligible", "refused at capacity, 1 of 1",
		"a1/2 attempt 1 picked: success, late failure, 1ms 3ms 4ms", "4: 0 of 1 eligible, a1/2 eligible to draining",
		"refused closed, 0 of 0",
	}
	if !slices.Equal(o.lines, want) {
		t.Errorf("it was told\n%s\nwant\n%s", strings.Join(o.lines, "\n"), strings.Join(want, "\n"))
	}
}

// diary is an Observer that writes down what it is told, and calls the loop.
type diary struct {
	lines []string
	loop  *dispatch.Loop
}

func (d *diary) Refused(r observe.Refusal) {
	d.lines = append(d.lines, fmt.Sprintf("refused %v, %d of %d", r.Cause, r.Eligible, r.Members))
	d.loop.Inspect(epoch)
}

func (d *diary) Ended(e observe.Ended) {
	d.lines = append(d.lines, fmt.Sprintf("%s/%d attempt %d %v: %v, late %v, %v %v %v", e.ID, e.Incarnation, e.Attempt,
		e.Choice, e.Result.Outcome, e.Late.Outcome, e.Began.Sub(epoch), e.Answered.Sub(epoch), e.At.Sub(epoch)))
	d.loop.Inspect(epoch)
}

func (d *diary) Published(p observe.Published) {
	line := fmt.Sprintf("%d: %d of %d eligible", p.Number, p.Eligible, p.Members)
	for _, c := range p.Changed {
		line += fmt.Sprintf(", %s/%d %v to %v", c.ID, c.Incarnation, c.Was, c.Is)
	}
	d.lines = append(d.lines, line)
	if d.loop != nil {
		d.loop.Inspect(epoch)
	}
}

// Cases: B97.
func TestLoop_LetsTransformsComeBackByThemselves(t *testing.T) {
	slow, err := transform.NewSlowStart(transform.SlowStartConfig{Window: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(t, 2, func(c *dispatch.LoopConfig) {
		c.Policy = new(policy.SmoothWeightedRoundRobin)
		c.Transforms = []transform.Transform{slow}
	})
	now := at(20_000)
	for range 1000 { // the first two are warm by now
		next := advance(t, l, now)
		if next.IsZero() || next.After(now.Add(time.Second)) {
			break
		}
		now = next
	}
	if err := l.Update(specs(3), now); err != nil {
		t.Fatal(err)
	}
	share := func() int {
		n := 0
		for range 300 {
			var c dispatch.Call
			if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
				t.Fatal(err)
			}
			if c.ID() == "a2" {
				n++
			}
			c.End(success, now)
		}
		return n
	}
	if n := share(); n > 40 {
		t.Errorf("a newcomer gets %d of 300", n)
	}
	for end := now.Add(11 * time.Second); now.Before(end); {
		next := advance(t, l, now)
		if next.IsZero() || next.After(end) {
			next = end
		}
		now = next
	}
	if n := share(); n < 95 {
		t.Errorf("a member that is warm gets %d of 300", n)
	}
}

// A tracker is told of every call: began, perhaps answered, ended.
//
// Claim: Each call that began ends once, and is answered at most once, in between.
// Code: Call.Answered, Call.End
func TestLoop_TellsTrackersOfCalls(t *testing.T) {
	var told []string
	l := newLoop(t, 1, func(c *dispatch.LoopConfig) {
		c.Load = func(f *poise.InFlight) (poise.LoadTracker, error) { return &toldTracker{f, &told, ""}, nil }
		c.Policy = newTwoChoices(t)
	})
	var c dispatch.Call
	for _, answered := range []bool{true, false} {
		if err := l.Acquire(&c, dispatch.Query{Now: at(1)}); err != nil {
			t.Fatal(err)
		}
		if answered {
			c.Answered(success, at(3))
			c.Answered(success, at(4))
		}
		c.End(failure, at(5))
		c.End(failure, at(6))
	}
	want := []string{
		"began 1ms", "answered success after 2ms", "ended failure after 4ms, answered true",
		"began 1ms", "ended failure after 4ms, answered false",
	}
	if !slices.Equal(told, want) {
		t.Errorf("it was told %q, want %q", told, want)
	}
}

// Every refusal leaves no slot held: a tracker that panics neither.
//
// Claim: Every refusal leaves no slot held.
func TestLoop_HoldsNothingAfterAPanicOfATracker(t *testing.T) {
	var told []string
	for _, when := range []string{"began", "ended"} {
		l := newLoop(t, 1, func(c *dispatch.LoopConfig) {
			c.Load = func(f *poise.InFlight) (poise.LoadTracker, error) { return &toldTracker{f, &told, when}, nil }
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was lost", when)
				}
			}()
			var c dispatch.Call
			_ = l.Acquire(&c, dispatch.Query{Now: epoch})
			c.End(success, epoch)
		}()
		if n := l.Inspect(epoch).Members[0].InFlight; n != 0 {
			t.Errorf("%s: %d slots are held", when, n)
		}
	}
}

// toldTracker writes down what it is told.
type toldTracker struct {
	*poise.InFlight
	told   *[]string
	panics string
}

func (k *toldTracker) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if k.panics != "" && strings.HasPrefix(text, k.panics) {
		panic(text)
	}
	*k.told = append(*k.told, text)
}

func (k *toldTracker) Began(now time.Time) { k.tell("began %v", now.Sub(epoch)) }

func (k *toldTracker) Answered(r poise.Result, began, now time.Time) {
	k.tell("answered %v after %v", r.Outcome, now.Sub(began))
}

func (k *toldTracker) Ended(r poise.Result, answered bool, began, now time.Time) {
	k.tell("ended %v after %v, answered %t", r.Outcome, now.Sub(began), answered)
}

func TestLoop_LowersTheWeightOfPoorOutcomes(t *testing.T) {
	l := newLoop(t, 2, func(c *dispatch.LoopConfig) {
		c.Policy = new(policy.SmoothWeightedRoundRobin)
		c.Window = &health.OutcomeWindowConfig{MinimumSamples: 10}
		c.Passive.Off = true
	})
	now := epoch
	for range 200 {
		now = now.Add(20 * time.Millisecond)
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			t.Fatal(err)
		}
		r := success
		if c.ID() == "a0" {
			r = failure
		}
		c.End(r, now)
		advance(t, l, now)
	}
	in := l.Inspect(now)
	if a, b := in.Members[0].Sample.Weight.Value(), in.Members[1].Sample.Weight.Value(); a > b/2 || b != 100 {
		t.Errorf("the weights are %d and %d", a, b)
	}
	if in.Members[0].Outcomes.Failures == 0 {
		t.Error("the outcomes are not told")
	}
}

// Claim: Room is given to those who wait in the order in which they joined.
//
// Claim: Ready runs once for each Waiter that joined and was not abandoned, under no lock.
// Code: ready
//
// Claim: A Waiter that was abandoned holds nothing.
// Code: queue.abandon
func TestLoop_GivesRoomInOrder(t *testing.T) {
	l := newLoop(t, 1, nil)
	list := specs(1)
	list[0].Limit = 1
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil {
		t.Fatal(err)
	}
	var order []int
	calls, waiters := make([]dispatch.Call, 4), make([]dispatch.Waiter, 4)
	for i := range waiters {
		waiters[i].Call = &calls[i]
		waiters[i].Ready = func() {
			order = append(order, i)
			l.Inspect(epoch) // under no lock
		}
		if err := l.Join(&waiters[i], dispatch.Query{Now: epoch}, at(1000)); err != nil {
			t.Fatal(err)
		}
	}
	if !l.Abandon(&waiters[1]) || l.Abandon(&waiters[1]) {
		t.Error("a wait is abandoned once")
	}
	var barging dispatch.Call
	if err := l.Acquire(&barging, dispatch.Query{Now: epoch}); !errors.Is(err, poise.ErrAtCapacity) {
		t.Errorf("who comes later gets %v", err)
	}
	c.End(success, epoch)
	if !slices.Equal(order, []int{0}) || waiters[0].Err() != nil || calls[0].ID() != "a0" {
		t.Fatalf("told are %v", order)
	}
	if next := advance(t, l, at(10)); next.After(at(1000)) {
		t.Errorf("the wait ends at %v", next)
	}
	calls[0].End(success, at(20))
	advance(t, l, at(1000))
	if !slices.Equal(order, []int{0, 2, 3}) || !errors.Is(waiters[3].Err(), dispatch.ErrWaited) || !errors.Is(waiters[3].Err(), poise.ErrAtCapacity) {
		t.Errorf("told are %v, the last of %v", order, waiters[3].Err())
	}
	calls[2].End(success, at(1000))
	if in := l.Inspect(at(1000)); in.Waiting != 0 || in.Members[0].InFlight != 0 {
		t.Errorf("%d wait and %d slots are held", in.Waiting, in.Members[0].InFlight)
	}
	// Whoever waits for somebody eligible is served by a change.
	if err := l.Update(nil, at(1000)); err != nil {
		t.Fatal(err)
	}
	if err := l.Join(&waiters[0], dispatch.Query{Now: at(1000)}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	list[0].Incarnation = 9
	if err := l.Update(list, at(1000)); err != nil || !slices.Equal(order, []int{0, 2, 3, 0}) || calls[0].Incarnation() != 9 {
		t.Errorf("told are %v: %v", order, err)
	}
	if err := l.Join(&waiters[1], dispatch.Query{Now: at(1000)}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	l.Close(at(1000))
	if !errors.Is(waiters[1].Err(), dispatch.ErrClosed) || order[len(order)-1] != 1 {
		t.Errorf("who waits at the end is told %v", waiters[1].Err())
	}
	if err := l.Join(&waiters[2], dispatch.Query{Now: at(1000)}, time.Time{}); !errors.Is(err, dispatch.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Cases: B100.
func TestLoop_FindsTheOneThatHasRoom(t *testing.T) {
	for name, p := range map[string]poise.Policy{"round robin": new(policy.RoundRobin), "two choices": newTwoChoices(t)} {
		l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Policy = p })
		list := specs(100)
		for i := range list {
			list[i].Limit = 1
		}
		if err := l.Update(list, epoch); err != nil {
			t.Fatal(err)
		}
		calls := make([]dispatch.Call, 101)
		for i := range 100 {
			if err := l.Acquire(&calls[i], dispatch.Query{Now: epoch}); err != nil {
				t.Fatalf("%s: call %d of 100: %v", name, i, err)
			}
		}
		if err := l.Acquire(&calls[100], dispatch.Query{Now: epoch}); !errors.Is(err, poise.ErrAtCapacity) {
			t.Errorf("%s: the call beyond is told %v", name, err)
		}
		calls[50].End(success, epoch)
		if err := l.Acquire(&calls[100], dispatch.Query{Now: epoch}); err != nil || calls[100].ID() != calls[50].ID() {
			t.Errorf("%s: the room of %s: %v", name, calls[50].ID(), err)
		}
	}
}

// Claim: Of attempts that overlap each is at another member, while there is one that was not tried.
// Code: Attempts.claim
func TestLoop_HedgesElsewhere(t *testing.T) {
	l := newLoop(t, 3, nil)
	var attempts dispatch.Attempts
	calls := make([]dispatch.Call, 4)
	q := dispatch.Query{Now: epoch, Attempts: &attempts}
	seen := map[string]bool{}
	for i := range 3 {
		if err := l.Acquire(&calls[i], q); err != nil {
			t.Fatal(err)
		}
		seen[calls[i].ID()] = true
		if calls[i].Attempt() != i+1 {
			t.Errorf("attempt %d bears the number %d", i+1, calls[i].Attempt())
		}
	}
	if len(seen) != 3 {
		t.Errorf("three attempts are at %v", seen)
	}
	if err := l.Acquire(&calls[3], q); !errors.Is(err, poise.ErrAllTried) {
		t.Errorf("the fourth is told %v", err)
	}
}

// Claim: Answered judges the attempt and keeps its slot; End then tells what came later.
// Code: Call.Answered, Call.finish
//
// Claim: End of the zero Call returns false.
// Code: Call.End
//
// Claim: The first End of an attempt ends it and returns true; every later one returns false and changes nothing.
// Code: Call.End
//
// Claim: Answered after Answered or after End returns false and changes nothing.
// Code: Call.Answered
func TestCall_IsJudgedOnceAndEndsOnce(t *testing.T) {
	l := newLoop(t, 1, nil)
	var c dispatch.Call
	if c.End(success, epoch) || c.Answered(success, epoch) || c.ID() != "" || c.Incarnation() != 0 || c.Value() != nil {
		t.Error("a zero Call ends")
	}
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil {
		t.Fatal(err)
	}
	if !c.Answered(success, epoch) || c.Answered(failure, epoch) || l.Inspect(epoch).Members[0].InFlight != 1 {
		t.Error("Answered gives the slot back, or counts twice")
	}
	if !c.End(failure, epoch) || c.End(failure, epoch) || c.Answered(failure, epoch) || l.Inspect(epoch).Members[0].InFlight != 0 {
		t.Error("End keeps the slot, or counts twice")
	}
}

// Timed says who wants to know when a call ends, and the zero instant will do for
// nobody else.
//
// Claim: An End with the zero instant leaves those who wait to the next Advance.
// Code: member.ended
func TestCall_NeedsNoInstantIfNobodyAsks(t *testing.T) {
	wakes := 0
	limited := func(observer observe.Observer) *dispatch.Loop {
		l := newLoop(t, 0, func(c *dispatch.LoopConfig) {
			c.Observer = observer
			c.Wake = func() { wakes++ }
		})
		list := specs(1)
		list[0].Limit = 1
		if err := l.Update(list, epoch); err != nil {
			t.Fatal(err)
		}
		return l
	}
	acquire := func(l *dispatch.Loop, c *dispatch.Call) {
		if err := l.Acquire(c, dispatch.Query{Now: epoch}); err != nil {
			t.Fatal(err)
		}
	}
	var c, told, next dispatch.Call
	if c.Timed() {
		t.Error("somebody asks for the end of the zero Call")
	}
	acquire(limited(new(outcomeList)), &told)
	if !told.Timed() {
		t.Error("an Observer does not ask")
	}
	told.End(success, at(1))

	l := limited(nil)
	acquire(l, &c)
	c.Answered(success, at(1))
	if c.Timed() {
		t.Error("somebody asks, though nobody is there")
	}
	ready := false
	w := dispatch.Waiter{Call: &next, Ready: func() { ready = true }}
	if err := l.Join(&w, dispatch.Query{Now: at(2)}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if !c.Timed() {
		t.Error("who waits does not ask")
	}
	before := wakes
	if !c.End(success, time.Time{}) || ready || wakes == before {
		t.Errorf("who waits was served %t, and the owner woken %d times", ready, wakes-before)
	}
	advance(t, l, at(3))
	if !ready || w.Err() != nil || next.ID() != "a0" {
		t.Errorf("the next Advance serves %t: %v", ready, w.Err())
	}
	next.End(success, at(4))
}

// Claim: What became of a call counts for nothing at a member that was removed meanwhile.
// Code: Call.finish, membership.update
func TestCall_OfARemovedMemberCountsForNothing(t *testing.T) {
	l := newLoop(t, 2, func(c *dispatch.LoopConfig) {
		c.Window = &health.OutcomeWindowConfig{}
	})
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil {
		t.Fatal(err)
	}
	list := specs(3)
	list[0] = list[2]
	list[0].ID = c.ID() // another incarnation of it
	if err := l.Update(list[:2], epoch); err != nil {
		t.Fatal(err)
	}
	c.End(unreachable, epoch)
	advance(t, l, at(100))
	for _, m := range l.Inspect(at(100)).Members {
		if m.Reason != poise.NotExcluded || m.Passive.Run != 0 || m.Outcomes.Samples() != 0 {
			t.Errorf("%s/%d is %v after %d failures", m.ID, m.Incarnation, m.Reason, m.Passive.Run)
		}
	}
}

func TestNewLoop_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field string
		err   error
		edit  func(*dispatch.LoopConfig)
	}{
		{"Policy", dispatch.ErrMissing, func(c *dispatch.LoopConfig) { c.Policy = nil }},
		{"Picks", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Picks = -1 }},
		{"PublishEvery", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.PublishEvery = -1 }},
		{"Retry.Attempts", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Retry.Attempts = -1 }},
		{"Retry.Pause", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Retry.Pause = -1 }},
		{"Retry.OverloadedPercent", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Retry.OverloadedPercent = 101 }},
		{"Retry.Budget.Percent", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Retry.Budget.Percent = -1 }},
		{"Retry.Budget.PerSecond", dispatch.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Retry.Budget.PerSecond = -1 }},
		{"Passive.Odds", health.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Passive.Odds = 1 }},
		{"Window.HalfLife", health.ErrOutOfRange, func(c *dispatch.LoopConfig) { c.Window = &health.OutcomeWindowConfig{HalfLife: -1} }},
	} {
		cfg := dispatch.LoopConfig{Policy: new(policy.RoundRobin)}
		row.edit(&cfg)
		_, err := dispatch.NewLoop(cfg)
		requireField(t, err, row.field, row.err)
	}
}

// Claim: A pause of this process is held against nobody.
//
// Cases: B101.
func TestLoop_BlamesNobodyForALateAdvance(t *testing.T) {
	l := newLoop(t, 4, nil)
	now := epoch
	for range 100 {
		now = now.Add(10 * time.Millisecond)
		call(t, l, now, success)
	}
	calls := make([]dispatch.Call, 8)
	for i := range calls {
		if err := l.Acquire(&calls[i], dispatch.Query{Now: now}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour) // stopped
	advance(t, l, now)
	for i := range calls {
		calls[i].End(poise.Result{Outcome: poise.Invalid}, now)
	}
	advance(t, l, now)
	for _, m := range l.Inspect(now).Members {
		if m.Reason != poise.NotExcluded || m.Passive.Run != 0 {
			t.Errorf("%s is %v after %d failures", m.ID, m.Reason, m.Passive.Run)
		}
	}
}

// Whatever calls and passive health do, an ejected member is chosen as a trial or for
// want of others only, and no call is refused.
//
// Claim: An ejected member gets trials, and calls for which nobody else is left, and no others.
//
// Claim: A call is refused only while no eligible member that it may go to has room.
func TestLoop_LawChoosesAnEjectedMemberForAReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "members")
		l := newLoop(t, n, nil)
		now := epoch
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
			if _, err := l.Advance(now); err != nil {
				t.Fatal(err)
			}
			out := map[string]bool{}
			for _, m := range l.Inspect(now).Members {
				out[m.ID] = m.Passive.State == health.Ejected
			}
			var c dispatch.Call
			if err := l.Acquire(&c, dispatch.Query{Now: now, Repeatable: rapid.Bool().Draw(t, "repeatable")}); err != nil {
				t.Fatalf("a call is refused: %v", err)
			}
			others := false
			for id, is := range out {
				others = others || !is && id != c.ID()
			}
			switch c.Choice() {
			case observe.Trial:
				if !out[c.ID()] {
					t.Fatalf("a trial went to %s, which is not ejected", c.ID())
				}
			case observe.LastResort:
				if others || !out[c.ID()] {
					t.Fatalf("the last resort is %s of %v", c.ID(), out)
				}
			default:
				if out[c.ID()] {
					t.Fatalf("%s is ejected and %v", c.ID(), c.Choice())
				}
			}
			r := poise.Result{Outcome: rapid.SampledFrom([]poise.Outcome{
				poise.Success, poise.Success, poise.Failure, poise.Overloaded, poise.Unreachable, poise.Silent, poise.Cancelled,
			}).Draw(t, "outcome")}
			c.End(r, now)
		}
		for _, m := range l.Inspect(now).Members {
			if m.InFlight != 0 {
				t.Fatalf("%s holds %d slots", m.ID, m.InFlight)
			}
		}
	})
}

// Claim: An ejected member gets trials, and calls for which nobody else is left, and no others.
func TestLoop_ResortsToNobodyUnreachableForTheSakeOfRoom(t *testing.T) {
	l := newLoop(t, 0, nil)
	list := specs(2)
	list[0].Limit = 1
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	eject(t, l, "a1", at(0))
	advance(t, l, at(20))
	var held, c dispatch.Call
	if err := l.Acquire(&held, dispatch.Query{Now: at(20)}); err != nil || held.ID() != "a0" {
		t.Fatal(held.ID(), err)
	}
	if err := l.Acquire(&c, dispatch.Query{Now: at(20)}); !errors.Is(err, poise.ErrAtCapacity) {
		t.Errorf("with a0 full and a1 unreachable a call went to %q: %v", c.ID(), err)
	}
	held.End(success, at(20))
	// One that fails for another reason takes what there is no room for.
	l = newLoop(t, 0, nil)
	list[0].Limit = 0
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	now := epoch
	for l.Inspect(now).Members[1].Passive.State != health.Ejected {
		now = now.Add(10 * time.Millisecond)
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			t.Fatal(err)
		}
		r := success
		if c.ID() == "a1" {
			r = failure
		}
		c.End(r, now)
		advance(t, l, now)
		if now.After(at(10_000)) {
			t.Fatal("a1 was never ejected")
		}
	}
	now = now.Add(20 * time.Millisecond)
	advance(t, l, now)
	list[0].Limit = 1
	if err := l.Update(list, now); err != nil {
		t.Fatal(err)
	}
	if err := l.Acquire(&held, dispatch.Query{Now: now}); err != nil || held.ID() != "a0" {
		t.Fatal(held.ID(), err)
	}
	if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil || c.ID() != "a1" || c.Choice() != observe.LastResort {
		t.Errorf("with a0 full a call went to %q as %v: %v", c.ID(), c.Choice(), err)
	}
}

func newPriority(t *testing.T, edit func(*policy.TopologyConfig)) poise.Policy {
	t.Helper()
	cfg := policy.TopologyConfig{Endpoint: func(uint64) (poise.Policy, error) { return new(policy.RoundRobin), nil }}
	if edit != nil {
		edit(&cfg)
	}
	p, err := policy.NewPriority(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A trial goes to no priority that is not in use.
func TestLoop_TriesNoBackupWhilePrimariesServe(t *testing.T) {
	l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Policy = newPriority(t, nil) })
	list := specs(3)
	list[2].Priority = 1
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a0", "a1"} {
		if err := l.SetStatus(id, poise.Unavailable, epoch); err != nil {
			t.Fatal(err)
		}
	}
	eject(t, l, "a2", epoch)
	for _, id := range []string{"a0", "a1"} {
		if err := l.SetStatus(id, poise.Ready, at(20)); err != nil {
			t.Fatal(err)
		}
	}
	for ms := 30; ms < 2000; ms += 10 {
		if where := call(t, l, at(ms), success); strings.HasPrefix(where, "a2") {
			t.Fatalf("a call went to %s", where)
		}
	}
	eject(t, l, "a0", at(2000))
	tried := false
	for ms := 2010; ms < 4000 && !tried; ms += 10 {
		tried = call(t, l, at(ms), success) == "a0 trial"
	}
	if !tried {
		t.Error("a primary was not tried")
	}
}

// Whoever set the policy to reject in a panic is not overruled.
func TestLoop_RefusesWhereThePolicyRejects(t *testing.T) {
	l := newLoop(t, 0, func(c *dispatch.LoopConfig) {
		c.Policy = newPriority(t, func(c *policy.TopologyConfig) { c.FailClosed = true })
	})
	if err := l.Update(specs(4), epoch); err != nil {
		t.Fatal(err)
	}
	now := epoch
	for range 4 {
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: now}); err != nil {
			break
		}
		c.End(unreachable, now)
		now = now.Add(20 * time.Millisecond)
		advance(t, l, now)
	}
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: now}); !errors.Is(err, poise.ErrPanicRejected) {
		t.Errorf("a call in a panic went to %q as %v: %v", c.ID(), c.Choice(), err)
	}
}

// A suspect of which few keys fail is convicted by calls that others serve.
func TestLoop_SendsASuspectsCallsElsewhereFirst(t *testing.T) {
	ring, err := policy.NewRingHash(policy.RingHashConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(t, 4, func(c *dispatch.LoopConfig) { c.Policy = ring })
	diverted := 0
	var ejectedAt time.Time
	now := epoch
	for i := range 2000 {
		now = now.Add(5 * time.Millisecond)
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: now, Key: poise.Uint64Key(uint64(i % 8))}); err != nil {
			t.Fatal(err)
		}
		if c.Choice() == observe.Diverted {
			diverted++
			if c.ID() == "a0" {
				t.Fatal("a suspect's call went to the suspect")
			}
		}
		r := success
		if c.ID() == "a0" {
			r = failure
		}
		c.End(r, now)
		advance(t, l, now)
		m := l.Inspect(now).Members[0]
		if m.Passive.State != health.Ejected {
			ejectedAt = time.Time{}
		} else if ejectedAt.IsZero() {
			ejectedAt = now
		} else if now.Sub(ejectedAt) >= 20*time.Millisecond && m.Reason != poise.ExcludedEjected {
			t.Fatalf("%v after its ejection a0 is %v", now.Sub(ejectedAt), m.Reason)
		}
	}
	in := l.Inspect(now)
	if diverted == 0 || in.Members[0].Passive.Ejections == 0 {
		t.Errorf("%d calls went elsewhere, and a0 was ejected %d times", diverted, in.Members[0].Passive.Ejections)
	}
	for _, m := range in.Members[1:] {
		if m.Passive.Ejections != 0 {
			t.Errorf("%s was ejected", m.ID)
		}
	}
}

// Cases: B84.
func TestLoop_GoesBackToTheLeastRecentlyTried(t *testing.T) {
	l := newLoop(t, 3, func(c *dispatch.LoopConfig) { c.Passive.Off = true })
	var a dispatch.Attempts
	var c dispatch.Call
	var order []string
	for range 7 {
		if err := l.Acquire(&c, dispatch.Query{Now: epoch, Attempts: &a}); err != nil {
			t.Fatal(err)
		}
		order = append(order, c.ID())
		if again := c.Choice() == observe.Again; again != (len(order) > 3) {
			t.Errorf("attempt %d was %v", len(order), c.Choice())
		}
		c.End(failure, epoch)
	}
	if !slices.Equal(order[:3], order[3:6]) || order[6] != order[0] {
		t.Errorf("the attempts went to %v", order)
	}
	if !slices.Equal(a.IDs(), order[:3]) {
		t.Errorf("tried were %v", a.IDs())
	}
}

// Claim: A failed trial costs no retry.
//
// Claim: A call is sent at most Attempts times, trials aside.
func TestLoop_CountsNoTrialAsAnAttempt(t *testing.T) {
	l := newLoop(t, 4, func(c *dispatch.LoopConfig) { c.Retry.Attempts = 2 })
	eject(t, l, "a0", epoch)
	var a dispatch.Attempts
	var c dispatch.Call
	now := epoch
	for c.Choice() != observe.Trial {
		now = now.Add(10 * time.Millisecond)
		advance(t, l, now)
		a = dispatch.Attempts{}
		if err := l.Acquire(&c, dispatch.Query{Now: now, Attempts: &a, Repeatable: true}); err != nil {
			t.Fatal(err)
		}
		if c.Choice() != observe.Trial {
			c.End(success, now)
		}
		if now.After(at(5000)) {
			t.Fatal("there was no trial")
		}
	}
	var reasons []dispatch.StepReason
	for {
		c.End(failure, now)
		step := l.Next(&a, failure, true, now)
		reasons = append(reasons, step.Reason)
		if step.Action == dispatch.Stop {
			break
		}
		if err := l.Acquire(&c, dispatch.Query{Now: now, Attempts: &a, Repeatable: true}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(reasons, []dispatch.StepReason{dispatch.TrialFailed, dispatch.Paid, dispatch.EnoughAttempts}) {
		t.Errorf("the steps are because %v", reasons)
	}
}

func TestLoop_RefusesTheNumberOfAMemberThatIsLeaving(t *testing.T) {
	l := newLoop(t, 2, nil)
	var c dispatch.Call
	if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil || c.ID() != "a0" {
		t.Fatal(c.ID(), err)
	}
	list := specs(2)
	if err := l.Update(list[1:], epoch); err != nil {
		t.Fatal(err)
	}
	requireField(t, l.Update(list, epoch), "members[0].Incarnation", dispatch.ErrOldIncarnation)
	c.End(success, epoch)
	if err := l.Update(list, epoch); err != nil {
		t.Errorf("after its last call: %v", err)
	}
}

// A process that is stopped again and again, while a call is on its way, blames nobody.
//
// Cases: B101.
func TestLoop_BlamesNobodyForManyPauses(t *testing.T) {
	l := newLoop(t, 4, nil)
	now := epoch
	for range 50 {
		now = now.Add(10 * time.Millisecond)
		call(t, l, now, success)
	}
	var waiting []*dispatch.Call
	for len(waiting) < 3 {
		c := new(dispatch.Call)
		if err := l.Acquire(c, dispatch.Query{Now: now}); err != nil {
			t.Fatal(err)
		}
		if c.ID() == "a0" {
			waiting = append(waiting, c)
		} else {
			c.End(success, now)
		}
	}
	for range 20 {
		now = now.Add(3 * time.Second)
		advance(t, l, now)
		for range 40 {
			c := new(dispatch.Call)
			if err := l.Acquire(c, dispatch.Query{Now: now}); err != nil {
				t.Fatal(err)
			}
			if c.ID() != "a0" { // whose calls are on their way
				c.End(success, now)
			}
		}
	}
	if m := l.Inspect(now).Members[0]; m.Reason != poise.NotExcluded || m.Passive.Ejections != 0 {
		t.Errorf("a0 is %v after %d ejections", m.Reason, m.Passive.Ejections)
	}
}

// Claim: A publication that fails leaves the last good picker serving, and is tried again.
func TestLoop_OutlivesATransformThatPanics(t *testing.T) {
	armed := false
	l := newLoop(t, 3, func(c *dispatch.LoopConfig) {
		c.Transforms = []transform.Transform{
			transform.Func(func(*transform.Draft, time.Time) error { return nil }),
			transform.Func(func(*transform.Draft, time.Time) error {
				if armed {
					panic("armed")
				}
				return nil
			}),
		}
	})
	armed = true
	if err := l.SetConnected(2, false, at(100)); err != nil {
		t.Fatal(err)
	}
	if err := l.SetStatus("a0", poise.Unavailable, at(100)); !errors.Is(err, dispatch.ErrPolicyPanic) {
		t.Errorf("the panic is told as %v", err)
	}
	armed = false
	advance(t, l, at(5000))
	for i, want := range []poise.Reason{poise.NotExcluded, poise.ExcludedNotReady, poise.NotExcluded} {
		if m := l.Inspect(at(5000)).Members[i]; m.Reason != want {
			t.Errorf("%s is %v, want %v", m.ID, m.Reason, want)
		}
	}
}

func TestLoop_WakesAfterAChangeOfMembers(t *testing.T) {
	woken := 0
	l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Wake = func() { woken++ } })
	advance(t, l, epoch)
	woken = 0
	if err := l.Update(specs(2), at(10)); err != nil || woken == 0 {
		t.Errorf("%d wakes: %v", woken, err)
	}
	if next := advance(t, l, at(10)); next.IsZero() {
		t.Error("passive health of new members is never asked")
	}
	c := new(dispatch.Call)
	w := dispatch.Waiter{Call: c, Ready: func() {}}
	var a dispatch.Attempts
	if err := l.Acquire(c, dispatch.Query{Now: at(10), Attempts: &a}); err != nil {
		t.Fatal(err)
	}
	requireField(t, l.Join(&w, dispatch.Query{Now: at(10), Attempts: &a}, time.Time{}), "Attempts", dispatch.ErrOutOfRange)
	requireField(t, l.Join(&dispatch.Waiter{Ready: func() {}}, dispatch.Query{}, time.Time{}), "Call", dispatch.ErrMissing)
	requireField(t, l.Join(&dispatch.Waiter{Call: c}, dispatch.Query{}, time.Time{}), "Ready", dispatch.ErrMissing)
}

// hookedPolicy is round robin that runs a function after each pick.
type hookedPolicy struct {
	policy.RoundRobin
	hook func(*dispatch.Loop)
	loop *dispatch.Loop
}

type hookedPicker struct {
	poise.Picker
	of *hookedPolicy
}

func (p *hookedPolicy) Prepare(v *poise.View) (poise.Picker, error) {
	picker, err := p.RoundRobin.Prepare(v)
	return hookedPicker{picker, p}, err
}

func (p hookedPicker) Pick(q poise.Query) (poise.Selection, error) {
	selection, err := p.Picker.Pick(q)
	if hook := p.of.hook; hook != nil && p.of.loop != nil {
		p.of.hook = nil
		hook(p.of.loop)
	}
	return selection, err
}

// A call whose member was changed between its pick and its admission goes elsewhere.
//
// Claim: A member that drains or was removed admits no call that began after the change returned.
//
// Claim: Every refusal leaves no slot held.
//
// Cases: B45.
func TestLoop_PicksAgainWhenItsPickIsGone(t *testing.T) {
	for name, hook := range map[string]func(*dispatch.Loop) error{
		"draining":  func(l *dispatch.Loop) error { return l.SetStatus("a0", poise.Draining, epoch) },
		"removed":   func(l *dispatch.Loop) error { return l.Update(specs(3)[1:], epoch) },
		"at limit":  func(l *dispatch.Loop) error { return fill(l, "a0") },
		"ejected":   func(l *dispatch.Loop) error { return ejectNow(l, "a0") },
		"a new one": func(l *dispatch.Loop) error { return l.Update(append(specs(3)[1:], renewed()), epoch) },
	} {
		p := &hookedPolicy{}
		l := newLoop(t, 0, func(c *dispatch.LoopConfig) { c.Policy = p })
		list := specs(3)
		list[0].Limit = 1
		if err := l.Update(list, epoch); err != nil {
			t.Fatal(err)
		}
		p.loop, p.hook = l, func(l *dispatch.Loop) {
			if err := hook(l); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var c dispatch.Call
		if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err != nil || c.Incarnation() == 1 {
			t.Errorf("%s: a call went to %s/%d: %v", name, c.ID(), c.Incarnation(), err)
		}
		c.End(success, epoch)
		for _, m := range l.Inspect(epoch).Members {
			if held := m.InFlight; held != 0 && (name != "at limit" || m.ID != "a0") {
				t.Errorf("%s: %s holds %d slots", name, m.ID, held)
			}
		}
		if name == "removed" && len(l.Released()) != 1 {
			t.Errorf("%s: it was not released", name)
		}
	}
}

// renewed is another incarnation of a0.
func renewed() dispatch.Spec {
	s := specs(9)[8]
	s.ID = "a0"
	return s
}

// fill takes the one slot of the member, and ejectNow ejects it.
func fill(l *dispatch.Loop, id string) error {
	_, err := callOf(l, id)
	return err
}

func ejectNow(l *dispatch.Loop, id string) error {
	c, err := callOf(l, id)
	if err == nil {
		c.End(unreachable, epoch)
	}
	return err
}

// callOf returns a call at the member.
func callOf(l *dispatch.Loop, id string) (*dispatch.Call, error) {
	for range 10 {
		c := new(dispatch.Call)
		if err := l.Acquire(c, dispatch.Query{Now: epoch}); err != nil {
			return nil, err
		}
		if c.ID() == id {
			return c, nil
		}
		c.End(success, epoch)
	}
	return nil, errors.New("no call came to " + id)
}
