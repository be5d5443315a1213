package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// The fast path of a policy serves plain queries on Views that have someone to
// choose. Failing and explaining are here, once for all policies.
//
// How many candidates a pick passed over is told from how many were left to it,
// never counted again: a hedge may add to Query.Tried while the pick runs.

// plain reports whether the query asks for nothing that costs. It takes a pointer
// because a copy of a Query costs as much as a pick.
func plain(q *poise.Query) bool { return q.Tried == nil && q.Why == nil }

// nothing ends a pick that has nobody to choose from.
func nothing(v *poise.View, q *poise.Query, policy string) (poise.Selection, error) {
	err := v.Check()
	if err == nil {
		err = poise.ErrAllTried
	}
	return failed(v, q, policy, 0, err)
}

// failed ends a pick that had so many candidates left to it with the error, and
// says so if asked.
func failed(v *poise.View, q *poise.Query, policy string, left int, err error) (poise.Selection, error) {
	if q.Why != nil {
		*q.Why = poise.Decision{View: v, Policy: policy, Chosen: -1, Err: err, Tried: v.EligibleLen() - left}
	}
	return poise.Selection{}, err
}

// explain says why the pick chose as it did among those left to it, if asked. The
// figures of those that were compared begin with the chosen one's.
func explain(v *poise.View, q *poise.Query, policy string, rule poise.Rule, chosen, left, considered int, compared ...poise.Compared) {
	if q.Why == nil {
		return
	}
	*q.Why = poise.Decision{
		View: v, Policy: policy, Rule: rule, Chosen: chosen,
		Considered: considered, Tried: v.EligibleLen() - left, Measure: measureOf(rule),
	}
	q.Why.ComparedLen = copy(q.Why.Compared[:], compared)
}
