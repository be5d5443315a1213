package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// Locality chooses a priority as Priority does, then a locality in it, and any
// endpoint policy picks inside that; by default WeightedRandom does. A locality is
// drawn by its weight times the part of it that is available: eligible, or usable
// in a panic.
//
// A Locality is made by NewLocality.
//
// # Contract
//
//   - A Locality chooses the priority as Priority does.
//   - A locality's effective weight is its weight times its available part in millionths, times the overprovisioning factor, and at most its weight times a million.
//   - A locality with anybody available has an effective weight of at least its weight.
//   - A locality without anybody available gets nothing.
//   - The order of the candidates does not change which locality a draw chooses.
//   - A retry is drawn among the localities of its priority that have anybody untried.
//   - Locality refuses to prepare effective weights whose sum passes 64 bits.
//
// # Cost
//
// A pick is up to two draws and O(log priorities + log localities), and a pick of
// the endpoint policy; with Tried it is O(localities times tried). Prepare is
// O(n log n) and a Scope and a Prepare of the endpoint policy, each of O(n) or
// more, for each locality of each priority.
//
// # Concurrency
//
// As the endpoint policy. Parallel picks take the draws of one generator in turn.
type Locality struct {
	topology *topology
}

var _ poise.Policy = (*Locality)(nil)

// NewLocality returns a Locality, a [poise.FieldError] of a RangeError, or the error of
// Endpoint.
func NewLocality(cfg TopologyConfig) (*Locality, error) {
	t, err := newTopology(cfg, "Locality", true)
	if err != nil {
		return nil, err
	}
	return &Locality{t}, nil
}

// Prepare returns a Picker for the View, the error of an endpoint policy, or a
// [poise.FieldError] of poise.ErrWeightOverflow.
//
// Where one endpoint policy refuses, those of other scopes have prepared for nothing:
// numbers of tables may be missing, and no pick is another.
func (p *Locality) Prepare(v *poise.View) (poise.Picker, error) { return p.topology.prepare(v) }
