package sim

import (
	"strings"
	"testing"
)

const openText = `# open bounds
seed 7

tiers/503 ring-hash failed 0.5 the reason of it
busy two-choices goodput 0.9 another
`

func TestOpenList_ExcusesWhatIsListedAndNoWorse(t *testing.T) {
	list, err := ParseOpen(openText)
	if err != nil {
		t.Fatal(err)
	}
	if list.Seed != 7 || len(list.Entries) != 2 || list.Entries[0].Reason != "the reason of it" {
		t.Fatalf("got %+v", list)
	}
	atMost := func(scenario, policy string, value float64) Verdict {
		return Verdict{Scenario: scenario, Policy: policy, Must: Must{AtMost: true, Text: "failed get <= 1%"}, Value: value}
	}
	for _, row := range []struct {
		verdict Verdict
		excused bool
	}{
		{atMost("tiers/503", "ring-hash", 0.6), false},
		{atMost("tiers/503", "two-choices", 0.1), false},
		{atMost("tiers/504", "ring-hash", 0.1), false},
		{atMost("tiers/503", "ring-hash", 0.5), true},
		{Verdict{Scenario: "busy", Policy: "two-choices", Must: Must{Text: "goodput >= 97%"}, Value: 0.8}, false},
		{Verdict{Scenario: "tiers/503", Policy: "ring-hash", Must: Must{AtMost: true, Text: "sent <= 1.2"}, Value: 0.1}, false},
	} {
		if got := list.Excuses(row.verdict); got != row.excused {
			t.Errorf("%+v: excused %t", row.verdict, got)
		}
	}
	ran := map[string]bool{"tiers/503": true, "busy": true}
	if got := list.Needless(ran); len(got) != 1 || got[0].Scenario != "busy" {
		t.Errorf("needless: %+v", got)
	}
	if got := list.Needless(map[string]bool{"tiers/503": true}); got != nil {
		t.Errorf("needless although it did not run: %+v", got)
	}
	if !list.Excuses(Verdict{Scenario: "busy", Policy: "two-choices", Must: Must{Text: "goodput >= 97%"}, Value: 0.95}) {
		t.Error("a lower bound that is nearly reached is not excused")
	}
}

func TestParseOpen_NamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"# x\na b\n":         "line 2: want",
		"a b m c reason\n":   "line 1: worst value",
		"\n\nseed nothing\n": "line 3: seed",
	} {
		if _, err := ParseOpen(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
