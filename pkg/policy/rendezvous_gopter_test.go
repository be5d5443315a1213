package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestRendezvous_LawsOfItsOwners(t *testing.T) {
	// owner of the key among those of ten whom the set holds; "" for none.
	owner := func(key uint64, set []bool) string {
		var samples []poise.Sample
		for i, s := range backends(len(set)) {
			if set[i] {
				samples = append(samples, s)
			}
		}
		d := open(t, new(policy.Rendezvous), samples)
		index, err := d.try(poise.Query{Key: poise.Uint64Key(key)})
		if err != nil {
			return ""
		}
		return samples[index].ID
	}
	union := func(a, b []bool) []bool {
		u := slices.Clone(a)
		for i := range u {
			u[i] = u[i] || b[i]
		}
		return u
	}
	sets := gen.SliceOfN(10, gen.Bool())

	algebra(t, func(laws *gopter.Properties) {
		laws.Property("the owner in a union owns in the part that holds it", prop.ForAll(
			func(key uint64, a, b []bool) bool {
				both, inA, inB := owner(key, union(a, b)), owner(key, a), owner(key, b)
				return both == inA || both == inB
			}, gen.UInt64(), sets, sets))

		laws.Property("owners agree: if two sets have one owner, so has their union", prop.ForAll(
			func(key uint64, a, b []bool) bool {
				inA, inB := owner(key, a), owner(key, b)
				return inA != inB || owner(key, union(a, b)) == inA
			}, gen.UInt64(), sets, sets))

		laws.Property("a subset that keeps the owner keeps its key", prop.ForAll(
			func(key uint64, a, b []bool) bool {
				whole := union(a, b)
				in := owner(key, whole)
				for i, s := range backends(len(a)) {
					if s.ID == in && a[i] {
						return owner(key, a) == in
					}
				}
				return true
			}, gen.UInt64(), sets, sets))

		laws.Property("a rotation of the candidates changes no owner", prop.ForAll(
			func(key uint64, shift int) bool {
				samples := backends(10)
				rotated := slices.Concat(samples[shift:], samples[:shift])
				q := poise.Query{Key: poise.Uint64Key(key)}
				a, b := open(t, new(policy.Rendezvous), samples), open(t, new(policy.Rendezvous), rotated)
				return samples[a.pick(t, q)].ID == rotated[b.pick(t, q)].ID
			}, gen.UInt64(), gen.IntRange(0, 9)))
	})
}
