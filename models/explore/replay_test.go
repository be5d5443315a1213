//go:build interleave && !race

package explore

import (
	"slices"
	"strings"
	"testing"
)

func TestDecode_ReadsStepsCountsAndChoices(t *testing.T) {
	for schedule, want := range map[string][]int{
		"":        {},
		"a":       {0},
		"a3b_1a":  {0, 0, 0, 1, 1, 0},
		"_0_1h2a": {0, 1, 7, 7, 0},
	} {
		if got, err := decode(schedule); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v, want %v", schedule, got, err, want)
		}
	}
	for _, bad := range []string{"3a", "_", "z", "a b", "a-1"} {
		if _, err := decode(bad); err == nil {
			t.Errorf("%q was read as a schedule", bad)
		}
	}
}

func TestReplay_ReachesTheVerdictOfEveryKnownFault(t *testing.T) {
	for _, c := range knownBad {
		t.Run(c.model.Name, func(t *testing.T) {
			p := erase(c.model)
			for _, reduce := range []bool{true, false} {
				f := run(p, options{reduce: reduce, budget: -1, stopAt: c.verdict}).failures[c.verdict]
				least, _ := minimise(p, f)
				for _, schedule := range []string{f.schedule, least.schedule} {
					script, err := decode(schedule)
					if err != nil {
						t.Fatal(err)
					}
					again := run(p, options{budget: -1, script: script, table: &table{}})
					if g, found := again.failures[c.verdict]; !found || g.schedule != schedule {
						t.Errorf("replaying %s gave %v", schedule, keys(again.failures))
					}
				}
			}
		})
	}
}

func TestMinimise_FindsTheFewestPreemptions(t *testing.T) {
	for name, want := range map[string]string{"lost update": "ab2a", "ABA": "a2b9a", "missed wake-up": "a2b2a2"} {
		i := slices.IndexFunc(knownBad, func(c struct {
			verdict string
			model   Model[*known]
		}) bool {
			return c.model.Name == name
		})
		c := knownBad[i]
		p := erase(c.model)
		f := run(p, options{reduce: true, budget: -1}).failures[c.verdict]
		if got, _ := minimise(p, f); got.schedule != want {
			t.Errorf("%s: minimised to %s, want %s", name, got.schedule, want)
		}
	}
}

func TestReplay_RefusesAScheduleOfAnotherModel(t *testing.T) {
	r := run(erase(knownBad[0].model), options{budget: -1, script: []int{0, 0, 0}, table: &table{}})
	if !strings.Contains(string(r.refused), "does not fit") {
		t.Errorf("refused with %q", r.refused)
	}
}
