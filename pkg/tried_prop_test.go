package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// Claim: Has reports exactly the incarnations that Add was given.
//
// Claim: Add of an incarnation it already names returns false and changes nothing.
func TestTried_LawIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tried, twin := new(poise.Tried), map[life]bool{}
		anyLife := func() life {
			return life{
				rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(t, "id"),
				rapid.Uint64Range(0, 4).Draw(t, "number"),
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				l := anyLife()
				if got := tried.Add(l.id, l.number); got == twin[l] {
					t.Fatalf("Add of %v is %t", l, got)
				}
				twin[l] = true
			},
			"has": func(t *rapid.T) {
				if l := anyLife(); tried.Has(l.id, l.number) != twin[l] {
					t.Fatalf("Has of %v is %t", l, !twin[l])
				}
			},
			"": func(t *rapid.T) {
				if tried.Len() != len(twin) {
					t.Fatalf("the length is %d, want %d", tried.Len(), len(twin))
				}
			},
		})
	})
}
