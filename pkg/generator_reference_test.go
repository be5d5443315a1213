package poise_test

import (
	"math/big"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// The twin of the bounded draws works with words of any size, in big integers,
// straight from the papers: a word is a number in [0, size), the products are
// divided by size, and a word is drawn again if the last remainder is under
// size mod (the number of outcomes).

// twinBelow returns the number that a word gives, and false if it is drawn again.
func twinBelow(size, word, n *big.Int) (result *big.Int, taken bool) {
	result, low := new(big.Int).DivMod(new(big.Int).Mul(word, n), size, new(big.Int))
	return result, low.Cmp(new(big.Int).Mod(size, n)) >= 0
}

// twinPair returns the ordered pair that a word gives, and false if it is drawn
// again.
func twinPair(size, word, n *big.Int) (first, second *big.Int, taken bool) {
	others := new(big.Int).Sub(n, big.NewInt(1))
	first, low := new(big.Int).DivMod(new(big.Int).Mul(word, n), size, new(big.Int))
	second, low = new(big.Int).DivMod(low.Mul(low, others), size, new(big.Int))
	if second.Cmp(first) >= 0 {
		second.Add(second, big.NewInt(1))
	}
	outcomes := new(big.Int).Mul(n, others)
	return first, second, low.Cmp(new(big.Int).Mod(size, outcomes)) >= 0
}

// Every word of eight bits is tried: each number comes from exactly as many words
// as every other. TestGenerator_LawDrawsAsTheTwin ties the shipped 64-bit code to
// the same formula.
func TestBelowTwin_GivesEachNumberEquallyManyWords(t *testing.T) {
	const words = 256
	size := big.NewInt(words)
	for n := int64(1); n <= words; n++ {
		counts := make([]int64, n)
		for word := range int64(words) {
			if result, taken := twinBelow(size, big.NewInt(word), big.NewInt(n)); taken {
				counts[result.Int64()]++
			}
		}
		for result, count := range counts {
			if count != words/n {
				t.Fatalf("below %d, %d comes from %d words, want %d", n, result, count, words/n)
			}
		}
	}
}

// Every word of eight bits is tried, for every bound whose pairs fit the word, and
// every word of twelve bits for a few bounds.
func TestPairTwin_GivesEachOrderedPairEquallyManyWords(t *testing.T) {
	check := func(words, n int64) {
		size := big.NewInt(words)
		counts := map[[2]int64]int64{}
		for word := range words {
			if first, second, taken := twinPair(size, big.NewInt(word), big.NewInt(n)); taken {
				counts[[2]int64{first.Int64(), second.Int64()}]++
			}
		}
		for first := range n {
			for second := range n {
				want := words / (n * (n - 1))
				if first == second {
					want = 0
				}
				if got := counts[[2]int64{first, second}]; got != want {
					t.Fatalf("words of %d, pairs under %d: (%d,%d) comes from %d, want %d", words, n, first, second, got, want)
				}
			}
		}
	}
	for n := int64(2); n <= 16; n++ {
		check(256, n)
	}
	for _, n := range []int64{2, 3, 7, 13, 32, 61, 64} {
		check(4096, n)
	}
}

// splitMix is an independent SplitMix64, in the shape in which it was published.
type splitMix struct{ x uint64 }

func (s *splitMix) next() uint64 {
	s.x += 0x9e3779b97f4a7c15
	z := s.x
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// seedBefore returns the seed whose first draw is the word.
func seedBefore(word uint64) uint64 { return unmix(word) - 0x9e3779b97f4a7c15 }

var wordSize = new(big.Int).Lsh(big.NewInt(1), 64)

func bigOf(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// requireBelow requires that the shipped Below, whose first draw is the word,
// takes the same words and gives the same number as the twin.
func requireBelow(t failer, word, n uint64) (redrawn int) {
	t.Helper()
	seed := seedBefore(word)
	generator, twin := poise.NewGenerator(seed), splitMix{seed}
	got := generator.Below(n)
	for {
		result, taken := twinBelow(wordSize, bigOf(twin.next()), bigOf(n))
		if taken {
			if got != result.Uint64() {
				t.Fatalf("Below(%d) of word %#x is %d, want %d", n, word, got, result)
			}
			break
		}
		redrawn++
	}
	if got, want := generator.Uint64(), twin.next(); got != want {
		t.Fatalf("Below(%d) of word %#x took another number of draws than %d", n, word, redrawn+1)
	}
	return redrawn
}

// requirePair is requireBelow for Pair.
func requirePair(t failer, word, n uint64) (redrawn int) {
	t.Helper()
	seed := seedBefore(word)
	generator, twin := poise.NewGenerator(seed), splitMix{seed}
	gotFirst, gotSecond := generator.Pair(n)
	for {
		first, second, taken := twinPair(wordSize, bigOf(twin.next()), bigOf(n))
		if taken {
			if gotFirst != first.Uint64() || gotSecond != second.Uint64() {
				t.Fatalf("Pair(%d) of word %#x is %d, %d, want %d, %d", n, word, gotFirst, gotSecond, first, second)
			}
			break
		}
		redrawn++
	}
	if got, want := generator.Uint64(), twin.next(); got != want {
		t.Fatalf("Pair(%d) of word %#x took another number of draws than %d", n, word, redrawn+1)
	}
	return redrawn
}

// wordOfLow returns a word whose product with m has the low word low, which must
// be a multiple of the power of two in m. Of several words it is the one with the
// given high bits.
func wordOfLow(m, low, high uint64) uint64 {
	power := 0
	for m>>power&1 == 0 {
		power++
	}
	word := low >> power * inverse(m>>power)
	if power > 0 {
		word = word&(1<<(64-power)-1) | high<<(64-power)
	}
	return word
}

// lowest returns 2^64 mod m: a word is drawn again if its low product is smaller.
func lowest(m uint64) uint64 { return -m % m }

// Claim: Below returns each number under its bound with equal probability.
//
// The words that decide between drawing again and taking, for each bound.
func TestBelow_DrawsAgainExactlyBelowTheThreshold(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 6, 7, 10, 1000, 4096, 65537, 1<<32 - 5, 1 << 32, 1<<32 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1} {
		step := n & -n // low products are multiples of it
		for high := range uint64(3) {
			for _, low := range []uint64{0, lowest(n), lowest(n) + step, n - step, n} {
				if low+step < low {
					continue
				}
				redrawn := requireBelow(t, wordOfLow(n, low, high), n)
				if (redrawn > 0) != (low < lowest(n)) {
					t.Errorf("bound %d, low product %d: drawn again %d times, threshold %d", n, low, redrawn, lowest(n))
				}
			}
			if lowest(n) >= step {
				if requireBelow(t, wordOfLow(n, lowest(n)-step, high), n) == 0 {
					t.Errorf("bound %d: the last biased word was taken", n)
				}
			}
		}
	}
}

// Claim: Pair returns each ordered pair of two distinct numbers under its bound
// with equal probability.
//
// The words that decide between drawing again and taking, for each bound.
func TestPair_DrawsAgainExactlyBelowTheThreshold(t *testing.T) {
	for _, n := range []uint64{2, 3, 4, 5, 8, 64, 4096, 65537, 1<<31 + 11, 1<<32 - 1, 1 << 32} {
		pairs := n * (n - 1)
		step := pairs & -pairs
		for high := range uint64(3) {
			for _, low := range []uint64{0, lowest(pairs), lowest(pairs) + step, pairs - step, pairs} {
				redrawn := requirePair(t, wordOfLow(pairs, low, high), n)
				if (redrawn > 0) != (low < lowest(pairs)) {
					t.Errorf("bound %d, low product %d: drawn again %d times, threshold %d", n, low, redrawn, lowest(pairs))
				}
			}
			if lowest(pairs) >= step {
				if requirePair(t, wordOfLow(pairs, lowest(pairs)-step, high), n) == 0 {
					t.Errorf("bound %d: the last biased word was taken", n)
				}
			}
		}
	}
}

func TestGenerator_LawDrawsAsTheTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Uint64().Draw(t, "word")
		requireBelow(t, word, max(rapid.Uint64().Draw(t, "bound"), 1))
		requirePair(t, word, rapid.Uint64Range(2, 1<<32).Draw(t, "bound of the pair"))
	})
}
