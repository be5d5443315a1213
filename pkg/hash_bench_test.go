package poise_test

import (
	"fmt"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func BenchmarkHash(b *testing.B) {
	for _, size := range []int{8, 32, 256} {
		text := strings.Repeat("k", size)
		for _, row := range []struct {
			kind string
			key  poise.Key
		}{{"text", poise.StringKey(text)}, {"bytes", poise.BytesKey([]byte(text))}} {
			b.Run(fmt.Sprintf("key=%s/size=%d", row.kind, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					poise.Mix64(uint64(poise.FNVBasis.Key(row.key)))
				}
			})
		}
	}
	b.Run("key=number/size=8", func(b *testing.B) {
		for b.Loop() {
			poise.Mix64(uint64(poise.FNVBasis.Key(poise.Uint64Key(7))))
		}
	})
}

func BenchmarkScore(b *testing.B) {
	w := mustWeight(b, 3)
	for b.Loop() {
		poise.Score(0x0123456789abcdef, w)
	}
}
