package policy

import (
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// What the pickers of all keyed policies have in common.

// The domain bytes that keep the parts of the streams apart, and one stream from
// another. They are part of the compatibility contract.
const (
	domainRendezvousKey byte = iota
	domainRendezvousIdentity
	domainRingOwner
	domainRingPoint
	domainRingReplica
	domainRingRequest
	domainMaglevOffset
	domainMaglevSkip
	domainMaglevOrder
	domainMaglevOrderToo
	domainMaglevRequest
)

// keyless answers the queries that bring no key.
type keyless struct {
	policy string // the name of the keyed policy
	view   *poise.View
	picker poise.Picker // nil: ErrNoKey
}

// prepareKeyless prepares the NoKey policy of a config, if there is one.
func prepareKeyless(policy string, noKey poise.Policy, v *poise.View) (keyless, error) {
	k := keyless{policy: policy, view: v}
	if noKey == nil {
		return k, nil
	}
	var err error
	k.picker, err = noKey.Prepare(v)
	return k, err
}

// pick asks the policy for that case. Its reasons stand, but for the rule that
// decided first: that there was no key.
func (k *keyless) pick(q *poise.Query, left int) (poise.Selection, error) {
	if k.picker == nil {
		return failed(k.view, q, k.policy, left, poise.ErrNoKey)
	}
	selection, err := k.picker.Pick(*q)
	if q.Why != nil {
		q.Why.Policy = k.policy
		if err == nil {
			q.Why.Rule = RuleFallback
		}
	}
	return selection, err
}

// holds reports whether the candidate at the index is among the untried.
func holds(rest *poise.Untried, index int) bool { return rest.At(rest.Next(index)) == index }

// eligible returns the indices and identities of the eligible candidates, in the
// order of the View.
func eligible(v *poise.View) (indices []int, ids []string) {
	indices, ids = make([]int, v.EligibleLen()), make([]string, v.EligibleLen())
	for position := range indices {
		indices[position] = v.Eligible(position)
		s, _ := v.Sample(indices[position]) // in range
		ids[position] = s.ID
	}
	return indices, ids
}

// firsts lists the places of a table at which each of its members is met first, on
// the way round from one place.
func firsts(members, places, from int, member func(at int) uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		met := make([]bool, members)
		left := members
		for at := from; left > 0; at = (at + 1) % places {
			if m := member(at); !met[m] {
				met[m] = true
				left--
				if !yield(at) {
					return
				}
			}
		}
	}
}
