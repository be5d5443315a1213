package poise_test

import (
	"fmt"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func genKey() gopter.Gen {
	return gopter.CombineGens(gen.UInt8Range(0, 3), gen.AnyString(), gen.UInt64()).Map(func(v []any) poise.Key {
		switch text := v[1].(string); v[0].(uint8) {
		case 0:
			return poise.StringKey(text)
		case 1:
			return poise.BytesKey([]byte(text))
		case 2:
			return poise.Uint64Key(v[2].(uint64))
		}
		return poise.Key{}
	})
}

// Cases: H1, H3, H7, H8, H10.
func TestHash_LawsByGopter(t *testing.T) {
	laws := gopterLaws()
	laws.Property("a text is hashed byte by byte, then 0xff", prop.ForAll(
		func(text string) string {
			if got, want := poise.FNVBasis.String(text), bytesOf(append([]byte(text), 0xff)...); uint64(got) != want {
				return fmt.Sprintf("%x, want %x", uint64(got), want)
			}
			return ""
		}, gen.AnyString()))

	laws.Property("a key is hashed by its stream, wherever it stands", prop.ForAll(
		func(start uint64, key poise.Key) string {
			h := poise.FNV(start)
			for _, b := range key.AppendStream(nil) {
				h = h.Byte(b)
			}
			if got := poise.FNV(start).Key(key); got != h {
				return fmt.Sprintf("%x, want %x", uint64(got), uint64(h))
			}
			return ""
		}, gen.UInt64(), genKey()))

	laws.Property("the mix can be undone", prop.ForAll(
		func(v uint64) bool { return unmix(poise.Mix64(v)) == v && poise.Mix64(unmix(v)) == v },
		gen.UInt64()))

	laws.Property("the score is the logarithm, within 5e-14", prop.ForAll(
		func(v uint64, shift uint8) bool { return scoreError(v>>(shift%64)) < 5e-14 },
		gen.UInt64(), gen.UInt8()))

	laws.Property("equal weights rank by hash alone", prop.ForAll(
		func(v uint64, near int16, w uint32) string {
			weight, err := poise.NewWeight(max(w, 1))
			if err != nil {
				return err.Error()
			}
			other := v + uint64(int64(near))
			if got := poise.Less(poise.Score(v, weight), v, poise.Score(other, weight), other); got != (v > other) {
				return fmt.Sprintf("Less is %t for %x and %x", got, v, other)
			}
			return ""
		}, gen.UInt64(), gen.Int16(), gen.UInt32()))
	gopterRun(t, laws)
}
