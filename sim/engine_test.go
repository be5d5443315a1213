package sim

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func TestEventQueue_GivesWhatIsToComeInOrder(t *testing.T) {
	for seed := range uint64(50) {
		chance := rand.New(rand.NewPCG(seed, 0))
		var q eventQueue
		var want []happening
		lane := [lanes]int64{}
		now := int64(0)
		for range 2000 {
			if chance.IntN(3) > 0 {
				at := now + chance.Int64N(50)
				if which := chance.IntN(lanes + 1); which < lanes {
					at = max(at, lane[which])
					lane[which] = at
					q.addTo(which, at, arrival, 0, 0)
				} else {
					q.add(at, arrival, 0, 0)
				}
				want = append(want, happening{at: at, order: q.order})
				continue
			}
			got, more := q.pop()
			if more != (len(want) > 0) {
				t.Fatalf("pop says %t with %d to come", more, len(want))
			}
			if !more {
				continue
			}
			first := slices.IndexFunc(want, func(h happening) bool {
				return !slices.ContainsFunc(want, func(other happening) bool { return other.before(&h) })
			})
			if got.at != want[first].at || got.order != want[first].order {
				t.Fatalf("got %+v, want %+v", got, want[first])
			}
			now = got.at
			want = slices.Delete(want, first, first+1)
		}
	}
}

// Equal seeds give equal runs, whatever happens in them; another seed gives another.
func TestRun_Replays(t *testing.T) {
	for _, s := range append(committed(t), Random(1), Random(2), Random(3)) {
		if s.Length > 20*time.Second || s.Calls.Rate*s.Length.Seconds() > 5000 {
			continue
		}
		for _, policy := range s.Policies {
			first, err := Run(s, policy, NewLoop, 42)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Run(s, policy, NewLoop, 42)
			if err != nil || !reflect.DeepEqual(first, again) {
				t.Errorf("%s, %s: another run of the same seed differs (%v)", s.Name, policy, err)
			}
		}
	}
	s := committed(t)[0]
	one, err := Run(s, s.Policies[0], NewLoop, 1)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := Run(s, s.Policies[0], NewLoop, 2); err != nil || reflect.DeepEqual(one, two) {
		t.Errorf("another seed gives the same run (%v)", err)
	}
}

// watched is a Subject that checks what the run promises its Subjects, and ends every
// attempt of every call once.
type watched struct {
	Subject
	t    *testing.T
	open map[int]bool // by slot
	last time.Time
	tick bool // instants never go back
}

func (w *watched) at(now time.Time) {
	if w.tick && now.Before(w.last) {
		w.t.Errorf("the instant %v comes after %v", now, w.last)
	}
	w.last = now
}

func (w *watched) Begin(c *Call) {
	if w.open[c.Slot] {
		w.t.Errorf("slot %d is taken by a new call while an attempt is open", c.Slot)
	}
	w.Subject.Begin(c)
}

func (w *watched) Acquire(c *Call, now time.Time) (int, error) {
	w.at(now)
	if w.open[c.Slot] {
		w.t.Errorf("slot %d has two attempts at once", c.Slot)
	}
	server, err := w.Subject.Acquire(c, now)
	w.open[c.Slot] = err == nil
	return server, err
}

func (w *watched) End(c *Call, r poise.Result, now time.Time) {
	w.at(now)
	if !w.open[c.Slot] {
		w.t.Errorf("slot %d ends an attempt twice", c.Slot)
	}
	w.open[c.Slot] = false
	w.Subject.End(c, r, now)
}

func TestRun_EndsEveryAttemptOnce(t *testing.T) {
	for seed := range uint64(400) {
		s := Random(seed)
		var subjects []*watched
		steps := slices.ContainsFunc(s.Events, func(e Event) bool { return e.Verb == StepClock })
		_, err := Run(s, s.Policies[0], func(setup Setup) (Subject, error) {
			loop, err := NewLoop(setup)
			w := &watched{Subject: loop, t: t, open: map[int]bool{}, tick: !steps}
			subjects = append(subjects, w)
			return w, err
		}, seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range subjects {
			for slot, open := range w.open {
				if open {
					t.Errorf("seed %d: the attempt of slot %d never ended", seed, slot)
				}
			}
		}
	}
}

// A server by itself is a queue whose figures are known: with exponential gaps and
// costs and one worker (M/M/1) a call takes cost/(1-use) in the mean, and of calls that
// find all c workers of a server without a queue taken, the part is Erlang's.
func TestServer_IsTheQueueThatTheoryKnows(t *testing.T) {
	all, err := Parse("queue", `title an M/M/1 queue, and M/M/2 without a queue
cases n queue conc: 1 100000 1 | 1 0 2
length 400s
seeds 20
servers $n cost 10ms concurrency $conc queue $queue delay 0s
calls 60/s
`)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(s *Scenario) *Record {
		one, err := runAll(s, "round-robin", NewRotationOnce, JudgeConfig{Seed: 1, Seeds: s.Seeds, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return one.sum
	}
	whole := func(s *Scenario) window { return s.window(&Must{}) }
	waits, refuses := sum(all[0]), sum(all[1])
	value, of := waits.measure(&Must{Metric: Latency}, whole(all[0]), 1)
	if mean := value / of; mean < 0.0245 || mean > 0.0255 {
		t.Errorf("a call takes %.4f s in the mean, want 0.01/(1-0.6) = 0.025", mean)
	}
	// Erlang B for a = 0.6, c = 2: (a²/2)/(1+a+a²/2).
	const want = 0.18 / 1.78
	value, of = refuses.measure(&Must{Metric: Failed}, whole(all[1]), 1)
	if got := value / of; got < want-0.002 || got > want+0.002 {
		t.Errorf("%.4f of calls are refused, want %.4f", got, want)
	}
}

func TestMinimise_KeepsWhatFailsAndLittleElse(t *testing.T) {
	for seed := range uint64(1000) {
		s := Random(seed)
		cfg := JudgeConfig{Seed: seed, Subject: newFirstStage}
		results, _, err := Judge(s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !Fails(results) {
			continue
		}
		smallest := Minimise(s, cfg)
		again, _, err := Judge(smallest, cfg)
		if err != nil || !Fails(again) {
			t.Errorf("seed %d: what is left does not fail:\n%v", seed, smallest)
		}
		if len(smallest.Events) > len(s.Events) || len(smallest.Servers) > len(s.Servers) || len(smallest.Musts) != 1 {
			t.Errorf("seed %d: what is left is not smaller:\n%v", seed, smallest)
		}
		return
	}
	t.Error("no random scenario fails the rules of the first stage")
}

func BenchmarkRun(b *testing.B) {
	all := committed(b)
	calls := 0
	for b.Loop() {
		for _, s := range all {
			if s.Calls.Rate != 100 {
				continue
			}
			r, err := Run(s, "round-robin", NewLoop, 1)
			if err != nil {
				b.Fatal(err)
			}
			calls += r.Calls()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}
