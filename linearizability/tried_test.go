package linearizability

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// triedStep adds, looks and, if asked to, counts. The numbers grow with the
// steps, so that there is always something new.
func triedStep(counts bool) func(testing.TB) func(*Caller, int, int) {
	return func(testing.TB) func(*Caller, int, int) {
		m := new(poise.Tried)
		return func(c *Caller, step, pick int) {
			number := step/5 + pick%4
			switch id := fmt.Sprint(number); {
			case pick >= 192 && counts:
				c.Call("Len", nil, func() any { return m.Len() })
			case pick >= 96:
				c.Call("Has", number, func() any { return m.Has(id, 0) })
			default:
				c.Call("Add", number, func() any { return m.Add(id, 0) })
			}
		}
	}
}

// Len counts all numbers, so with it the set is one object.
var tried = subject{
	spec:  seq.Marks(),
	fresh: triedStep(true),
	good: serial(call("Has", 1, false), call("Add", 1, true), call("Add", 2, true), call("Add", 1, false),
		call("Len", nil, 2), call("Has", 1, true)),
	mutants: []mutant{
		returns("added twice", 3, true),
		returns("seen before it was added", 0, true),
		returns("not seen after it was added", 5, false),
		returns("count of one too many", 4, 3),
		without("an add is lost", 2),
	},
}

// Claim: Has reports exactly the incarnations that Add was given.
// Claim: Add of an incarnation it already names returns false and changes nothing.
func TestTried_Linearizable(t *testing.T)     { allowed(t, tried) }
func TestTried_Linearizable_Law(t *testing.T) { law(t, tried) }

// Without Len, whether one number is in the set has nothing to do with another.
var triedNumbers = subject{
	spec:  seq.Each(seq.Marks(), func(op seq.Op) int { return op.Arg.(int) }),
	fresh: triedStep(false),
	good:  serial(call("Add", 1, true), call("Add", 2, true), call("Has", 1, true), call("Has", 3, false)),
	mutants: []mutant{
		returns("not seen after it was added", 2, false),
		returns("seen without an add", 3, true),
		swapped("seen before it was added", 0, 2),
	},
}

func TestTried_NumbersLinearizable(t *testing.T)     { allowed(t, triedNumbers) }
func TestTried_NumbersLinearizable_Law(t *testing.T) { law(t, triedNumbers) }
