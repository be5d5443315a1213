package poise_test

import (
	"math"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: Equal seeds give equal streams, on every platform and in every version.
//
// The values are those that other implementations of SplitMix64 publish.
func TestGenerator_DrawsThePublishedStream(t *testing.T) {
	for _, row := range []struct {
		seed uint64
		want []uint64
	}{
		{0, []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec, 0x1b39896a51a8749b}},
		{1234567, []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}},
	} {
		generator := poise.NewGenerator(row.seed)
		for i, want := range row.want {
			if got := generator.Uint64(); got != want {
				t.Errorf("seed %d, draw %d: %#x, want %#x", row.seed, i, got, want)
			}
		}
	}
}

func TestGenerator_ZeroValueIsTheStreamOfSeedZero(t *testing.T) {
	var generator poise.Generator
	if got := generator.Uint64(); got != 0xe220a8397b1dcdaf {
		t.Errorf("the first draw is %#x", got)
	}
}

func TestGenerator_NilDrawsButDoesNotReplay(t *testing.T) {
	var generator *poise.Generator
	if a, b := generator.Uint64(), generator.Uint64(); a == b {
		t.Errorf("two draws are both %#x", a)
	}
	for range 1000 {
		if got := generator.Below(3); got > 2 {
			t.Fatalf("Below(3) is %d", got)
		}
		if first, second := generator.Pair(3); first == second || first > 2 || second > 2 {
			t.Fatalf("Pair(3) is %d, %d", first, second)
		}
	}
}

func TestGenerator_BoundsWithoutAChoiceGiveZero(t *testing.T) {
	generator := poise.NewGenerator(5)
	for range 100 {
		for n := range uint64(2) {
			if got := generator.Below(n); got != 0 {
				t.Fatalf("Below(%d) is %d", n, got)
			}
			if first, second := generator.Pair(n); first != 0 || second != 0 {
				t.Fatalf("Pair(%d) is %d, %d", n, first, second)
			}
		}
	}
}

func TestGenerator_PairBeyondItsBoundStaysInRange(t *testing.T) {
	generator := poise.NewGenerator(6)
	for _, n := range []uint64{1<<32 + 1, 1 << 33, 1 << 63, math.MaxUint64} {
		for range 100 {
			if first, second := generator.Pair(n); first == second || first >= n || second >= n {
				t.Fatalf("Pair(%d) is %d, %d", n, first, second)
			}
		}
	}
}

// Claim: Draws by several goroutines are together the first draws of the stream,
// each taken once.
func TestGenerator_SharesOneStreamAmongGoroutines(t *testing.T) {
	const goroutines, each = 8, 2000
	generator := poise.NewGenerator(77)
	var wg sync.WaitGroup
	drawn := make([][]uint64, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				drawn[g] = append(drawn[g], generator.Uint64())
			}
		})
	}
	wg.Wait()

	missing := map[uint64]int{}
	alone := poise.NewGenerator(77)
	for range goroutines * each {
		missing[alone.Uint64()]++
	}
	for _, draws := range drawn {
		for _, draw := range draws {
			missing[draw]--
		}
	}
	for draw, count := range missing {
		if count != 0 {
			t.Fatalf("%#x was drawn %d times too few", draw, count)
		}
	}
}

// Claim: Below returns each number under its bound with equal probability.
//
// Finds a bias of 1 %.
func TestBelow_SharesAreEven(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		sampleShares(t, even(n), 0.01, func(seed uint64, samples int, counts []int) {
			generator := poise.NewGenerator(seed)
			for range samples {
				counts[generator.Below(uint64(n))]++
			}
		})
	}
}

// Claim: Pair returns each ordered pair of two distinct numbers under its bound
// with equal probability.
//
// Finds a bias of 2 %.
func TestPair_SharesAreEven(t *testing.T) {
	for _, n := range []int{2, 3, 4} {
		pairs := map[[2]uint64]int{}
		for first := range uint64(n) {
			for second := range uint64(n) {
				if first != second {
					pairs[[2]uint64{first, second}] = len(pairs)
				}
			}
		}
		sampleShares(t, even(len(pairs)), 0.02, func(seed uint64, samples int, counts []int) {
			generator := poise.NewGenerator(seed)
			for range samples {
				first, second := generator.Pair(uint64(n))
				bin, known := pairs[[2]uint64{first, second}]
				if !known {
					t.Fatalf("Pair(%d) is %d, %d", n, first, second)
				}
				counts[bin]++
			}
		})
	}
}

// Finds a bias of 2 %.
func TestScore_SmallestIsInProportionToTheWeight(t *testing.T) {
	one, three := mustWeight(t, 1), mustWeight(t, 3)
	sampleShares(t, []float64{0.25, 0.75}, 0.02, func(seed uint64, samples int, counts []int) {
		for i := range samples {
			key := poise.Uint64Key(seed<<32 + uint64(i))
			a, b := rendezvous(key, "one"), rendezvous(key, "three")
			if poise.Less(poise.Score(b, three), b, poise.Score(a, one), a) {
				counts[1]++
			} else {
				counts[0]++
			}
		}
	})
}

func TestGenerator_SeedIsThatOfTheRest(t *testing.T) {
	g := poise.NewGenerator(7)
	for range 10 {
		rest := poise.NewGenerator(g.Seed())
		if got, want := rest.Uint64(), g.Uint64(); got != want {
			t.Errorf("the rest begins with %d, want %d", got, want)
		}
	}
	if seed := (*poise.Generator)(nil).Seed(); seed != 0 {
		t.Errorf("a nil Generator has the seed %d", seed)
	}
}
