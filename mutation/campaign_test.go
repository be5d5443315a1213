package mutation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata anew")

const fixtures = "./mutation/testdata/"

func judged(t *testing.T, name string, ledger *Ledger) *Campaign {
	t.Helper()
	c, err := Run(context.Background(), Config{Root: "..", Package: fixtures + name, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed is a line for each mutant, in order.
func listed(c *Campaign) string {
	var b strings.Builder
	for _, m := range c.Mutants {
		fmt.Fprintf(&b, "%s: %s\n", m.ID, m.Verdict)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range was {
		if !strings.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range is {
		if !strings.Contains(string(want), line) {
			t.Errorf("new: %s", line)
		}
	}
	if len(was) == len(is) && !t.Failed() {
		t.Error("the order is another one")
	}
}

// The fixture has a place for each operator. Its tests notice every change but those
// that only show when goroutines meet.
func TestOperators_EachFindsItsPlacesAndIsSwitched(t *testing.T) {
	c := judged(t, "operators", nil)
	golden(t, filepath.Join("testdata", "operators", "want.txt"), listed(c))
	rules := map[string]int{}
	for _, m := range c.Mutants {
		rules[m.Rule]++
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Operators {
		if !strings.Contains(string(readme), "\n| `"+o.Name+"` | ") {
			t.Errorf("README.md does not say what %s does: %s", o.Name, o.Doc)
		}
		if rules[o.Name] == 0 {
			t.Errorf("the fixture has no place for %s", o.Name)
		}
	}
	n, differ, err := Agree(context.Background(), Config{Root: "..", Package: fixtures + "operators"}, c, 12, 1)
	if err != nil || n != 12 {
		t.Fatalf("%d were judged again: %v", n, err)
	}
	for _, d := range differ {
		t.Errorf("%v\n%s", d, d.Output)
	}
}

func TestRun_GivesEachVerdict(t *testing.T) {
	entry := Entry{
		Package: modulePath + "/mutation/testdata/verdicts", ID: "verdicts.Max: boundary: a > b → a >= b",
		Reason: "of equal ones either is the greater one", Proof: "algebra",
	}
	c := judged(t, "verdicts", &Ledger{Equivalent: []Entry{entry}})
	golden(t, filepath.Join("testdata", "verdicts", "want.txt"), listed(c))
	for _, v := range []Verdict{Killed, TimedOut, Survived, Uncovered, Equivalent} {
		if c.Count(v) == 0 {
			t.Errorf("none is %s", v)
		}
	}
	if len(c.Stale) > 0 {
		t.Errorf("stale: %v", c.Stale)
	}
	for _, m := range c.Mutants {
		if (m.Verdict == Killed || m.Verdict == TimedOut) && !strings.HasPrefix(m.Killer, "Test") {
			t.Errorf("%s is %s by %q", m.ID, m.Verdict, m.Killer)
		}
	}
}

func TestRun_RefusesWhatCannotBeScored(t *testing.T) {
	for name, want := range map[string]error{"red": ErrRed, "empty": ErrNoMutants} {
		if _, err := Run(context.Background(), Config{Root: "..", Package: fixtures + name}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := Run(context.Background(), Config{Root: "..", Package: fixtures + "broken"}); err == nil || !strings.Contains(err.Error(), "broken.go:3") {
		t.Errorf("a package that does not compile: %v", err)
	}
	if _, err := Run(context.Background(), Config{Root: "..", Package: "./mutation/testdata/..."}); err == nil {
		t.Error("several packages were taken for one")
	}
}

func TestLedger_AnEntryThatSaysNothingTrueIsStale(t *testing.T) {
	c := &Campaign{Package: "p", Mutants: []*Mutant{
		{ID: "a", Verdict: Survived}, {ID: "b", Verdict: Killed, Killer: "TestB"}, {ID: "c", Verdict: Uncovered},
	}}
	l := &Ledger{Equivalent: []Entry{{Package: "p", ID: "a", Reason: "so"}, {Package: "p", ID: "b"}, {Package: "p", ID: "d"}, {Package: "q", ID: "e"}}}
	stale := l.apply(c)
	if len(stale) != 2 || !strings.Contains(stale[0], "TestB") || !strings.Contains(stale[1], "no such mutant") {
		t.Errorf("stale: %q", stale)
	}
	if m := c.Mutants[0]; m.Verdict != Equivalent || m.Why != "so" {
		t.Errorf("%+v", m)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.Mutants[0].Verdict = ""
	if err := c.Check(); err == nil {
		t.Error("a mutant without a verdict was not noticed")
	}
}

func TestReadLedger_RefusesWhatIsNoEntry(t *testing.T) {
	for text, want := range map[string]string{
		"[[equivalent]]\nPackage = \"p\"\nID = \"i\"\nProof = \"algebra\"\n":                                                                                                      "lacks",
		"[[equivalent]]\nPackage = \"p\"\nID = \"i\"\nReason = \"r\"\nProof = \"faith\"\n":                                                                                        "no kind of proof",
		"[[equivalent]]\nPackage = \"p\"\nID = \"i\"\nReason = \"r\"\nProof = \"algebra\"\nAuthor = \"me\"\n":                                                                     "nobody reads",
		"[[equivalent]]\nPackage = \"p\"\nID = \"i\"\nReason = \"r\"\nProof = \"algebra\"\n" + "[[equivalent]]\nPackage = \"p\"\nID = \"i\"\nReason = \"r\"\nProof = \"speed\"\n": "twice",
		"equivalent = 1\n": "equivalents.toml",
	} {
		path := filepath.Join(t.TempDir(), "equivalents.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLedger(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadLedger("equivalents.toml"); err != nil {
		t.Error(err)
	}
}
