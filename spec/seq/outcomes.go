package seq

import (
	"fmt"
	"math"
)

// Held is what an Outcomes holds: successes, failures, overloads.
type Held struct{ Successes, Failures, Overloaded int }

// Halving is the half-life of an Outcomes whose weights are halved by each unit of
// time; Lasting is that of one whose weights stay.
const (
	Lasting = 0
	Halving = 1
)

type outcomes struct {
	kinds [4]int // the newest last; 0 none, else one more than the outcome
	at    [4]int
	void  [4]bool // the clock was set back since
	last  int     // the newest instant
}

// Outcomes is a window of the last outcomes, up to 4: 0 success, 1 failure that
// weighs 1, 2 overload that weighs 2.
//
//	Record(outcome, at) nil   Stats() Held   Penalty(at) int   Clear()
//
// The penalty is told in 1024ths and with a third of one added, so that no rounding
// of a sum of few powers of two changes it.
func Outcomes(capacity, halfLife int) Spec {
	return Define(fmt.Sprintf("the last %d outcomes, half-life %d", capacity, halfLife), outcomes{}, func(o outcomes, op Op) []outcomes {
		first := len(o.kinds) - capacity
		switch op.Name {
		case "Record":
			a := op.Arg.(Stamped)
			switch {
			case halfLife == Halving && o.last-a.At > 10:
				o.void, o.last = [4]bool{true, true, true, true}, a.At
			default:
				o.last = max(o.last, a.At)
			}
			for i := range len(o.kinds) - 1 {
				o.kinds[i], o.at[i], o.void[i] = o.kinds[i+1], o.at[i+1], o.void[i+1]
			}
			o.kinds[3], o.at[3], o.void[3] = a.Number+1, o.last, false
			for i := range first { // equal states are to be equal
				o.kinds[i], o.at[i], o.void[i] = 0, 0, false
			}
			return []outcomes{o}
		case "Clear":
			return []outcomes{{last: o.last}}
		case "Stats":
			var held [4]int
			for _, kind := range o.kinds[first:] {
				held[kind]++
			}
			return One(op.Result == Held{held[1], held[2], held[3]}, o)
		}
		at, n, weight := op.Arg.(int), 0, 0.0
		for i, kind := range o.kinds[first:] {
			if kind == 0 {
				continue
			}
			n++
			switch {
			case halfLife == Lasting:
				weight += float64(kind - 1)
			case !o.void[first+i] && o.last-at <= 10:
				weight += math.Ldexp(float64(kind-1), o.at[first+i]-max(o.last, at))
			}
		}
		return One(op.Result == Penalty(weight/max(1, float64(n))), o)
	})
}

// Penalty tells a penalty as the specification does.
func Penalty(penalty float64) int { return int(penalty*1024 + 1.0/3) }

// The kinds of a call to Runs.
const (
	Succeeded = iota
	FailedAtMember
	FailedAtGateway
	FailedHere
)

// Runs are the failures in a row of one member: all of them, those of a gateway and
// local ones, each with the number that is long.
//
//	Record(kind) bool
//
// Record tells whether a run has just become long.
func Runs(all, gateway, local int) Spec {
	long := [3]int{all, gateway, local}
	return Define(fmt.Sprintf("runs of %v", long), [3]int{}, func(runs [3]int, op Op) [][3]int {
		kind, just := op.Arg.(int), false
		for i, counts := range [3]bool{kind != Succeeded, kind == FailedAtGateway, kind == FailedHere} {
			if !counts {
				runs[i] = 0
				continue
			}
			runs[i] = min(runs[i]+1, long[i]+1) // beyond that they are all alike
			just = just || runs[i] == long[i]
		}
		return One(op.Result == just, runs)
	})
}
