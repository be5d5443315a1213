//go:build interleave && race

package explore

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// raceVariable makes a process explore a planted race itself, and racePlanted is
// what it then prints.
const (
	raceVariable = "POISE_EXPLORE_RACE"
	racePlanted  = "explore: the planted data race was found, schedule "
)

// findRace explores a racy program in a process of its own: the detector reports
// a race once per process, and the process fails for it.
func findRace(t *testing.T, p program) {
	t.Helper()
	if os.Getenv(raceVariable) != "" {
		if f, found := run(p, options{reduce: true, budget: -1, stopAt: "race"}).failures["race"]; found {
			os.Stderr.WriteString(racePlanted + f.schedule + "\n")
		}
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	child.Env = append(os.Environ(), raceVariable+"=1")
	out, err := child.CombinedOutput()
	_, schedule, found := strings.Cut(string(out), racePlanted)
	if err == nil || !found || !strings.Contains(string(out), "WARNING: DATA RACE") {
		t.Errorf("model %s: the planted data race was not found: %v\n%s", p.name, err, out)
		return
	}
	schedule, _, _ = strings.Cut(schedule, "\n")
	t.Logf("model %s: data race found, schedule %s", p.name, schedule)
}
