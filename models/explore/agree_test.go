//go:build interleave && !race

package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// world is the state of a random model: some of everything, and what each task saw.
type world struct {
	n     [3]Int64
	mu    [2]Mutex
	rw    RWMutex
	once  Once
	event Event
	group WaitGroup
	cond  *Cond
	saw   [3][]int64
}

// action is one thing a task of a random model does.
type action struct {
	op      int
	i, j, k int
}

// kinds of random models, each a set of actions to draw from.
var kinds = []struct {
	name    string
	actions []int
	history bool // the calls and their order belong to the outcome
	watch   bool // predicates look at the state between the steps
}{
	{name: "atomics", actions: []int{0, 1, 2, 3, 4}},
	{name: "watched atomics", actions: []int{0, 1, 2, 3, 4}, watch: true},
	{name: "atomics in calls", actions: []int{0, 1, 2, 3, 4}, history: true},
	{name: "watched atomics in calls", actions: []int{0, 1, 2, 3}, history: true, watch: true},
	{name: "locks", actions: []int{0, 3, 5, 6, 7, 8}},
	{name: "watched locks", actions: []int{0, 3, 5, 6, 7}, watch: true},
	{name: "readers and writers", actions: []int{0, 1, 9, 10, 11}},
	{name: "waiting", actions: []int{0, 1, 12, 13, 14, 15, 16}},
	{name: "waiting in calls", actions: []int{0, 12, 13, 14, 16}, history: true},
	{name: "conditions", actions: []int{0, 3, 17, 18, 19}},
	{name: "everything", actions: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
}

func (a action) run(w *world, task int, h *T) {
	see := func(v int64) { w.saw[task] = append(w.saw[task], v) }
	yes := func(b bool) {
		if b {
			see(1)
		} else {
			see(0)
		}
	}
	n := &w.n[a.i]
	switch a.op {
	case 0:
		see(n.Load())
	case 1:
		n.Store(int64(a.k))
	case 2:
		yes(n.CompareAndSwap(int64(a.j%2), int64(a.k)))
	case 3:
		see(n.Add(1))
	case 4:
		n.Store(int64(h.Choose("value", 2)))
	case 5:
		m := &w.mu[a.i%2]
		m.Lock()
		n.Store(n.Load() + 1)
		m.Unlock()
	case 6:
		m := &w.mu[a.i%2]
		if m.TryLock() {
			see(n.Load())
			m.Unlock()
		} else {
			see(-1)
		}
	case 7: // may deadlock against its mirror image
		w.mu[a.i%2].Lock()
		w.mu[1-a.i%2].Lock()
		see(n.Add(1))
		w.mu[1-a.i%2].Unlock()
		w.mu[a.i%2].Unlock()
	case 8:
		w.once.Do(func() { n.Add(2) })
	case 9:
		w.rw.Lock()
		n.Store(int64(a.k))
		w.rw.Unlock()
	case 10:
		w.rw.RLock()
		see(n.Load())
		w.rw.RUnlock()
	case 11:
		if w.rw.TryRLock() {
			see(n.Load())
			w.rw.RUnlock()
		} else {
			yes(w.rw.TryLock() && unlock(&w.rw))
		}
	case 12:
		w.event.Fire()
	case 13:
		yes(w.event.Wait(h.Context()) == nil)
	case 14:
		yes(w.event.Fired())
	case 15:
		w.group.Go(func() { n.Add(1) })
	case 16:
		if w.event.Fired() {
			yes(w.event.Wait(context.Background()) == nil)
		}
	case 17:
		w.cond.L.Lock()
		if n.Load() == 0 {
			w.cond.Wait()
		}
		see(n.Load())
		w.cond.L.Unlock()
	case 18:
		n.Store(1)
		w.cond.Signal()
	case 19:
		w.cond.L.Lock()
		n.Store(1)
		w.cond.L.Unlock()
		w.cond.Broadcast()
	}
}

func unlock(m *RWMutex) bool { m.Unlock(); return true }

// anything allows every history; it is there so that calls count.
var anything = seq.Define("anything", 0, func(s int, _ seq.Op) []int { return []int{s} })

// randomModel draws a model of 2 or 3 tasks.
func randomModel(kind int, r *rand.Rand) Model[*world] {
	k := kinds[kind]
	m := Model[*world]{Name: k.name, New: func() *world {
		w := &world{}
		w.cond = NewCond(&w.mu[0])
		return w
	}}
	tasks := 2 + r.IntN(2)
	for task := range tasks {
		script := make([]action, 1+r.IntN(6/tasks))
		for i := range script {
			script[i] = action{k.actions[r.IntN(len(k.actions))], r.IntN(3), r.IntN(3), r.IntN(3)}
		}
		m.Tasks = append(m.Tasks, Task[*world]{fmt.Sprint("task ", task), func(w *world, h *T) {
			for _, a := range script {
				if k.history {
					h.Call(fmt.Sprint(a.op), nil, func() any { a.run(w, task, h); return nil })
				} else {
					a.run(w, task, h)
				}
			}
		}})
	}
	m.Outcome = func(w *world, run *Run) string {
		out := fmt.Sprint(w.n[0].Load(), w.n[1].Load(), w.n[2].Load(), w.saw)
		if !k.history {
			return out
		}
		slices.SortFunc(run.History, func(a, b seq.Op) int {
			if a.Task != b.Task {
				return a.Task - b.Task
			}
			return int(a.Call - b.Call)
		})
		var b strings.Builder
		b.WriteString(out)
		for _, p := range run.History {
			for _, q := range run.History {
				fmt.Fprint(&b, " ", p.Return < q.Call)
			}
		}
		return b.String()
	}
	if k.history {
		m.Spec = anything
	}
	if k.watch {
		for i := range 3 {
			for v := range int64(3) {
				for u := range int64(3) {
					m.Sometimes = append(m.Sometimes, Pred[*world]{fmt.Sprintf("n%d=%d and n%d=%d", i, v, (i+1)%3, u), func(w *world) bool {
						if i == 2 { // this one looks further only in some states
							return w.n[2].Load() == v && (v == 0 || w.n[0].Load() == u)
						}
						return w.n[i].Load() == v && w.n[(i+1)%3].Load() == u
					}})
				}
			}
		}
		m.Always = []Pred[*world]{{"small", func(w *world) bool { return w.n[0].Load()+w.n[1].Load() < 4 }}}
	}
	return m
}

func TestEngines_AgreeOnRandomModels(t *testing.T) {
	const perKind, most = 60, 10_000
	for kind, k := range kinds {
		t.Run(strings.ReplaceAll(k.name, " ", "_"), func(t *testing.T) {
			all, few, redundant, compared := 0, 0, 0, 0
			for seed := uint64(0); compared < perKind && seed < 10*perKind; seed++ {
				m := randomModel(kind, rand.New(rand.NewPCG(seed, uint64(kind))))
				m.Bounds.Executions = most
				brute := run(erase(m), options{budget: -1})
				if brute.refused != "" {
					t.Fatalf("seed %d: refused: %s", seed, brute.refused)
				}
				if !brute.exhausted {
					continue
				}
				reduced := run(erase(m), options{reduce: true, budget: -1})
				if reduced.refused != "" || !reduced.exhausted {
					t.Fatalf("seed %d: %d reduced executions against %d; refused: %s", seed, reduced.executions, brute.executions, reduced.refused)
				}
				compare(t, erase(m), reduced, brute)
				if t.Failed() {
					t.Fatalf("seed %d of kind %d", seed, kind)
				}
				compared++
				all += brute.executions
				few += reduced.executions
				redundant += reduced.redundant
			}
			t.Logf("%d models: %d executions by brute force, %d and %d redundant ones reduced", compared, all, few, redundant)
			if compared < perKind {
				t.Errorf("only %d models were small enough to compare", compared)
			}
		})
	}
}
