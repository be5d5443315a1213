package linearizability

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// streamSeed is the seed of every stream here, so that a length names it.
const streamSeed = 42

// streamOf returns the first n draws, which one goroutine made.
func streamOf(n int) []uint64 {
	draws := make([]uint64, n)
	for i, g := 0, poise.NewGenerator(streamSeed); i < n; i++ {
		draws[i] = g.Uint64()
	}
	return draws
}

// A stream is one object: which draw comes next depends on all of them.
var generator = subject{
	spec: seq.Stream(streamOf(callers * steps)),
	fresh: func(testing.TB) func(*Caller, int, int) {
		g := poise.NewGenerator(streamSeed)
		return func(c *Caller, _, _ int) { c.Call("Draw", nil, func() any { return g.Uint64() }) }
	},
	good: serial(call("Draw", nil, streamOf(3)[0]), call("Draw", nil, streamOf(3)[1]), call("Draw", nil, streamOf(3)[2])),
	mutants: []mutant{
		returns("one draw twice", 1, streamOf(1)[0]),
		without("a draw is lost", 1),
		swapped("a later draw comes first", 1, 2),
	},
}

// Claim: Draws by several goroutines are together the first draws of the stream, each taken once.
func TestGenerator_Linearizable(t *testing.T)     { allowed(t, generator) }
func TestGenerator_Linearizable_Law(t *testing.T) { law(t, generator) }
