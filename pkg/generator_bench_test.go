package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func BenchmarkGenerator(b *testing.B) {
	for _, source := range []struct {
		name      string
		generator *poise.Generator
	}{{"seeded", poise.NewGenerator(1)}, {"runtime", nil}} {
		b.Run("draw=Below/source="+source.name, func(b *testing.B) {
			for b.Loop() {
				source.generator.Below(1000)
			}
		})
		b.Run("draw=Pair/source="+source.name, func(b *testing.B) {
			for b.Loop() {
				source.generator.Pair(1000)
			}
		})
	}
}
