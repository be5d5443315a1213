// Explorable.

package policy

import "slices"

// aheadLimit is up to how many steps of credits are made ahead, in Prepare.
const aheadLimit = 1 << 26

// start makes the turns up to the phase in advance, and one period after it if
// that is affordable. It is for a creditList that is nobody's yet.
func (r *creditList) start(phase uint64) {
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
func (r *creditList) step() (position int) {
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

func (r *creditList) record(position int) {
	r.cycle.record(r.recorded, position)
	r.recorded++
}

// resume opens the cycle if the credits stand as at its beginning and it is whole.
// Else recording begins anew.
func (r *creditList) resume() {
	if r.recorded == len(r.cycle.order) && slices.Equal(r.begin, r.credits) {
		r.cycle.open()
		return
	}
	r.recorded = 0
}

// settle closes the cycle and brings the credits up to the turns taken.
func (r *creditList) settle() {
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
func (r *creditList) advance() (richest int) {
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
