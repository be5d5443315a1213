package dispatch_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// retriable are policies whose retries are to be those of the policy, by name.
func retriable(t *testing.T) map[string]func() poise.Policy {
	return map[string]func() poise.Policy{
		"Rendezvous":            func() poise.Policy { return new(policy.Rendezvous) },
		"WeightedRendezvous":    func() poise.Policy { return new(policy.WeightedRendezvous) },
		"BoundedLoadRendezvous": func() poise.Policy { return new(policy.BoundedLoadRendezvous) },
		"RingHash":              func() poise.Policy { return new(policy.RingHash) },
		"Maglev": func() poise.Policy {
			p, err := policy.NewMaglev(policy.MaglevConfig{TableSize: 251})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		"Random":            func() poise.Policy { return policy.NewRandom(policy.RandomConfig{Seed: 1}) },
		"PowerOfTwoChoices": func() poise.Policy { return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1}) },
	}
}

// preferred are the identities in the order in which the policy prefers them for a
// key; nil for a policy without preferences.
func preferred(t *testing.T, p poise.Policy, list []dispatch.Spec) func(poise.Key) []string {
	t.Helper()
	var candidates []poise.Candidate
	for _, s := range list {
		sample := s.Sample
		sample.Load = poise.NewInFlight(0)
		candidates = append(candidates, sample)
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picker, err := p.Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	preferrer, ok := picker.(interface{ Preference(poise.Key) iter.Seq[int] })
	if !ok {
		return nil
	}
	return func(key poise.Key) (ids []string) {
		for index := range preferrer.Preference(key) {
			ids = append(ids, list[index].ID)
		}
		return ids
	}
}

// retriesOf has every key's first member fail, and returns what is wrong with where the
// second attempt goes: to another, by the policy's own choice, and that its next one.
func retriesOf(t *testing.T, p, twin poise.Policy) error {
	l := newLoop(t, 4, func(cfg *dispatch.LoopConfig) { cfg.Policy, cfg.Passive = p, noPassive() })
	order := preferred(t, twin, specs(4))
	for k := range 1000 {
		now, key := at(1000*k), poise.Uint64Key(uint64(k)) // a second apart, so that the budget has something
		var attempts dispatch.Attempts
		q := dispatch.Query{Key: key, Now: now, Attempts: &attempts, Repeatable: true}
		var went []string
		for n := range 2 {
			var c dispatch.Call
			if err := l.Acquire(&c, q); err != nil {
				return fmt.Errorf("call %d, attempt %d: %w", k, n, err)
			}
			if c.Choice() != observe.Picked {
				return fmt.Errorf("call %d, attempt %d went to %s, which was %v and not picked", k, n, c.ID(), c.Choice())
			}
			went = append(went, c.ID())
			c.End(failure, now)
			if step := l.Next(&attempts, failure, true, now); n == 0 && step.Action != dispatch.Repeat {
				return fmt.Errorf("call %d is not repeated: %v", k, step.Reason)
			}
		}
		if went[0] == went[1] {
			return fmt.Errorf("call %d went to %s twice", k, went[0])
		}
		if order == nil {
			continue
		}
		if want := order(key)[:2]; !slices.Equal(went, want) {
			return fmt.Errorf("call %d went to %v, want %v", k, went, want)
		}
	}
	return nil
}

// careless is a policy whose picks ignore Tried.
type careless struct{ of poise.Policy }

type carelessPicker struct{ of poise.Picker }

func (c careless) Prepare(v *poise.View) (poise.Picker, error) {
	picker, err := c.of.Prepare(v)
	return carelessPicker{picker}, err
}

func (c carelessPicker) Pick(q poise.Query) (poise.Selection, error) {
	q.Tried = nil
	return c.of.Pick(q)
}

// A retry is the policy's second choice: keyed policies walk on in their order of
// preference. Admission would find somebody else too, but by no policy.
//
// Cases: B49.
func TestLoop_RetriesByThePolicysOwnChoice(t *testing.T) {
	for name, fresh := range retriable(t) {
		t.Run(name, func(t *testing.T) {
			if err := retriesOf(t, fresh(), fresh()); err != nil {
				t.Error(err)
			}
			if err := retriesOf(t, careless{fresh()}, fresh()); err == nil {
				t.Error("picks that ignore Tried are not noticed")
			}
		})
	}
}

// With A dead and B sound every call with a retry succeeds, whatever the policy.
//
// Cases: B49.
func TestLoop_OneRetrySufficesBesideOneSoundMember(t *testing.T) {
	for name, fresh := range retriable(t) {
		l := newLoop(t, 2, func(cfg *dispatch.LoopConfig) { cfg.Policy, cfg.Passive = fresh(), noPassive() })
		retries := 0
		for k := range 1000 {
			now := at(1000 * k)
			var attempts dispatch.Attempts
			q := dispatch.Query{Key: poise.Uint64Key(uint64(k)), Now: now, Attempts: &attempts, Repeatable: true}
			for n := range 2 {
				var c dispatch.Call
				if err := l.Acquire(&c, q); err != nil {
					t.Fatalf("%s: call %d: %v", name, k, err)
				}
				if c.ID() == "a1" {
					c.End(success, now)
					break
				}
				c.End(failure, now)
				if step := l.Next(&attempts, failure, true, now); n == 1 || step.Action != dispatch.Repeat {
					t.Fatalf("%s: call %d fails at attempt %d: %v", name, k, n, step.Reason)
				}
				retries++
			}
		}
		if retries < 300 || retries > 700 {
			t.Errorf("%s: %d of 1000 calls began at the dead member", name, retries)
		}
	}
}

// Where every member is at its limit, a policy of bounded loads is no loop: the call is
// refused at once, and served again as soon as there is room.
//
// Cases: B43.
func TestLoop_BoundedLoadWithEverybodyAtTheirLimit(t *testing.T) {
	l := newLoop(t, 0, func(cfg *dispatch.LoopConfig) {
		cfg.Policy, cfg.Passive = new(policy.BoundedLoadRendezvous), noPassive()
	})
	list := specs(3)
	for i := range list {
		list[i].Limit = 2
	}
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	q := dispatch.Query{Key: poise.StringKey("one key"), Now: epoch}
	held := map[string][]*dispatch.Call{}
	for k := range 6 {
		c := new(dispatch.Call)
		if err := l.Acquire(c, q); err != nil {
			t.Fatalf("call %d of six: %v", k, err)
		}
		held[c.ID()] = append(held[c.ID()], c)
	}
	for id, calls := range held {
		if len(calls) != 2 {
			t.Errorf("%s holds %d calls, want 2", id, len(calls))
		}
	}
	for range 100 {
		var c dispatch.Call
		if err := l.Acquire(&c, q); !errors.Is(err, poise.ErrAtCapacity) {
			t.Fatalf("beyond the limits of all: %v, want %v", err, poise.ErrAtCapacity)
		}
	}
	held["a1"][0].End(success, epoch)
	var c dispatch.Call
	if err := l.Acquire(&c, q); err != nil || c.ID() != "a1" {
		t.Errorf("with room at a1 the call went to %q (%v)", c.ID(), err)
	}
}

// What the loop keeps and tells of members follows those who are there: members that
// have left are in no list, their values are released, and they take no memory.
//
// Cases: B50.
func TestLoop_ForgetsMembersThatHaveLeft(t *testing.T) {
	const waves, present = 1000, 10
	l := newLoop(t, 0, func(cfg *dispatch.LoopConfig) { cfg.Policy = new(policy.RingHash) })
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	released, early := 0, uint64(0)
	for wave := range waves {
		now := at(100 * wave)
		list := specs(present)
		for i := range list {
			number := present*wave + i
			list[i].ID, list[i].Incarnation, list[i].Value = fmt.Sprint("pod-", number), uint64(number)+1, number
		}
		if err := l.Update(list, now); err != nil {
			t.Fatal(err)
		}
		for k := range 3 * present {
			var c dispatch.Call
			if err := l.Acquire(&c, dispatch.Query{Now: now, Key: poise.Uint64Key(uint64(k))}); err != nil {
				t.Fatal(err)
			}
			c.End([]poise.Result{success, failure}[k%2], now)
		}
		advance(t, l, now)
		released += len(l.Released())
		if got := len(l.Inspect(now).Members); got != present {
			t.Fatalf("wave %d: %d members are told of, want %d", wave, got, present)
		}
		if wave == waves/10 {
			early = heap()
		}
	}
	if want := (waves - 1) * present; released != want {
		t.Errorf("%d values were released, want %d", released, want)
	}
	// A tenth, and what a few hundred objects of other tests may take.
	if late := heap(); late > early+early/10+256<<10 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	runtime.KeepAlive(l)
}
