package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// Priority chooses a priority, and any endpoint policy picks inside it; by default
// WeightedRandom does. The lowest priority number takes the traffic; what its
// eligible weight cannot carry goes to the next. While the priorities together
// cannot carry everything, one whose eligible part is below the threshold panics:
// members that are not eligible are used as well, but for the draining and those
// that opted out.
//
// A priority's capacity is counted in units of a millionth of the traffic. In a
// scope the members are those of the scope, and nobody else exists.
//
// A panic is the one case in which a pick departs from the laws of poise.Picker:
// it may return a candidate that the View does not call eligible, and nobody being
// eligible is no failure while somebody did not opt out.
//
// What its settings do is stated at TopologyConfig.
//
// A Priority is made by NewPriority.
//
// # Contract
//
//   - The capacity of a priority is its eligible weight over its whole weight, times the overprovisioning factor, rounded down, and at most all of the traffic.
//   - A priority with an eligible member has a capacity of at least one unit.
//   - Priorities take the traffic in ascending order, each as much as it can carry.
//   - While capacity is short and some priority does not panic, each takes traffic in proportion to its capacity.
//   - A priority panics exactly while capacity is short and its eligible weight is strictly below the threshold.
//   - While every priority panics, they share the traffic in proportion to the weights that panic can use.
//   - A member that opted out of panic still serves while it is eligible.
//   - A draining member is no capacity and is never picked by Priority.
//   - A retry is drawn among the priorities that have anybody untried, and goes to one without traffic only when there is no other.
//   - A Priority draws only where there is something to choose.
//
// # Cost
//
// A pick is a draw and O(log priorities), and a pick of the endpoint policy; with
// Tried it is O(priorities times tried). Prepare is O(n log n) and a Scope and a
// Prepare of the endpoint policy, each of O(n) or more, for each priority.
//
// # Concurrency
//
// As the endpoint policy. Parallel picks take the draws of one generator in turn.
type Priority struct {
	topology *topology
}

var _ poise.Policy = (*Priority)(nil)

// NewPriority returns a Priority, a [poise.FieldError] of a RangeError, or the error of
// Endpoint.
func NewPriority(cfg TopologyConfig) (*Priority, error) {
	t, err := newTopology(cfg, "Priority", false)
	if err != nil {
		return nil, err
	}
	return &Priority{t}, nil
}

// Prepare returns a Picker for the View, or the error of an endpoint policy.
//
// Where one endpoint policy refuses, those of other scopes have prepared for nothing:
// numbers of tables may be missing, and no pick is another.
//
// # Contract
//
//   - Capacities that exactly add up to all of the traffic are not short, whatever the rounding.
//   - What rounding leaves over goes to the first priority that can carry anything.
func (p *Priority) Prepare(v *poise.View) (poise.Picker, error) { return p.topology.prepare(v) }
