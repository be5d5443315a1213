package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// The fast path of a policy serves plain queries on Views that have someone to
// choose. Failing and explaining are here, once for all policies.

// plain reports whether the query asks for nothing that costs. It takes a pointer
// because a copy of a Query costs as much as a pick.
func plain(q *poise.Query) bool { return q.Tried == nil && q.Why == nil }

// nothing ends a pick that has nobody to choose from.
func nothing(v *poise.View, q *poise.Query, policy string) (poise.Selection, error) {
	err := v.Check()
	if err == nil {
		err = poise.ErrAllTried
	}
	return failed(v, q, policy, err)
}

// failed ends a pick with the error, and says so if asked.
func failed(v *poise.View, q *poise.Query, policy string, err error) (poise.Selection, error) {
	if q.Why != nil {
		*q.Why = poise.Decision{View: v, Policy: policy, Chosen: -1, Err: err, Tried: tried(v, q)}
	}
	return poise.Selection{}, err
}

// explain says why the pick chose as it did, if asked. The figures of those that
// were compared begin with the chosen one's.
func explain(v *poise.View, q *poise.Query, policy string, rule poise.Rule, chosen, considered int, compared ...poise.Compared) {
	if q.Why == nil {
		return
	}
	*q.Why = poise.Decision{
		View: v, Policy: policy, Rule: rule, Chosen: chosen,
		Considered: considered, Tried: tried(v, q),
	}
	q.Why.ComparedLen = copy(q.Why.Compared[:], compared)
}

// tried returns how many eligible candidates the query passes over.
func tried(v *poise.View, q *poise.Query) int {
	rest := v.Untried(q.Tried)
	return v.EligibleLen() - rest.Len()
}

// at returns the candidate at a position among the eligible ones, or among the
// rest of them if something was tried.
func at(v *poise.View, rest *poise.Untried, position int) int {
	if rest == nil {
		return v.Eligible(position)
	}
	return rest.At(position)
}
