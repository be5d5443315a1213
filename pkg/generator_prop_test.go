package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// Claim: Equal seeds give equal streams, on every platform and in every version.
func TestGenerator_LawEqualSeedsDrawEqually(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := poise.NewGenerator(seed), poise.NewGenerator(seed)
		for range rapid.IntRange(1, 20).Draw(t, "draws") {
			n := rapid.Uint64Range(0, 1<<32).Draw(t, "bound")
			a1, a2 := a.Pair(n)
			b1, b2 := b.Pair(n)
			if a.Below(n) != b.Below(n) || a1 != b1 || a2 != b2 || a.Uint64() != b.Uint64() {
				t.Fatal("two generators of one seed differ")
			}
		}
	})
}

func TestGenerator_LawDrawsStayUnderTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		generator := poise.NewGenerator(rapid.Uint64().Draw(t, "seed"))
		n := rapid.Uint64Min(1).Draw(t, "bound")
		if got := generator.Below(n); got >= n {
			t.Fatalf("Below(%d) is %d", n, got)
		}
		n = rapid.Uint64Min(2).Draw(t, "bound of the pair")
		if first, second := generator.Pair(n); first >= n || second >= n || first == second {
			t.Fatalf("Pair(%d) is %d, %d", n, first, second)
		}
	})
}

func TestGenerator_LawDrawsTheReferenceStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		generator, twin := poise.NewGenerator(seed), splitMix{seed}
		for range 10 {
			if got, want := generator.Uint64(), twin.next(); got != want {
				t.Fatalf("%x, want %x", got, want)
			}
		}
	})
}
