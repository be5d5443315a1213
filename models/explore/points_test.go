//go:build interleave && !race

package explore

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// points are all methods of all hooked types and the steps that each must make.
var points = []struct {
	name  string
	body  body
	steps []string
}{
	{"Load", func(s *known, _ *T) { s.n.Load() }, []string{"Load"}},
	{"Store", func(s *known, _ *T) { s.n.Store(1) }, []string{"Store"}},
	{"Swap", func(s *known, _ *T) { s.n.Swap(1) }, []string{"Swap"}},
	{"CompareAndSwap", func(s *known, _ *T) { s.n.CompareAndSwap(0, 1) }, []string{"CompareAndSwap"}},
	{"Add", func(s *known, _ *T) { s.n.Add(1) }, []string{"Add"}},
	{"And", func(s *known, _ *T) { s.n.And(1) }, []string{"And"}},
	{"Or", func(s *known, _ *T) { s.n.Or(1) }, []string{"Or"}},
	{"Bool", func(s *known, _ *T) { s.flag.Store(s.flag.Load()) }, []string{"Load", "Store"}},
	{"Mutex", func(s *known, _ *T) { s.mu.Lock(); s.mu.Unlock() }, []string{"Lock", "Unlock"}},
	{"Mutex.TryLock", func(s *known, _ *T) { s.mu.TryLock() }, []string{"TryLock"}},
	{"RWMutex", func(s *known, _ *T) { s.rw.Lock(); s.rw.Unlock() }, []string{"announce Lock", "Lock", "Unlock"}},
	{"RWMutex.RLock", func(s *known, _ *T) { s.rw.RLock(); s.rw.RUnlock() }, []string{"RLock", "RUnlock"}},
	{"RWMutex.RLocker", func(s *known, _ *T) { l := s.rw.RLocker(); l.Lock(); l.Unlock() }, []string{"RLock", "RUnlock"}},
	{"RWMutex.TryLock", func(s *known, _ *T) { s.rw.TryLock() }, []string{"TryLock"}},
	{"RWMutex.TryRLock", func(s *known, _ *T) { s.rw.TryRLock() }, []string{"TryRLock"}},
	{"Once", func(s *known, _ *T) { s.once.Do(func() {}); s.once.Do(func() {}) },
		[]string{"Load", "Lock", "Load", "Store", "Unlock", "Load"}},
	{"WaitGroup", func(s *known, _ *T) { s.group.Add(1); s.group.Done(); s.group.Wait() },
		[]string{"WaitGroup.Add", "WaitGroup.Done", "WaitGroup.Wait"}},
	{"WaitGroup.Go", func(s *known, _ *T) { s.group.Go(func() {}); s.group.Wait() },
		[]string{"WaitGroup.Add", "start", "WaitGroup.Done", "WaitGroup.Wait"}},
	{"Cond", func(s *known, _ *T) {
		Go(func() { s.cond.Signal() })
		Go(func() { s.cond.Broadcast() })
		s.mu.Lock()
		s.cond.Wait()
		s.mu.Unlock()
	}, []string{"Lock", "Cond.Wait", "Unlock", "start", "Cond.Signal", "woken", "Lock", "Unlock", "start", "Cond.Broadcast"}},
	{"Event", func(s *known, _ *T) { s.event.Fire(); s.event.Fired(); s.event.Wait(context.Background()) },
		[]string{"Event.Fire", "Event.Fired", "Event.Wait"}},
	{"Context", func(s *known, h *T) { h.Context().Err() }, []string{"Context.Err"}},
	{"Now", func(s *known, h *T) { h.Now() }, []string{"Now"}},
}

// pinned names the test that pins the scheduling points, for the child processes.
const pinned = "TestSchedulingPoints_AreWhereTheyMustBe"

func TestSchedulingPoints_AreWhereTheyMustBe(t *testing.T) {
	defer func(old time.Duration) { patience = old }(patience)
	patience = 3 * time.Second // where a missing point leaves a real lock to wait for
	for _, p := range points {
		b := &table{}
		r := run(erase(knownModel(p.name, p.body)), options{budget: -1, script: []int{}, table: b})
		var steps []string
		for _, row := range b.rows {
			steps = append(steps, row.op)
		}
		if r.refused != "" || !slices.Equal(steps, p.steps) {
			t.Errorf("%s makes the steps %q, want %q; %s", p.name, steps, p.steps, r.refused)
		}
	}
}

// The explorer is only as good as its hooks. This test takes every call that
// makes a scheduling point out of the hooked types, one at a time, and expects
// the pinned steps to differ.
func TestSchedulingPoints_EveryMissingOneIsNoticed(t *testing.T) {
	dir, err := filepath.Abs("../../pkg/internal/syncx")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_interleave.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no hooked types in %s: %v", dir, err)
	}
	removed := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(source), "\n")
		for i, line := range lines {
			call := strings.TrimSpace(line)
			if !strings.HasPrefix(call, "step(") && !strings.HasPrefix(call, "wait(") && !strings.HasPrefix(call, "explorer.WaitContext(") {
				continue
			}
			removed++
			// The call stays in the source, so that nothing becomes unused.
			lines[i] = strings.Replace(line, call, "if false { "+call+" }", 1)
			out, err := testWith(t, file, strings.Join(lines, ""))
			lines[i] = line
			if err == nil || !strings.Contains(out, "makes the steps") && !strings.Contains(out, "is stuck") {
				t.Errorf("%s:%d: without %s nothing was noticed: %v\n%s", filepath.Base(file), i+1, call, err, out)
			}
		}
	}
	t.Logf("%d scheduling points, each noticed when it is missing", removed)
	if removed < len(points) {
		t.Errorf("only %d scheduling points were found in %s", removed, dir)
	}
}

// testWith runs the pinned test with another text for one file.
func testWith(t *testing.T, file, text string) (output string, err error) {
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "test", "-tags=interleave", "-vet=off", "-overlay="+overlay, "-run=^"+pinned+"$", ".").CombinedOutput()
	return string(out), err
}
