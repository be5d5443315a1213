//go:build interleave && !race

package explore

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestExplore_RefusesWhatItCannotJudge(t *testing.T) {
	flip, stop := false, make(chan struct{})
	defer close(stop)
	for _, c := range []struct {
		name, says string
		model      Model[*known]
	}{
		{"a model that changes from run to run", "not deterministic", knownModel("",
			func(s *known, _ *T) {
				if flip = !flip; flip {
					s.n.Load()
				}
				s.n.Load()
			}, lostUpdate)},
		{"a model that changes behind the first decisions", "not deterministic", knownModel("",
			func(s *known, _ *T) {
				s.n.Load()
				if flip = !flip; flip {
					s.mu.Lock()
					s.mu.Unlock()
				} else {
					s.n.Load()
				}
				s.n.Store(1)
			}, lostUpdate)},
		{"a choice that changes its ways", "not deterministic", knownModel("",
			func(s *known, h *T) {
				flip = !flip
				s.n.Load()
				if flip {
					h.Choose("ways", 2)
				} else {
					h.Choose("ways", 3)
				}
			})},
		{"a goroutine left behind", "refuse_test.go", knownModel("",
			func(s *known, _ *T) { s.n.Load(); go func() { <-stop }() })},
		{"a predicate that changes the state", "a predicate changes", knownModel("", lostUpdate).
			always("counts", func(s *known) bool { return s.n.Add(1) >= 0 })},
		{"a channel asked of a context", "refuse_test.go", knownModel("", func(s *known, h *T) { s.n.Load(); <-h.Context().Done() })},
		{"a context from elsewhere", "not from T.Context", knownModel("", func(s *known, _ *T) {
			ctx := t.Context()
			_ = s.event.Wait(ctx)
		})},
		{"too many tasks", "more than 8 tasks", knownModel("", func(s *known, _ *T) {
			for range maxTasks {
				Go(func() { s.n.Add(1) })
			}
		})},
		{"a call inside a call", "a Call inside a Call", knownModel("", func(s *known, h *T) {
			h.Call("outer", nil, func() any { return h.Call("inner", nil, func() any { return nil }) })
		})},
		{"a goroutine started by New", "starts a goroutine", func() Model[*known] {
			m := knownModel("", lostUpdate)
			m.New = func() *known { Go(func() {}); return new(known) }
			return m
		}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, reduce := range []bool{true, false} {
				flip = false
				r := run(erase(c.model), options{reduce: reduce, budget: -1})
				if !strings.Contains(string(r.refused), c.says) {
					t.Errorf("reduced %t: refused with %q, want something with %q", reduce, r.refused, c.says)
				}
			}
		})
	}
}

func TestExplore_FailsWhenABoundIsHit(t *testing.T) {
	m := straight(2, 6)
	m.Bounds.Executions = 923
	if r := run(erase(m), options{budget: -1}); r.exhausted || r.failures["executions"].detail == "" {
		t.Error("924 executions fit into 923")
	}
	m.Bounds.Executions = 924
	if r := run(erase(m), options{budget: -1}); !r.exhausted || len(r.failures) != 0 {
		t.Error("924 executions do not fit into 924")
	}
	m.Bounds.Steps = 11
	if r := run(erase(m), options{budget: -1}); r.failures["steps"].detail == "" {
		t.Error("12 steps fit into 11")
	}
}

// stuckVariable makes the process that has it run a model that is stuck.
const stuckVariable = "POISE_EXPLORE_STUCK"

func TestExplore_NamesTheTaskThatIsStuck(t *testing.T) {
	if os.Getenv(stuckVariable) != "" {
		patience = 200 * time.Millisecond
		run(erase(knownModel("stuck", func(s *known, _ *T) { s.n.Load(); <-make(chan int) })), options{budget: -1})
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), stuckVariable+"=1")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "model stuck is stuck") || !strings.Contains(string(out), "chan receive") || !strings.Contains(string(out), "refuse_test.go") {
		t.Errorf("%v\n%s", err, out)
	}
}
