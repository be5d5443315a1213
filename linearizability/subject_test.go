package linearizability

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// How much is recorded: steps of one caller, and histories of one subject.
const (
	callers   = 4
	steps     = 60
	histories = 250
)

// subject is a shared type of the library with its specification.
type subject struct {
	spec seq.Spec
	// fresh makes the type and returns what a caller does in one step: one call, of
	// a kind that pick decides.
	fresh func(testing.TB) func(c *Caller, step, pick int)

	good    seq.History // allowed
	mutants []mutant    // of good; none is allowed
}

// mutant is a history with one thing wrong.
type mutant struct {
	name  string
	wrong func(seq.History) seq.History
}

// allowed records histories of the subject from goroutines and judges them; then
// it judges the good history and its mutants.
func allowed(t *testing.T, s subject) {
	t.Run("goroutines", func(t *testing.T) {
		var sum tally
		for seed := range uint64(histories) {
			step := s.fresh(t)
			h := Record(seed, callers, func(c *Caller) {
				for i := range steps {
					if i%3 == 0 {
						c.Meet()
					}
					step(c, i, c.IntN(256))
				}
			})
			sum.judge(t, s.spec, h, Ok)
		}
		sum.log(t, "goroutine")
	})
	if yields { // the rest is the same in both builds
		return
	}
	t.Run("good", func(t *testing.T) { new(tally).judge(t, s.spec, s.good, Ok) })
	for _, m := range s.mutants {
		t.Run("mutant="+m.name, func(t *testing.T) {
			new(tally).judge(t, s.spec, m.wrong(slices.Clone(s.good)), Illegal)
		})
	}
	t.Logf("counts: specifications=1 mutated-histories=%d", len(s.mutants))
}

// law has rapid write programs for up to four goroutines and judges what they
// did. The checker of spec/seq must agree, about the history and about one in
// which two calls of the same kind have exchanged their results.
func law(t *testing.T, s subject) {
	var sum tally
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		program := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 255), 1, 12), 2, callers).Draw(r, "program")
		step := s.fresh(t)
		h := Record(seed, len(program), func(c *Caller) {
			for i, pick := range program[c.Number] {
				step(c, i, pick)
			}
		})
		sum.judge(r, s.spec, h, Ok)
		agree(r, s.spec, h)
		if i, j, found := exchangeable(h); found {
			h[i].Result, h[j].Result = h[j].Result, h[i].Result
			agree(r, s.spec, h)
		}
	})
	sum.log(t, "property")
}

func agree(r *rapid.T, spec seq.Spec, h seq.History) {
	if got, want := Judge(spec, h) == Ok, seq.Check(spec, h); got != want {
		r.Fatalf("Porcupine allows: %t; spec/seq allows: %t\n%v", got, want, h)
	}
}

// exchangeable returns two calls of one method with different results.
func exchangeable(h seq.History) (i, j int, found bool) {
	for i := range h {
		for j := range h[:i] {
			if h[i].Name == h[j].Name && h[i].Result != h[j].Result {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// kept is where histories go whose verdict is not as it should be.
var kept = filepath.Join("..", "out", "linearizability")

// tally adds up what was judged.
type tally struct {
	histories, operations, overlapping, width int
	took                                      []time.Duration
}

// judge fails the test, and keeps the history, unless its verdict is as wanted.
func (y *tally) judge(t rapid.TB, spec seq.Spec, h seq.History, want Verdict) {
	t.Helper()
	began := time.Now()
	got := Judge(spec, h)
	y.took = append(y.took, time.Since(began))
	y.histories++
	y.operations += len(h)
	y.overlapping += h.Overlapping()
	y.width = max(y.width, h.Width())
	if got == want {
		return
	}
	path, err := Keep(kept, t.Name(), spec, h)
	if err != nil {
		t.Fatalf("the history is %s for %s, want %s, and could not be kept: %v\n%v", got, spec.Name(), want, err, h)
	}
	t.Fatalf("the history is %s for %s, want %s; it is kept as %s.json and .html, below out", got, spec.Name(), want, path)
}

// log prints the figures: what is the same in every run, and what is not.
func (y *tally) log(t testing.TB, source string) {
	if yields {
		source = "yielding-" + source
	}
	slices.Sort(y.took)
	at := func(percent int) float64 {
		return float64(y.took[(len(y.took)-1)*percent/100].Microseconds()) / 1000
	}
	t.Logf("counts: %s-histories=%d", source, y.histories)
	t.Logf("timing: %s-operations=%d %s-overlapping=%d max-%s-concurrency=%d max-check-p50-ms=%.2f max-check-p99-ms=%.2f",
		source, y.operations, source, y.overlapping, source, y.width, at(50), at(99))
}

// serial returns the calls one after the other.
func serial(ops ...seq.Op) seq.History {
	for i := range ops {
		ops[i].Call, ops[i].Return = int64(2*i), int64(2*i+1)
	}
	return ops
}

func call(name string, arg, result any) seq.Op { return seq.Op{Name: name, Arg: arg, Result: result} }

// returns changes the result of call i.
func returns(name string, i int, result any) mutant {
	return mutant{name, func(h seq.History) seq.History {
		if h[i].Result == result {
			panic(fmt.Sprintf("call %d returns %v already", i, result))
		}
		h[i].Result = result
		return h
	}}
}

// without drops call i.
func without(name string, i int) mutant {
	return mutant{name, func(h seq.History) seq.History { return slices.Delete(h, i, i+1) }}
}

// swapped exchanges the times of calls i and j.
func swapped(name string, i, j int) mutant {
	return mutant{name, func(h seq.History) seq.History {
		h[i].Call, h[j].Call = h[j].Call, h[i].Call
		h[i].Return, h[j].Return = h[j].Return, h[i].Return
		return h
	}}
}
