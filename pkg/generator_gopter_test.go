package poise_test

import (
	"fmt"
	"testing"

	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func TestGenerator_LawsByGopter(t *testing.T) {
	laws := gopterLaws()
	// Bounds of all magnitudes: a width and a word, of which so many bits count.
	bound := func(width uint8, word uint64) uint64 { return word >> (width % 64) }

	laws.Property("Below draws as the twin", prop.ForAll(
		func(word uint64, width uint8, bits uint64) string {
			return lawfully(func(t failer) { requireBelow(t, word, max(bound(width, bits), 1)) })
		}, gen.UInt64(), gen.UInt8(), gen.UInt64()))

	laws.Property("Pair draws as the twin", prop.ForAll(
		func(word uint64, width uint8, bits uint64) string {
			return lawfully(func(t failer) { requirePair(t, word, max(bound(width, bits)>>32, 2)) })
		}, gen.UInt64(), gen.UInt8(), gen.UInt64()))

	laws.Property("a seed replays", prop.ForAll(
		func(seed uint64, bounds []uint32) string {
			a, b := poise.NewGenerator(seed), poise.NewGenerator(seed)
			for i, n := range bounds {
				if x, y := a.Below(uint64(n)), b.Below(uint64(n)); x != y {
					return fmt.Sprintf("draw %d is %d and %d", i, x, y)
				}
			}
			return ""
		}, gen.UInt64(), gen.SliceOf(gen.UInt32())))
	gopterRun(t, laws)
}
