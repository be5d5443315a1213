// Explorable.

package discovery

import (
	"fmt"
	"slices"
)

// Incarnations keeps what belongs to each incarnation, such as its load and its
// health, for as long as it lasts: over any change of value, order or draining, and
// over every list that is fetched anew.
//
// The zero value keeps nothing.
//
// # Contract
//
//   - Reconcile keeps the state of every incarnation that is in the list, wherever it stands there.
//   - Reconcile begins a state for each incarnation that is new in the list, in the order of the list, and for no other.
//   - Reconcile hands back the states of those that have left, in the order of their incarnations.
//   - After an error or a panic of begin or accept the Incarnations keep what they kept before.
//   - With an error Reconcile hands back the states that were begun in vain, and no others.
//   - An incarnation that was handed back begins anew if it comes again.
//   - A list that names an incarnation twice is refused before anything is begun.
//
// # Cost
//
// Reconcile is linear in the list and in what was kept before, and sorts those who
// have left. Lookup is one look into a map, and allocates nothing.
//
// # Concurrency
//
// Incarnations belong to one goroutine at a time. Begin and accept must not use
// them.
type Incarnations[S any] struct {
	states map[uint64]S
}

// Reconcile makes the states those of the incarnations in the list. Begin makes the
// state of the incarnation at index i, which is new. Accept is then given the state
// of each incarnation in the order of the list, and has the last word: what goes
// with the list, such as a picker, is made and published there. nil accepts.
//
// The states that are handed back are the caller's to end, with an error too.
func (x *Incarnations[S]) Reconcile(list []uint64, begin func(i int) (S, error), accept func([]S) error) (ended []S, err error) {
	next := make(map[uint64]S, len(list))
	var joined []int
	for i, incarnation := range list {
		if _, twice := next[incarnation]; twice {
			return nil, refuse(fmt.Sprintf("list[%d]", i), incarnation, ErrDuplicate)
		}
		state, known := x.states[incarnation]
		if next[incarnation] = state; !known {
			joined = append(joined, i)
		}
	}
	var begun []S
	for _, i := range joined {
		state, err := begin(i)
		if err != nil {
			return begun, err
		}
		begun = append(begun, state)
		next[list[i]] = state
	}
	if accept != nil {
		states := make([]S, len(list))
		for i, incarnation := range list {
			states[i] = next[incarnation]
		}
		if err := accept(states); err != nil {
			return begun, err
		}
	}
	var left []uint64
	for incarnation := range x.states {
		if _, stays := next[incarnation]; !stays {
			left = append(left, incarnation)
		}
	}
	slices.Sort(left)
	for _, incarnation := range left {
		ended = append(ended, x.states[incarnation])
	}
	x.states = next
	return ended, nil
}

// Lookup returns the state of the incarnation.
func (x *Incarnations[S]) Lookup(incarnation uint64) (S, bool) {
	state, ok := x.states[incarnation]
	return state, ok
}

// Len returns the number of states.
func (x *Incarnations[S]) Len() int { return len(x.states) }
