// Explorable.

package policy

import (
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

const (
	// cycleLimit is the longest period that is stored: 2^18 turns are 1 MiB.
	cycleLimit = 1 << 18
	// creditLimit is what the weights' sum times the number of candidates must stay
	// under. Credits are within a small multiple of it, hence far from an int64's
	// end.
	creditLimit = 1 << 60
)

// creditList is the eligible list of a View with the weights, and the credits of its
// members. Views with equal lists share one.
type creditList struct {
	view    *poise.View // one of those Views: it finds members by identity
	members []incarnation
	weights []int64
	total   int64

	// Guarded by the mu of the policy.

	// credits decide the turns. While the cycle is open they stand as at the
	// beginning of its order.
	credits []int64
	// retries are the credits of picks that leave out what was tried.
	retries []int64
	// cycle holds the first recorded turns that follow from the credits begin; all
	// of one period where recorded is its length. A period that is too long has no
	// length here.
	cycle    cycle
	begin    []int64
	recorded int
}

// incarnation is one life of one identity.
type incarnation struct {
	id     string
	number uint64
}

// newCreditList returns the eligible list of a View that has one, without credit.
func newCreditList(v *poise.View) (*creditList, error) {
	n := v.EligibleLen()
	r := &creditList{
		view:    v,
		members: make([]incarnation, n),
		weights: make([]int64, n),
		credits: make([]int64, n),
		retries: make([]int64, n),
		begin:   make([]int64, n),
	}
	divisor := uint64(0)
	sum := uint64(0) // at most 2^32 weights of 32 bits: it fits
	for position := range n {
		s, err := v.Sample(v.Eligible(position))
		if err != nil {
			return nil, err
		}
		r.members[position] = incarnation{s.ID, s.Incarnation}
		weight := uint64(s.Weight.Value())
		r.weights[position] = int64(weight)
		divisor = gcd(weight, divisor)
		sum += weight
	}
	if sum > creditLimit/uint64(n) {
		return nil, &poise.FieldError{Field: "weights", Value: sum, Err: poise.ErrWeightOverflow}
	}
	r.total = int64(sum)
	period := sum / divisor
	if period > cycleLimit {
		period = 0
	}
	r.cycle.size(int(period))
	return r, nil
}

// gcd returns the greatest common divisor. That of 0 and b is b.
func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lists reports whether the View has the same eligible list.
func (r *creditList) lists(other *creditList) bool {
	return slices.Equal(r.members, other.members) && slices.Equal(r.weights, other.weights)
}

// inherit takes over the credits of those members that the other creditList has. New
// members have none. Where members or weights are others, credits are bounded.
func (r *creditList) inherit(credits []int64, from *creditList, theirs []int64) {
	next, alike := 0, 0
	for position, member := range r.members {
		// Most lists have the order of the last one.
		at := next
		if at >= len(from.members) || from.members[at] != member {
			at = from.find(member)
		}
		if credits[position] = 0; at < 0 {
			continue
		}
		credits[position], next = theirs[at], at+1
		if r.weights[position] == from.weights[at] {
			alike++
		}
	}
	if alike == len(r.members) && alike == len(from.members) {
		return // the same list, maybe in another order
	}
	most := r.total/8*5 + r.total%8*5/8
	for position := range credits {
		credits[position] = max(-most, min(most, credits[position]))
	}
}

// find returns the position of the member, or -1.
func (r *creditList) find(member incarnation) int {
	index, found := r.view.Lookup(member.id)
	if !found {
		return -1
	}
	position := r.view.NextEligible(index)
	if r.members[position] != member {
		return -1
	}
	return position
}
