package policy

import (
	"errors"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// PriorityConfig are the settings of a Priority and of a Locality.
type PriorityConfig struct {
	_ struct{}
	// Overprovisioning is how much of its full traffic a priority can take when
	// not all of it is eligible, in percent; 100 or more, default 140. At 140 a
	// priority that is 5/7 eligible still takes everything.
	Overprovisioning uint32
	// PanicThreshold is the percentage of eligible weight below which a priority
	// panics while capacity is short; 1 to 100, default 50.
	PanicThreshold uint32
	// PanicOff never panics.
	PanicOff bool
	// FailClosed answers ErrPanicRejected in a panic, instead of using members that
	// are not eligible.
	FailClosed bool
	// Endpoint makes the policy that picks inside a scope; each scope has its own.
	// nil is WeightedRandom, seeded by Seed and the scope.
	Endpoint func() (poise.Policy, error)
	// Seed makes the choice of a scope replay. 0 is no seed.
	Seed uint64
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c PriorityConfig) withDefaults() (PriorityConfig, error) {
	if c.Overprovisioning == 0 {
		c.Overprovisioning = 140
	}
	if c.PanicThreshold == 0 {
		c.PanicThreshold = 50
	}
	if c.Overprovisioning < 100 {
		return c, &poise.FieldError{Field: "Overprovisioning", Value: c.Overprovisioning, Err: ErrUnderprovisioned}
	}
	if c.PanicThreshold > 100 {
		return c, &poise.FieldError{Field: "PanicThreshold", Value: c.PanicThreshold, Err: ErrInvalidPanicThreshold}
	}
	if c.PanicOff {
		c.PanicThreshold = 0
	}
	return c, nil
}

// Priority chooses a priority, and any endpoint policy picks inside it. The
// lowest priority number takes the traffic; what its eligible weight cannot carry
// spills to the next. While the eligible weight of all priorities together is too
// small, a priority below its threshold panics: its members count as eligible,
// but for the draining and those that opted out while not eligible.
//
// A Priority is made by NewPriority.
//
// # Contract
//
//   - A priority carries its eligible weight over its whole weight, times the overprovisioning factor, up to all of the traffic.
//   - Priorities fill in ascending order until all traffic is placed.
//   - Capacity that is exactly full is never short, whatever the rounding.
//   - A priority with an eligible member carries at least one millionth of the traffic.
//   - A priority panics exactly while capacity is short and its eligible weight is strictly below the threshold.
//   - A member that opted out of panic still serves while it is eligible.
//   - A draining member is no capacity and is never picked by Priority.
//   - A panic with FailClosed answers ErrPanicRejected.
//   - A retry for which its priority has nobody left goes to the next priority that has.
//
// # Cost
//
// A pick is O(log priorities), one draw, and a pick of the endpoint policy.
// Prepare is O(n log n) and prepares the endpoint policy once per priority.
//
// # Concurrency
//
// As the endpoint policy. The draws are those of one generator.
type Priority struct {
	topology *topology
}

var _ poise.Policy = (*Priority)(nil)

// NewPriority returns a Priority, or a [poise.FieldError].
func NewPriority(cfg PriorityConfig) (*Priority, error) {
	t, err := newTopology(cfg, "Priority", false)
	if err != nil {
		return nil, err
	}
	return &Priority{t}, nil
}

// Prepare returns a Picker for the View, or the error of an endpoint policy.
func (p *Priority) Prepare(v *poise.View) (poise.Picker, error) { return p.topology.prepare(v) }

// Errors of a topology config. They arrive inside a poise.FieldError.
var (
	// ErrUnderprovisioned means an overprovisioning factor below 100 percent.
	ErrUnderprovisioned = errors.New("policy: overprovisioning must be at least 100 percent")
	// ErrInvalidPanicThreshold means a panic threshold above 100 percent.
	ErrInvalidPanicThreshold = errors.New("policy: panic threshold must be at most 100 percent")
)
