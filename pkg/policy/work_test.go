package policy_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// How much a pick does is counted by the compiler: with -covermode=count each block of
// statements says how often it ran, and no machine is too slow or too loaded for that.

// countedPolicy names, to the process that is counted, the policy that picks.
const countedPolicy = "POISE_COUNTED_POLICY"

// The work that is counted: picks over so many candidates.
const (
	countedPicks      = 3000
	countedCandidates = 100
)

// counted are policies that walk a list or draw, and what they pick with.
func counted(t testing.TB) map[string]poise.Policy {
	return map[string]poise.Policy{
		"RoundRobin":               newRoundRobin(t, 0),
		"SmoothWeightedRoundRobin": newSmooth(t, 0),
		"WeightedRandom":           newWeightedRandom(t, 1),
		"WeightedLeastRequest":     newWeightedLeastRequest(t, 1),
		"PowerOfTwoChoices":        newPowerOfTwoChoices(t, 1),
		"LeastLoaded":              new(policy.LeastLoaded),
		"WeightedRendezvous":       new(policy.WeightedRendezvous),
	}
}

// Weights are far apart: one candidate has almost all. The picks come in three kinds:
// of anybody, without the heavy one, and without a light one.
//
// It does nothing but in the process that TestPicks_GoOverTheListOnce counts.
func TestPicks_ToBeCounted(t *testing.T) {
	name := os.Getenv(countedPolicy)
	if name == "" {
		return
	}
	weights := slices.Repeat([]uint32{1}, countedCandidates)
	weights[42] = math.MaxUint32
	samples := weighing(t, weights...)
	d := open(t, counted(t)[name], samples)
	for k := range countedPicks {
		q := poise.Query{Key: poise.Uint64Key(uint64(k))}
		switch k % 3 {
		case 1:
			q.Tried = retried(samples, 42)
		case 2:
			q.Tried = retried(samples, 7)
		}
		if got := d.pick(t, q); k%3 == 1 && got == 42 {
			t.Fatal("the heavy one was tried")
		}
	}
}

// No block of a policy runs more often than once for each candidate in each pick,
// however far apart the weights are. Prepare is in the count: it goes over the list a
// few times.
//
// Cases: B09.
func TestPicks_GoOverTheListOnce(t *testing.T) {
	if os.Getenv(countedPolicy) != "" {
		return
	}
	folder := t.TempDir()
	binary := filepath.Join(folder, "counted.test")
	if out, err := exec.Command("go", "test", "-c", "-covermode=count", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	const most = countedPicks*countedCandidates + 100*countedCandidates
	for name := range counted(t) {
		profile := filepath.Join(folder, name)
		cmd := exec.Command(binary, "-test.run=^TestPicks_ToBeCounted$", "-test.coverprofile="+profile)
		cmd.Env = append(os.Environ(), countedPolicy+"="+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		busiest, ran := busiestBlock(t, profile)
		if ran > most {
			t.Errorf("%s: %s ran %d times in %d picks over %d candidates, want at most %d",
				name, busiest, ran, countedPicks, countedCandidates, most)
		}
		if ran < countedPicks/3 {
			t.Errorf("%s: nothing ran more than %d times; was anything counted?", name, ran)
		}
	}
}

// busiestBlock returns the block of a profile that ran most often, and how often.
func busiestBlock(t *testing.T, profile string) (block string, ran int) {
	t.Helper()
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan() // the mode
	for lines.Scan() {
		var statements, count int
		at, rest, _ := strings.Cut(lines.Text(), " ")
		if _, err := fmt.Sscan(rest, &statements, &count); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if count > ran {
			block, ran = filepath.Base(at), count
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return block, ran
}
