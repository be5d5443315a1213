// Explorable.

package poise

import (
	"math/bits"
	"math/rand/v2"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Generator is the library's only source of chance: SplitMix64 (Steele, Lea and
// Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) with
// unbiased bounded draws. Its streams are frozen: a seed gives the same draws on
// every platform and in every later version.
//
// A nil *Generator draws from the Go runtime's generator and does not replay. The
// zero value is the stream of seed 0.
//
// # Contract
//
//   - Equal seeds give equal streams, on every platform and in every version.
//   - Below returns each number under its bound with equal probability.
//   - Pair returns each ordered pair of two distinct numbers under its bound with equal probability.
//   - Draws by several goroutines are together the first draws of the stream, each taken once.
//
// # Cost
//
// A draw is O(1), one atomic addition, and allocates nothing. Below and Pair
// draw again with a probability under bound/2^64 and bound²/2^64.
//
// # Concurrency
//
// Each Uint64 is one atomic step. A Below or Pair that draws again is several.
type Generator struct {
	state syncx.Uint64
}

// gamma is the increment of SplitMix64: odd, nearest to 2^64 over the golden
// ratio.
const gamma = 0x9e3779b97f4a7c15

// NewGenerator returns the stream of the seed. Every seed, 0 included, is as good
// as any other.
func NewGenerator(seed uint64) *Generator {
	g := new(Generator)
	g.state.Store(seed)
	return g
}

// Uint64 returns the next 64 bits.
func (g *Generator) Uint64() uint64 {
	if g == nil {
		return rand.Uint64()
	}
	return Mix64(g.state.Add(gamma))
}

// Seed returns the seed of the stream that is left: NewGenerator of it draws what g
// would draw next. It is 0 for a nil Generator, which does not replay.
func (g *Generator) Seed() uint64 {
	if g == nil {
		return 0
	}
	return g.state.Load()
}

// Below returns a number in [0, n), for n of at least 1. Below(0) returns 0.
//
// The method is Lemire's ("Fast Random Integer Generation in an Interval", ACM
// TOMACS 29, 2019): the high word of a product, drawn again where the low word
// falls into the part that would favour some numbers.
func (g *Generator) Below(n uint64) uint64 {
	high, low := bits.Mul64(g.Uint64(), n)
	if low < n {
		for biased := -n % n; low < biased; {
			high, low = bits.Mul64(g.Uint64(), n)
		}
	}
	return high
}

// Pair returns two distinct numbers in [0, n), in either order, for n from 2 to
// 2^32. For a smaller n it returns 0, 0.
//
// One draw serves both numbers, as in "Batched Ranged Random Integer Generation"
// (Brackett-Rozinsky and Lemire, Software: Practice and Experience 55, 2025).
func (g *Generator) Pair(n uint64) (first, second uint64) {
	if n < 2 {
		return 0, 0
	}
	pairs := n * (n - 1)
	first, low := bits.Mul64(g.Uint64(), n)
	second, low = bits.Mul64(low, n-1)
	if low < pairs {
		for biased := -pairs % pairs; low < biased; {
			first, low = bits.Mul64(g.Uint64(), n)
			second, low = bits.Mul64(low, n-1)
		}
	}
	// second is among the n-1 others: step over first.
	if second >= first {
		second++
	}
	return first, second
}
