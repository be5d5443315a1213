package poise_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func BenchmarkInFlight(b *testing.B) {
	for _, limit := range []uint64{0, 1000} {
		b.Run(fmt.Sprintf("limit=%d/callers=one", limit), func(b *testing.B) {
			f := poise.NewInFlight(limit)
			b.ReportAllocs()
			for b.Loop() {
				lease, err := f.Acquire()
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
			}
		})
		b.Run(fmt.Sprintf("limit=%d/callers=all", limit), func(b *testing.B) {
			f := poise.NewInFlight(limit)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					lease, err := f.Acquire()
					if err != nil {
						b.Error(err)
						return
					}
					lease.Release()
				}
			})
		})
	}
}
