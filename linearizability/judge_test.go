package linearizability

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// A specification in which a call may lead to several states, which none of the
// library's has today: Flip may or may not turn the coin.
var coin = seq.Define("coin", false, func(up bool, op seq.Op) []bool {
	if op.Name == "Flip" {
		return []bool{false, true}
	}
	return seq.One(op.Result == up, up)
})

func TestJudge_FollowsEveryStateThatACallMayLeadTo(t *testing.T) {
	for _, c := range []struct {
		name string
		h    seq.History
		want Verdict
	}{
		{"unseen", serial(call("Flip", nil, nil)), Ok},
		{"up", serial(call("Flip", nil, nil), call("Look", nil, true), call("Look", nil, true)), Ok},
		{"down", serial(call("Flip", nil, nil), call("Look", nil, false)), Ok},
		{"both", serial(call("Flip", nil, nil), call("Look", nil, true), call("Look", nil, false)), Illegal},
		{"up unflipped", serial(call("Look", nil, true), call("Flip", nil, nil)), Illegal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(coin, c.h); got != c.want || seq.Check(coin, c.h) != (c.want == Ok) {
				t.Errorf("Judge = %s, want %s", got, c.want)
			}
		})
	}
}

func TestJudge_TakesEqualStampsAsOverlap(t *testing.T) {
	h := seq.History{
		{Task: 0, Name: "Acquire", Arg: 0, Result: true, Call: 0, Return: 1},
		{Task: 1, Name: "Current", Result: 0, Call: 1, Return: 2},
	}
	if got := Judge(seq.Leases(1), h); got != Ok {
		t.Errorf("Judge = %s for calls that touch", got)
	}
	h[1].Call = 2
	if got := Judge(seq.Leases(1), h); got != Illegal {
		t.Errorf("Judge = %s for calls in sequence", got)
	}
}

// specifications are all that files name: those of the models, and those of here.
func specifications(t *testing.T) []seq.Spec {
	all := []seq.Spec{
		seq.Stream(streamOf(6)),
		seq.Turns([]bool{true, false, true}, 0), seq.Turns([]bool{true, true, true}, 0), seq.Turns([]bool{true, true, false, true}, 0),
		seq.SmoothTurns([3]uint32{2, 1}), seq.SmoothTurns([3]uint32{2, 1}, [3]uint32{1, 3}),
		seq.SmoothTurns([3]uint32{3, 2, 1}),
		seq.Leases(1), seq.Leases(2),
		seq.Peak(1), seq.Peak(8),
		seq.Marks(),
		seq.Slots(0), seq.Slots(1),
		seq.Probing(quickProbing), seq.Probing(steadyProbing),
		seq.Circuit(seq.CircuitBounds{Failures: 1, Trials: 1, Successes: 1, Hold: 5}),
		seq.Outcomes(2, seq.Lasting), seq.Outcomes(1, seq.Halving), seq.Runs(2, 9, 2),
		seq.Budget(60, 1),
		seq.Members(0b1), seq.Members(0b11),
		seq.Warming(),
		seq.Scoped("two localities", []int{0, 2, 3, 2}, func(pick int) int { return pick / 2 }),
		locality(t).spec,
	}
	for k, d := range drawing {
		all = append(all, seq.Picks(d.name+" over three", []int{1, 0, 2, 1}), drawn(t, k).spec)
	}
	for _, s := range []subject{generator, roundRobin, smooth, inFlight, lease, peakSamples, peakLoad, timedLeases, tried, triedNumbers, slots, circuit, activeHealth, retryBudget, board, shared, slowStart, outcomeWindow, decayingWindow, failureRuns} {
		all = append(all, s.spec)
	}
	return all
}

func named(t *testing.T, name string) seq.Spec {
	for _, s := range specifications(t) {
		if s.Name() == name {
			return s
		}
	}
	t.Fatalf("the specification %q is not among those of judge_test.go; add it", name)
	return nil
}

// A history that went wrong once, and was put into testdata, keeps its verdict.
func TestJudge_KeepsTheVerdictsOfKeptHistories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history is kept: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			k, err := Read(file)
			if err != nil {
				t.Fatal(err)
			}
			new(tally).judge(t, named(t, k.Spec), k.History, k.Verdict)
		})
	}
}

func TestRead_RefusesWhatIsNoHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte(`{"history":[{"arg":{"float":1}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + ".missing"} {
		if k, err := Read(path); err == nil {
			t.Errorf("Read = %v", k)
		}
	}
}

func TestRecord_MeetLetsNobodyGoAhead(t *testing.T) {
	h := Record(1, callers, func(c *Caller) {
		for round := range 5 {
			c.Meet()
			c.Call("round", round, func() any { return nil })
		}
	})
	for _, a := range h {
		for _, b := range h {
			if a.Arg.(int) < b.Arg.(int) && a.Return > b.Call {
				t.Errorf("%v began before %v had returned", b, a)
			}
		}
	}
	if len(h) != 5*callers {
		t.Errorf("%d calls were recorded", len(h))
	}
}
