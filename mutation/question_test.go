package mutation

import (
	"strings"
	"testing"
)

// The lines are those of the fixture.
func TestAsk_AnswersWithTheFirstChangeThatTheTestsNotice(t *testing.T) {
	const file = "mutation/testdata/verdicts/verdicts.go"
	code := func(from, to int) []Lines { return []Lines{{file, from, to}} }
	answers, err := Ask(t.Context(), Config{Root: "..", Package: fixtures + "verdicts"}, []Question{
		{"noticed", code(5, 5), []string{"TestNoticed"}},
		{"a result that is zero is asked last", code(8, 8), []string{"TestMissed"}},
		{"not by this test", code(5, 5), []string{"TestMax", "TestEarly"}},
		{"not in these lines", code(1, 4), []string{"TestNoticed"}},
		{"in another file", []Lines{{"mutation/testdata/verdicts/other.go", 1, 99}}, []string{"TestNoticed"}},
		{"only without an end", code(22, 22), []string{"TestEndless"}},
		{"the same by another test", code(5, 5), []string{"TestMax", "TestNoticed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		mutant, killer string
		tried, reached int
	}{
		{"arithmetic: a + b → a - b", "TestNoticed", 1, 2},
		{"zero return: a - b → zero value", "TestMissed", 2, 2},
		{},
		{},
		{},
		{"literal: 1 → 1 + 1", "TestEndless", 4, 4},
		{"arithmetic: a + b → a - b", "TestNoticed", 1, 2},
	} {
		got := answers[i]
		if (got.Mutant != nil) != (want.mutant != "") || got.Tried != want.tried || got.Reached != want.reached {
			t.Errorf("%s: %+v, want %+v", got.ID, got, want)
		} else if m := got.Mutant; m != nil && (!strings.HasSuffix(m.ID, want.mutant) || m.Killer != want.killer || m.Verdict != Killed) {
			t.Errorf("%s: %+v, want %+v", got.ID, m, want)
		}
	}
}

func TestAsk_RefusesATestThatIsNotThere(t *testing.T) {
	_, err := Ask(t.Context(), Config{Root: "..", Package: fixtures + "verdicts"}, []Question{{"lost", nil, []string{"TestLost"}}})
	if err == nil || !strings.Contains(err.Error(), "TestLost") {
		t.Errorf("got %v", err)
	}
}

// A test that fails without any change notices none.
func TestAsk_BelievesNoTestThatFailsAnyway(t *testing.T) {
	answers, err := Ask(t.Context(), Config{Root: "..", Package: fixtures + "red"}, []Question{
		{"red", []Lines{{"mutation/testdata/red/red.go", 1, 99}}, []string{"TestSum"}},
	})
	if err != nil || answers[0].Mutant != nil || answers[0].Reached != 0 {
		t.Errorf("got %+v, %v", answers, err)
	}
}
