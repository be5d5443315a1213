//go:build interleave && !race

package explore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// known is the state of the models whose verdict is known beforehand.
type known struct {
	n, m, k Int64
	flag    Bool
	mu      Mutex
	rw      RWMutex
	once    Once
	event   Event
	group   WaitGroup
	cond    *Cond
	saw     [3]int64
	link    [3]Int64 // the stack of the ABA model: the element below, 0 for none
	got     [3]int64
}

type body = func(s *known, h *T)

func knownModel(name string, tasks ...body) Model[*known] {
	m := Model[*known]{Name: name, New: func() *known {
		s := &known{}
		s.cond = NewCond(&s.mu)
		return s
	}}
	for i, b := range tasks {
		m.Tasks = append(m.Tasks, Task[*known]{fmt.Sprint("task ", i), b})
	}
	m.Outcome = func(s *known, r *Run) string {
		return fmt.Sprint(s.n.Load(), s.m.Load(), s.saw, r.Results(0), r.Results(1))
	}
	return m
}

func (m Model[S]) finally(name string, holds func(S) bool) Model[S] {
	m.Final = func(s S, _ *Run) error {
		if !holds(s) {
			return errors.New(name)
		}
		return nil
	}
	return m
}

func (m Model[S]) always(name string, holds func(S) bool) Model[S] {
	m.Always = append(m.Always, Pred[S]{name, holds})
	return m
}

// register is a variable that starts at 0.
var register = seq.Define("register", 0, func(state int, op seq.Op) []int {
	if op.Name == "write" {
		return []int{op.Arg.(int)}
	}
	return seq.One(op.Result == state, state)
})

func lostUpdate(s *known, _ *T) { s.n.Store(s.n.Load() + 1) }

// push and pop treat link and n as a stack of element numbers from 1, with
// nothing against an element that went away and came back.
func push(s *known, element int64) {
	for {
		top := s.n.Load()
		s.link[element-1].Store(top)
		if s.n.CompareAndSwap(top, element) {
			return
		}
	}
}

func pop(s *known) int64 {
	for {
		top := s.n.Load()
		if top == 0 {
			return 0
		}
		if s.n.CompareAndSwap(top, s.link[top-1].Load()) {
			return top
		}
	}
}

func stack(m Model[*known]) Model[*known] {
	fresh := m.New
	m.New = func() *known {
		s := fresh()
		push(s, 2)
		push(s, 1)
		return s
	}
	return m.finally("an element is held twice", func(s *known) bool {
		held := make(map[int64]bool)
		for _, e := range append(s.got[:], s.n.Load()) {
			if e != 0 && held[e] {
				return false
			}
			held[e] = true
		}
		return true
	})
}

func publishEarly(s *known, _ *T) int64 {
	if !s.flag.Load() {
		s.mu.Lock()
		if !s.flag.Load() {
			s.flag.Store(true)
			s.n.Store(42)
		}
		s.mu.Unlock()
	}
	return s.n.Load()
}

func publishLate(s *known, _ *T) int64 {
	if !s.flag.Load() {
		s.mu.Lock()
		if !s.flag.Load() {
			s.n.Store(42)
			s.flag.Store(true)
		}
		s.mu.Unlock()
	}
	return s.n.Load()
}

func sawAll(want int64) func(*known) bool {
	return func(s *known) bool { return s.saw[0] == want && s.saw[1] == want }
}

func skew(mine, other func(*known) *Int64) body {
	return func(s *known, _ *T) {
		if other(s).Load() == 0 {
			mine(s).Store(1)
			mine(s).Store(0)
		}
	}
}

func theN(s *known) *Int64 { return &s.n }
func theM(s *known) *Int64 { return &s.m }

func lockBoth(first, second func(*known)) body {
	return func(s *known, _ *T) { first(s); second(s); s.mu.Unlock(); s.rw.Unlock() }
}

// knownBad are models with one fault each, and the verdict it must earn.
var knownBad = []struct {
	verdict string
	model   Model[*known]
}{
	{"final", knownModel("lost update", lostUpdate, lostUpdate).
		finally("an update is lost", func(s *known) bool { return s.n.Load() == 2 })},
	{"final", stack(knownModel("ABA",
		func(s *known, _ *T) { s.got[0] = pop(s) },
		func(s *known, _ *T) {
			first := pop(s)
			s.got[1] = pop(s)
			if first != 0 {
				push(s, first)
			}
		}))},
	{"final", knownModel("double-checked publish",
		func(s *known, h *T) { s.saw[0] = publishEarly(s, h) },
		func(s *known, h *T) { s.saw[1] = publishEarly(s, h) },
	).finally("the flag came before the value", sawAll(42))},
	{"deadlock", knownModel("missed wake-up",
		func(s *known, _ *T) {
			if !s.flag.Load() { // outside the lock
				s.mu.Lock()
				s.cond.Wait()
				s.mu.Unlock()
			}
		},
		func(s *known, _ *T) { s.flag.Store(true); s.cond.Signal() })},
	{"final", knownModel("unlocked read",
		func(s *known, _ *T) { s.mu.Lock(); s.n.Store(1); s.m.Store(1); s.mu.Unlock() },
		func(s *known, _ *T) { s.saw[0], s.saw[1] = s.n.Load(), s.m.Load() },
	).finally("half of an update was seen", func(s *known) bool { return s.saw[0] == s.saw[1] })},
	{"always never both", knownModel("write skew", skew(theN, theM), skew(theM, theN)).
		always("never both", func(s *known) bool { return s.n.Load() == 0 || s.m.Load() == 0 })},
	{"history", func() Model[*known] {
		m := knownModel("write that returns too early",
			func(s *known, h *T) {
				h.Call("write", 1, func() any { s.m.Store(1); return nil })
				s.n.Store(1)
			},
			func(s *known, h *T) { h.Call("read", nil, func() any { return int(s.n.Load()) }) })
		m.Spec = register
		return m
	}()},
	{"final", func() Model[*known] {
		m := knownModel("calls that end with one lock and begin with another",
			func(s *known, h *T) {
				h.Call("write", 1, func() any { s.mu.Lock(); s.n.Store(1); s.mu.Unlock(); return nil })
			},
			func(s *known, h *T) {
				h.Call("read", nil, func() any { s.rw.RLock(); defer s.rw.RUnlock(); s.saw[1] = s.n.Load(); return int(s.saw[1]) })
			}).finally("the read came first", func(s *known) bool { return s.saw[1] == 1 })
		m.Spec = register
		return m
	}()},
	{"deadlock", knownModel("locks in two orders",
		lockBoth(func(s *known) { s.mu.Lock() }, func(s *known) { s.rw.Lock() }),
		lockBoth(func(s *known) { s.rw.Lock() }, func(s *known) { s.mu.Lock() }))},
	{"deadlock", knownModel("read lock taken twice around a writer",
		func(s *known, _ *T) { s.rw.RLock(); s.rw.RLock(); s.rw.RUnlock(); s.rw.RUnlock() },
		func(s *known, _ *T) { s.rw.Lock(); s.rw.Unlock() })},
	{"steps", func() Model[*known] {
		m := knownModel("wait that spins",
			func(s *known, _ *T) {
				for !s.flag.Load() {
				}
			},
			func(s *known, _ *T) { s.flag.Store(true) })
		m.Bounds.Steps = 30
		return m
	}()},
	{"panic", knownModel("panic behind a race",
		func(s *known, _ *T) { s.n.Store(1) },
		func(s *known, _ *T) {
			defer func() {
				if r := recover(); r != nil {
					panic(r) // a model that recovers gets its own panics only
				}
			}()
			if s.n.Load() == 1 {
				panic("seen")
			}
		})},
	{"final", knownModel("lock that may fail to be tried",
		func(s *known, _ *T) {
			if s.mu.TryLock() {
				s.saw[0] = 1
				s.mu.Unlock()
			}
		}).finally("TryLock failed on a free lock", func(s *known) bool { return s.saw[0] == 1 })},
	{"final", func() Model[*known] {
		m := knownModel("clock that advances between two looks", func(s *known, h *T) {
			first := h.Now()
			s.saw[0] = int64(h.Now().Sub(first))
		}).finally("time has passed", func(s *known) bool { return s.saw[0] == 0 })
		m.Bounds.Tick, m.Bounds.Ticks = 1, 1
		return m
	}()},
	{"final", knownModel("wait that ends with its context",
		func(s *known, h *T) {
			if s.event.Wait(h.Context()) != nil {
				s.saw[0] = 1
			}
		},
		func(s *known, _ *T) { s.event.Fire() },
	).finally("the context ended first", func(s *known) bool { return s.saw[0] == 0 })},
}

// knownGood are their repaired twins, and one of everything that waits.
var knownGood = []Model[*known]{
	knownModel("atomic update",
		func(s *known, _ *T) { s.n.Add(1) }, func(s *known, _ *T) { s.n.Add(1) },
	).finally("an update is lost", func(s *known) bool { return s.n.Load() == 2 }),
	stack(knownModel("stack without reuse",
		func(s *known, _ *T) { s.got[0] = pop(s) },
		func(s *known, _ *T) { s.got[1] = pop(s) },
		func(s *known, _ *T) { push(s, 3) })),
	knownModel("value before flag",
		func(s *known, h *T) { s.saw[0] = publishLate(s, h) },
		func(s *known, h *T) { s.saw[1] = publishLate(s, h) },
	).finally("the flag came before the value", sawAll(42)),
	knownModel("wait in a loop under the lock",
		func(s *known, _ *T) {
			s.mu.Lock()
			for !s.flag.Load() {
				s.cond.Wait()
			}
			s.mu.Unlock()
		},
		func(s *known, _ *T) { s.mu.Lock(); s.flag.Store(true); s.mu.Unlock(); s.cond.Broadcast() }),
	knownModel("locked read",
		func(s *known, _ *T) { s.rw.Lock(); s.n.Store(1); s.m.Store(1); s.rw.Unlock() },
		func(s *known, _ *T) { s.rw.RLock(); s.saw[0], s.saw[1] = s.n.Load(), s.m.Load(); s.rw.RUnlock() },
	).finally("half of an update was seen", func(s *known) bool { return s.saw[0] == s.saw[1] }),
	knownModel("claim before look",
		func(s *known, _ *T) {
			if s.k.Add(1) == 1 {
				s.n.Store(1)
				s.n.Store(0)
			}
		},
		func(s *known, _ *T) {
			if s.k.Add(1) == 1 {
				s.m.Store(1)
				s.m.Store(0)
			}
		}).always("never both", func(s *known) bool { return s.n.Load() == 0 || s.m.Load() == 0 }),
	func() Model[*known] {
		m := knownModel("write that returns in time",
			func(s *known, h *T) { h.Call("write", 1, func() any { s.n.Store(1); return nil }) },
			func(s *known, h *T) {
				for range 2 {
					h.Call("read", nil, func() any { return int(s.n.Load()) })
				}
			})
		m.Spec = register
		return m
	}(),
	knownModel("once",
		func(s *known, _ *T) { s.once.Do(func() { s.n.Add(1) }); s.saw[0] = s.n.Load() },
		func(s *known, _ *T) { s.once.Do(func() { s.n.Add(1) }); s.saw[1] = s.n.Load() },
	).finally("once ran twice, or not in time", sawAll(1)),
	knownModel("group of goroutines",
		func(s *known, _ *T) {
			for range 2 {
				s.group.Go(func() { s.n.Add(1) })
			}
			s.group.Wait()
			s.saw[0] = s.n.Load()
		}).finally("Wait returned early", func(s *known) bool { return s.saw[0] == 2 }),
	knownModel("predicate behind a lock",
		func(s *known, _ *T) { s.mu.Lock(); s.n.Add(1); s.m.Add(1); s.mu.Unlock() },
		func(s *known, _ *T) { s.mu.Lock(); s.n.Add(1); s.m.Add(1); s.mu.Unlock() },
	).always("equal", func(s *known) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.n.Load() == s.m.Load()
	}),
}

func TestEngines_FindKnownFaults(t *testing.T) {
	for _, c := range knownBad {
		t.Run(c.model.Name, func(t *testing.T) {
			p := erase(c.model)
			reduced := run(p, options{reduce: true, budget: -1})
			brute := run(p, options{budget: -1})
			for _, r := range []*result{reduced, brute} {
				if _, found := r.failures[c.verdict]; !found || r.refused != "" || !r.exhausted {
					t.Errorf("verdicts %q, want %q; refused: %s", keys(r.failures), c.verdict, r.refused)
				}
			}
			compare(t, p, reduced, brute)
			if f := brute.failures[c.verdict]; f.verdict != "" {
				t.Logf("%d executions, %d reduced\n%s", brute.executions, reduced.executions, explain(t, p, f))
			}
		})
	}
}

func TestEngines_CompleteKnownGoodModels(t *testing.T) {
	for _, m := range knownGood {
		t.Run(m.Name, func(t *testing.T) { Check(t, m) })
	}
}
