package poise_test

import (
	"math"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

func anyWeight() *rapid.Generator[poise.Weight] {
	return rapid.Custom(func(t *rapid.T) poise.Weight {
		w, err := poise.NewWeight(rapid.Uint32Range(1, math.MaxUint32).Draw(t, "weight"))
		if err != nil {
			t.Fatal(err)
		}
		return w
	})
}

func anyKey() *rapid.Generator[poise.Key] {
	return rapid.OneOf(
		rapid.Map(rapid.String(), poise.StringKey),
		rapid.Map(rapid.SliceOf(rapid.Byte()), poise.BytesKey),
		rapid.Map(rapid.Uint64(), poise.Uint64Key),
		rapid.Just(poise.Key{}),
	)
}

func TestFNV_LawIsTheDefinitionByteByByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if got, want := poise.FNVBasis.Raw(string(bytes)), bytesOf(bytes...); uint64(got) != want {
			t.Fatalf("Raw: %016x, want %016x", uint64(got), want)
		}
		if got, want := poise.FNVBasis.String(string(bytes)), bytesOf(append(bytes, 0xff)...); uint64(got) != want {
			t.Fatalf("String: %016x, want %016x", uint64(got), want)
		}
	})
}

func TestFNV_LawContinuingIsHashingTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if poise.FNVBasis.Raw(a).Raw(b) != poise.FNVBasis.Raw(a+b) {
			t.Fatal("the state after a, continued with b, is not the state after ab")
		}
	})
}

func TestFNV_LawKeyHashesTheAppendedStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := anyKey().Draw(t, "key")
		before := rapid.SliceOf(rapid.Byte()).Draw(t, "before")
		stream := key.AppendStream(before)
		if got, want := poise.FNVBasis.Raw(string(before)).Key(key), bytesOf(stream...); uint64(got) != want {
			t.Fatalf("Key: %016x, want %016x of stream %x", uint64(got), want, stream)
		}
	})
}

// unmix undoes Mix64.
func unmix(v uint64) uint64 {
	v ^= v>>31 ^ v>>62
	v *= inverse(0x94d049bb133111eb)
	v ^= v>>27 ^ v>>54
	v *= inverse(0xbf58476d1ce4e5b9)
	return v ^ v>>30 ^ v>>60
}

// inverse returns the x for which odd*x is 1 modulo 2^64, by Newton's method.
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

// Cases: H3.
func TestMix64_LawIsABijection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v")
		if got := unmix(poise.Mix64(v)); got != v {
			t.Fatalf("undoing the mix of %x gives %x", v, got)
		}
	})
}

// Cases: H7.
func TestScore_LawIsNeverNaNNorNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash, w := rapid.Uint64().Draw(t, "hash"), anyWeight().Draw(t, "w")
		if score := poise.Score(hash, w); !(score >= 0 && score <= 36.74) {
			t.Fatalf("Score is %v", score)
		}
	})
}

// Cases: H10.
func TestScore_LawEqualWeightsRankByHashAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWeight().Draw(t, "w")
		a := rapid.Uint64().Draw(t, "a")
		b := rapid.OneOf(
			rapid.Uint64(),
			rapid.Map(rapid.Uint64Range(0, 1<<13), func(d uint64) uint64 { return a + d }),
		).Draw(t, "b")
		if got := poise.Less(poise.Score(a, w), a, poise.Score(b, w), b); got != (a > b) {
			t.Fatalf("Less is %t for hashes %x and %x of weight %v", got, a, b, w)
		}
	})
}

func TestScore_LawMoreWeightNeverScoresWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.Uint64().Draw(t, "hash")
		a, b := anyWeight().Draw(t, "a"), anyWeight().Draw(t, "b")
		if a.Value() < b.Value() && poise.Score(hash, a) < poise.Score(hash, b) {
			t.Fatalf("weight %v scores better than %v", a, b)
		}
	})
}

func TestLess_LawIsAStrictOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few values, so that ties occur.
		pair := func(name string) (float64, uint64) {
			return float64(rapid.IntRange(0, 2).Draw(t, name)), rapid.Uint64Range(0, 2).Draw(t, name+" hash")
		}
		a, ah := pair("a")
		b, bh := pair("b")
		c, ch := pair("c")
		ab, ba := poise.Less(a, ah, b, bh), poise.Less(b, bh, a, ah)
		if ab && ba || !ab && !ba && (a != b || ah != bh) {
			t.Fatalf("of two, not exactly one wins: %t, %t", ab, ba)
		}
		if ab && poise.Less(b, bh, c, ch) && !poise.Less(a, ah, c, ch) {
			t.Fatal("not transitive")
		}
	})
}
