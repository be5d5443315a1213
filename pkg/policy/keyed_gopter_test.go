package policy_test

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// members are those of ten candidates whom the set holds, with weights in a period.
func members(set []bool, weights []poise.Weight) []poise.Sample {
	var samples []poise.Sample
	for i, s := range backends(len(set)) {
		if s.Weight = weights[i%len(weights)]; set[i] {
			samples = append(samples, s)
		}
	}
	return samples
}

// The algebra of the owners: a policy of minimal disruption is a choice function, so
// that the owner in a union owns in the part that holds it.
func TestKeyedPolicies_Algebra_Law(t *testing.T) {
	sets := gen.SliceOfN(10, gen.Bool())
	union := func(a, b []bool) []bool {
		u := slices.Clone(a)
		for i := range u {
			u[i] = u[i] || b[i]
		}
		return u
	}
	ones := []poise.Weight{weightOf(t, 1)}
	unlike := []poise.Weight{weightOf(t, 1), weightOf(t, 5), weightOf(t, 2)}
	algebra(t, func(laws *gopter.Properties) {
		for _, kind := range []struct {
			name    string
			weights []poise.Weight
		}{{"WeightedRendezvous", unlike}, {"RingHash", ones}} {
			owner := func(key uint64, set []bool) string {
				d := open(t, keyedKinds[kind.name](t, keyedConfig{small: true}), members(set, kind.weights))
				return d.identity(poise.Query{Key: poise.Uint64Key(key)})
			}
			laws.Property(kind.name+": the owner in a union owns in the part that holds it", prop.ForAll(
				func(key uint64, a, b []bool) bool {
					both := owner(key, union(a, b))
					return both == owner(key, a) || both == owner(key, b)
				}, gen.UInt64(), sets, sets))
			laws.Property(kind.name+": if two sets have one owner, so has their union", prop.ForAll(
				func(key uint64, a, b []bool) bool {
					inA, inB := owner(key, a), owner(key, b)
					return inA != inB || owner(key, union(a, b)) == inA
				}, gen.UInt64(), sets, sets))
		}
		for _, name := range kindNames {
			laws.Property(name+": a rotation of the candidates changes no owner", prop.ForAll(
				func(key uint64, shift int, set []bool) bool {
					samples := members(set, unlike)
					shift = min(shift, len(samples))
					rotated := slices.Concat(samples[shift:], samples[:shift])
					p, q := keyedKinds[name](t, keyedConfig{small: true}), poise.Query{Key: poise.Uint64Key(key)}
					return open(t, p, samples).identity(q) == open(t, p, rotated).identity(q)
				}, gen.UInt64(), gen.IntRange(0, 9), sets))
			laws.Property(name+": the preferences of a key are an order of all", prop.ForAll(
				func(key uint64, set []bool) bool {
					d := open(t, keyedKinds[name](t, keyedConfig{small: true}), members(set, unlike))
					listed := slices.Sorted(d.picker.(poise.Preferrer).Preference(poise.Uint64Key(key)))
					for i, index := range listed {
						if i != index {
							return false
						}
					}
					return len(listed) == d.view.Len()
				}, gen.UInt64(), sets))
		}
		laws.Property("WeightedRendezvous: weights times a power of two change no owner", prop.ForAll(
			func(key uint64, shift uint8, set []bool) bool {
				scaled := slices.Clone(unlike)
				for i := range scaled {
					scaled[i] = weightOf(t, unlike[i].Value()<<(shift%29))
				}
				p, q := keyedKinds["WeightedRendezvous"](t, keyedConfig{}), poise.Query{Key: poise.Uint64Key(key)}
				return open(t, p, members(set, unlike)).identity(q) == open(t, p, members(set, scaled)).identity(q)
			}, gen.UInt64(), gen.UInt8(), sets))
		owner := func(name string, key uint64, samples []poise.Sample) string {
			return open(t, keyedKinds[name](t, keyedConfig{small: true}), samples).identity(poise.Query{Key: poise.Uint64Key(key)})
		}
		laws.Property("WeightedRendezvous: over equal weights the owner is that of Rendezvous", prop.ForAll(
			func(key uint64, weight uint32, set []bool) bool {
				equal := []poise.Weight{weightOf(t, max(weight, 1))}
				return owner("WeightedRendezvous", key, members(set, equal)) == owner("Rendezvous", key, members(set, ones))
			}, gen.UInt64(), gen.UInt32(), sets))
		laws.Property("WeightedRendezvous: more weight moves a key to whom has it, or nowhere", prop.ForAll(
			func(key uint64, whom int, more uint32, set []bool) bool {
				samples := members(set, unlike)
				if len(samples) == 0 {
					return true
				}
				whom %= len(samples)
				before := owner("WeightedRendezvous", key, samples)
				samples[whom].Weight = weightOf(t, samples[whom].Weight.Value()+more)
				after := owner("WeightedRendezvous", key, samples)
				return after == before || after == samples[whom].ID
			}, gen.UInt64(), gen.IntRange(0, 9), gen.UInt32Range(0, 1<<20), sets))
		laws.Property("BoundedLoadRendezvous: without load the owner is that of WeightedRendezvous", prop.ForAll(
			func(key uint64, set []bool) bool {
				samples := members(set, unlike)
				return owner("BoundedLoadRendezvous", key, samples) == owner("WeightedRendezvous", key, samples)
			}, gen.UInt64(), sets))
		laws.Property("Maglev: the weights change no owner", prop.ForAll(
			func(key uint64, set []bool) bool {
				return owner("Maglev", key, members(set, unlike)) == owner("Maglev", key, members(set, ones))
			}, gen.UInt64(), sets))
	})
}
