//go:build interleave && race

package explore

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// shared is a state with plain variables in it.
type shared struct {
	n     Int64
	flag  Bool
	mu    Mutex
	rw    RWMutex
	once  Once
	event Event
	group WaitGroup
	cond  *Cond
	plain int
}

func sharedModel(name string, tasks ...func(s *shared, h *T)) Model[*shared] {
	m := Model[*shared]{Name: name, New: func() *shared {
		s := &shared{plain: 1}
		s.cond = NewCond(&s.mu)
		return s
	}}
	for _, b := range tasks {
		m.Tasks = append(m.Tasks, Task[*shared]{name, b})
	}
	return m
}

// racy are models with one data race each; most are seen in few schedules only.
var racy = []Model[*shared]{
	sharedModel("two plain writes",
		func(s *shared, _ *T) { s.plain++ }, func(s *shared, _ *T) { s.plain++ }),
	sharedModel("read outside the lock",
		func(s *shared, _ *T) { s.mu.Lock(); s.plain++; s.mu.Unlock() },
		func(s *shared, _ *T) { _ = s.plain; s.mu.Lock(); s.mu.Unlock() }),
	sharedModel("flag before value",
		func(s *shared, _ *T) { s.flag.Store(true); s.plain++ },
		func(s *shared, _ *T) {
			if s.flag.Load() {
				_ = s.plain
			}
		}),
	sharedModel("write under a read lock",
		func(s *shared, _ *T) { s.rw.RLock(); s.plain++; s.rw.RUnlock() },
		func(s *shared, _ *T) { s.rw.RLock(); s.plain++; s.rw.RUnlock() }),
	sharedModel("write behind the third value",
		func(s *shared, _ *T) { s.n.Add(1); s.n.Add(1); s.n.Add(1) },
		func(s *shared, _ *T) {
			if s.n.Load() == 2 {
				s.plain++
			}
		},
		func(s *shared, _ *T) {
			if s.n.Load() == 2 {
				s.plain++
			}
		}),
	sharedModel("goroutine that is not waited for",
		func(s *shared, _ *T) { Go(func() { s.plain++ }); s.n.Load(); s.plain++ }),
}

// clean are models with the same shapes and no race.
var clean = []Model[*shared]{
	sharedModel("writes under the lock",
		func(s *shared, _ *T) { s.mu.Lock(); s.plain++; s.mu.Unlock() },
		func(s *shared, _ *T) { s.mu.Lock(); s.plain++; s.mu.Unlock() }),
	sharedModel("value before flag",
		func(s *shared, _ *T) { s.plain++; s.flag.Store(true) },
		func(s *shared, _ *T) {
			if s.flag.Load() {
				s.plain++
			}
		}),
	sharedModel("readers and a writer",
		func(s *shared, _ *T) { s.rw.Lock(); s.plain++; s.rw.Unlock() },
		func(s *shared, _ *T) { s.rw.RLock(); _ = s.plain; s.rw.RUnlock() },
		func(s *shared, _ *T) { s.rw.RLock(); _ = s.plain; s.rw.RUnlock() }),
	sharedModel("goroutine that is waited for",
		func(s *shared, _ *T) { s.plain++; s.group.Go(func() { s.plain++ }); s.group.Wait(); s.plain++ }),
	sharedModel("event",
		func(s *shared, _ *T) { s.plain++; s.event.Fire() },
		func(s *shared, h *T) {
			if s.event.Wait(h.Context()) == nil {
				s.plain++
			}
		}),
	sharedModel("condition",
		func(s *shared, _ *T) { s.plain++; s.mu.Lock(); s.flag.Store(true); s.mu.Unlock(); s.cond.Signal() },
		func(s *shared, _ *T) {
			s.mu.Lock()
			for !s.flag.Load() {
				s.cond.Wait()
			}
			s.mu.Unlock()
			s.plain++
		}),
	sharedModel("once",
		func(s *shared, _ *T) { s.once.Do(func() { s.plain++ }); _ = s.plain },
		func(s *shared, _ *T) { s.once.Do(func() { s.plain++ }); _ = s.plain }),
	sharedModel("choices",
		func(s *shared, h *T) {
			if h.Choose("own variable", 2) == 0 && s.mu.TryLock() {
				s.plain++
				s.mu.Unlock()
			}
		},
		func(s *shared, h *T) { h.Now(); s.mu.Lock(); s.plain++; s.mu.Unlock() }),
}

func TestRaceBuild_PassesCleanModels(t *testing.T) {
	for _, m := range clean {
		t.Run(m.Name, func(t *testing.T) { Check(t, m) })
	}
}

// The detector reports one race once per process, and fails the process. So each
// racy model has a process of its own.
func TestRaceBuild_FindsPlantedRaces(t *testing.T) {
	for _, m := range racy {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) { findRace(t, erase(m)) })
	}
}

func TestRaceBuild_TellsARaceFromNone(t *testing.T) {
	passesAlone(t, func() { findRace(t, erase(clean[0])) })
}

// Were the hand-offs of the engine not hidden, they would order the tasks, and no
// model had a race.
func TestRaceBuild_HandOffsThatAreSeenHideRaces(t *testing.T) {
	for _, m := range racy {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			passesAlone(t, func() {
				handOffsSeen = true
				findRace(t, erase(m))
			})
		})
	}
}

// passesAlone runs the test again in a process of its own, where it calls find,
// which must find nothing.
func passesAlone(t *testing.T, find func()) {
	t.Helper()
	if os.Getenv(raceVariable) != "" {
		find()
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	child.Env = append(os.Environ(), raceVariable+"=1")
	if out, err := child.CombinedOutput(); err != nil || strings.Contains(string(out), racePlanted) {
		t.Errorf("a data race was found: %v\n%s", err, out)
	}
}
