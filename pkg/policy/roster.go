// Explorable.

package policy

import (
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

const (
	// cycleLimit is the longest period that is stored: 2^18 turns are 1 MiB.
	cycleLimit = 1 << 18
	// aheadLimit is up to how many steps of credits are made ahead, in Prepare.
	aheadLimit = 1 << 26
	// creditLimit is what the weights' sum times the number of candidates must stay
	// under. Credits are within a small multiple of it, hence far from an int64's
	// end.
	creditLimit = 1 << 60
)

// roster is the eligible list of a View with the weights, and the credits of its
// members. Views with equal lists share one.
type roster struct {
	view    *poise.View // one of those Views: it finds members by identity
	members []incarnation
	weights []int64
	total   int64

	// Guarded by the mu of the policy.

	// credits decide the turns. While the cycle is open they stand as at the
	// beginning of its order.
	credits []int64
	// retries are the credits of picks that pass over what was tried.
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

// newRoster returns the eligible list of a View that has one, without credit.
func newRoster(v *poise.View) (*roster, error) {
	n := v.EligibleLen()
	r := &roster{
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

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lists reports whether the View has the same eligible list.
func (r *roster) lists(other *roster) bool {
	return slices.Equal(r.members, other.members) && slices.Equal(r.weights, other.weights)
}

// start makes the turns up to the phase in advance, and one period after it if
// that is affordable. It is for a roster that is nobody's yet.
func (r *roster) start(phase uint64) {
	affordable := 1 + uint64(aheadLimit/len(r.weights))
	period := uint64(len(r.cycle.order))
	if period > 0 && period < affordable {
		affordable = period
	}
	for range phase % affordable {
		r.advance()
	}
	copy(r.begin, r.credits)
	if affordable == period {
		for r.recorded < len(r.cycle.order) {
			r.record(r.advance())
		}
	}
}

// step takes one turn, and opens the cycle when the credits have come round.
func (r *roster) step() (position int) {
	if len(r.cycle.order) == 0 {
		return r.advance()
	}
	if r.recorded == 0 {
		copy(r.begin, r.credits)
	}
	position = r.advance()
	r.record(position)
	if r.recorded == len(r.cycle.order) {
		r.resume()
	}
	return position
}

func (r *roster) record(position int) {
	r.cycle.record(r.recorded, position)
	r.recorded++
}

// resume opens the cycle if the credits stand as at its beginning and it is whole.
// Else recording begins anew.
func (r *roster) resume() {
	if r.recorded > 0 && r.recorded == len(r.cycle.order) && slices.Equal(r.begin, r.credits) {
		r.cycle.open()
		return
	}
	r.recorded = 0
}

// settle closes the cycle and brings the credits up to the turns taken.
func (r *roster) settle() {
	taken := r.cycle.close()
	for position, weight := range r.weights {
		r.credits[position] += int64(taken) * weight
	}
	for place := range taken {
		r.credits[r.cycle.order[place].Load()] -= r.total
	}
}

// advance is the rule itself: everybody earns the weight, the richest pays for
// all.
func (r *roster) advance() (richest int) {
	credits := r.credits
	most := int64(-1 << 63)
	for position, weight := range r.weights[:len(credits)] {
		credit := credits[position] + weight
		credits[position] = credit
		if credit > most {
			richest, most = position, credit
		}
	}
	credits[richest] -= r.total
	return richest
}

// inherit takes the credits of those members that the other roster has. Whoever
// is new has none.
func (r *roster) inherit(credits []int64, from *roster, theirs []int64) {
	next := 0
	for position, member := range r.members {
		// Most lists have the order of the last one.
		at := next
		if at >= len(from.members) || from.members[at] != member {
			at = from.find(member)
		}
		credits[position] = 0
		if at >= 0 {
			credits[position], next = theirs[at], at+1
		}
	}
}

// find returns the position of the member, or -1.
func (r *roster) find(member incarnation) int {
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
