package discovery_test

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func filled(b *testing.B, n int) (*discovery.Directory[int], *discovery.Session[int], []discovery.Entry[int]) {
	d := newDirectory(b, discovery.Config[int]{})
	s := open(b, d, "x")
	list := many(n)
	reconcile(b, s, list)
	return d, s, list
}

func BenchmarkLoad(b *testing.B) {
	d, _, _ := filled(b, 10_000)
	b.Run("goroutines=1", func(b *testing.B) {
		for b.Loop() {
			_ = d.Load()
		}
	})
	b.Run("goroutines=all", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = d.Load()
			}
		})
	})
}

// BenchmarkChange publishes one change of one member among many.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("what=update/n=%d", n), func(b *testing.B) {
			_, s, list := filled(b, n)
			i := 0
			for b.Loop() {
				i++
				if _, err := s.Upsert(list[i%n].ID, -i); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("what=join-drain-leave/n=%d", n), func(b *testing.B) {
			d, s, _ := filled(b, n)
			for b.Loop() {
				for _, do := range []func() (discovery.ChangeResult, error){
					func() (discovery.ChangeResult, error) { return s.Upsert("one", 1) },
					func() (discovery.ChangeResult, error) { return s.Remove("one") },
					func() (discovery.ChangeResult, error) { return d.FinishDrain("one", 0) },
				} {
					if a, err := do(); err != nil || !a.Effect.Changed() {
						b.Fatal(a, err)
					}
				}
			}
		})
	}
}

func BenchmarkReconcile(b *testing.B) {
	b.Run("what=unchanged/n=10000", func(b *testing.B) {
		d, s, list := filled(b, 10_000)
		for b.Loop() {
			if _, err := s.Reconcile(list); err != nil {
				b.Fatal(err)
			}
		}
		if d.Load().Revision() != 1 {
			b.Fatal("a revision was used")
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	d, s, list := filled(b, 10_000)
	older := d.Load()
	if _, err := s.Upsert(list[5000].ID, -1); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if delta, err := d.Load().Delta(older); err != nil || len(delta.Changed) != 1 {
			b.Fatal(delta, err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	d, _, list := filled(b, 10_000)
	i := 0
	for b.Loop() {
		i++
		if _, ok := d.Load().Lookup(list[i%10_000].ID); !ok {
			b.Fatal("not found")
		}
	}
}
