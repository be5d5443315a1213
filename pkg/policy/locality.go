package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// Locality chooses a priority as Priority does, then a locality in it, and any
// endpoint policy picks inside that. A locality draws by its weight times the part
// of it that is available.
//
// A Locality is made by NewLocality.
//
// # Contract
//
//   - Priorities, spill and panic of a Locality are those of Priority.
//   - A locality's effective weight is its weight times its eligible part in millionths, times the overprovisioning factor, up to its full weight.
//   - A locality with anybody eligible keeps at least one unit of effective weight.
//   - A locality without anybody eligible gets nothing.
//   - The order of the candidates does not change which locality a draw chooses.
//
// # Cost
//
// A pick is O(log priorities + log localities), up to two draws, and a pick of the
// endpoint policy. Prepare is O(n log n) and prepares the endpoint policy once per
// priority and locality.
//
// # Concurrency
//
// As the endpoint policy. The draws are those of one generator.
type Locality struct {
	topology *topology
}

var _ poise.Policy = (*Locality)(nil)

// NewLocality returns a Locality, or a [poise.FieldError].
func NewLocality(cfg PriorityConfig) (*Locality, error) {
	t, err := newTopology(cfg, "Locality", true)
	if err != nil {
		return nil, err
	}
	return &Locality{t}, nil
}

// Prepare returns a Picker for the View, or the error of an endpoint policy, or a
// [poise.FieldError] of ErrWeightOverflow.
func (p *Locality) Prepare(v *poise.View) (poise.Picker, error) { return p.topology.prepare(v) }
