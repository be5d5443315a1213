package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

func TestRoundRobin_KeepsTheLawsOfPolicies(t *testing.T) {
	t.Run("zero value", func(t *testing.T) {
		policytest.Run(t, policytest.Suite{New: func() poise.Policy { return new(policy.RoundRobin) }})
	})
	t.Run("seeded", func(t *testing.T) {
		policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newRoundRobin(t, 7) }})
	})
}

func TestRandom_KeepsTheLawsOfPolicies(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newRandom(t, 7) }})
}

func TestLeastLoaded_KeepsTheLawsOfPolicies(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return new(policy.LeastLoaded) }})
}

func TestPowerOfTwoChoices_KeepsTheLawsOfPolicies(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newPowerOfTwoChoices(t, 7) }})
}

func TestRendezvous_KeepsTheLawsOfPolicies(t *testing.T) {
	short := func(stream []byte) uint64 { return uint64(len(stream) % 3) }
	for name, cfg := range map[string]func() policy.RendezvousConfig{
		"zero value":  func() policy.RendezvousConfig { return policy.RendezvousConfig{} },
		"custom hash": func() policy.RendezvousConfig { return policy.RendezvousConfig{Hash: short} },
		"round robin without key": func() policy.RendezvousConfig {
			return policy.RendezvousConfig{NoKey: new(policy.RoundRobin)}
		},
		"power of two without key": func() policy.RendezvousConfig {
			return policy.RendezvousConfig{Hash: short, NoKey: newPowerOfTwoChoices(t, 3)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, policytest.Suite{New: func() poise.Policy { return newRendezvous(t, cfg()) }})
		})
	}
}

// unlisted returns the policy types of the sources that have no test
// TestX_KeepsTheLawsOfPolicies.
func unlisted(sources, tests string) []string {
	var missing []string
	for _, found := range regexp.MustCompile(`var _ poise\.Policy = \(\*(\w+)\)\(nil\)`).FindAllStringSubmatch(sources, -1) {
		if !strings.Contains(tests, "func Test"+found[1]+"_KeepsTheLawsOfPolicies(t *testing.T) {") {
			missing = append(missing, found[1])
		}
	}
	return missing
}

func TestEveryPolicyType_IsHeldToTheLawsOfPolicies(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	var sources, tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			tests.Write(text)
		} else {
			sources.Write(text)
		}
	}
	if types := strings.Count(sources.String(), "var _ poise.Policy = "); types < 5 {
		t.Errorf("found %d policy types, want at least the first five", types)
	}
	for _, name := range unlisted(sources.String(), tests.String()) {
		t.Errorf("%s has no test Test%s_KeepsTheLawsOfPolicies", name, name)
	}
	if planted := unlisted("var _ poise.Policy = (*Forgotten)(nil)", tests.String()); len(planted) != 1 {
		t.Errorf("a planted policy without a test is not found: %v", planted)
	}
}

func TestEveryPolicy_RefusesANilView(t *testing.T) {
	for name, p := range every(t) {
		_, err := p.Prepare(nil)
		checkFieldError(t, name, err, "view", poise.ErrNilView)
	}
}

func TestLoadAwarePolicies_RefuseACandidateWithoutTracker(t *testing.T) {
	samples := backends(3)
	samples[1].Load = nil
	samples[1].Status = poise.Draining // not eligible, and still refused
	v := viewOf(t, samples)
	for _, name := range []string{"LeastLoaded", "PowerOfTwoChoices"} {
		picker, err := all(t)[name].Prepare(v)
		if picker != nil {
			t.Errorf("%s: a Picker came with the error", name)
		}
		checkFieldError(t, name, err, "candidates[1].Load", poise.ErrNilTracker)
	}
}
