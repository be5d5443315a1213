// Explorable.

package policy

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// TopologyConfig are the settings of a Priority and of a Locality.
//
// # Contract
//
//   - With PanicOff, or without anybody that panic can use, a pick without eligible members answers ErrNoEligible.
//   - A pick that falls on a panicking priority answers ErrPanicRejected with FailClosed.
//   - Each priority has an endpoint policy of its own, which outlives the View as long as candidates of that priority exist.
//   - With ByKey, a key stays in its priority as long as the shares stay.
type TopologyConfig struct {
	_ struct{}
	// Overprovisioning is how much of the traffic a priority can take in relation to
	// its eligible part, in percent; 100 or more, 0 means 140. At 140 a priority of
	// which 5/7 are eligible still takes everything.
	Overprovisioning uint32
	// PanicThreshold is the percentage of eligible weight below which a priority
	// panics while capacity is short; up to 100, 0 means 50.
	PanicThreshold uint32
	// PanicOff never panics, whatever the threshold.
	PanicOff bool
	// FailClosed answers ErrPanicRejected in a panic, instead of using members that
	// are not eligible.
	FailClosed bool
	// ByKey lets the key of a query choose the scope, not chance, so that a key
	// stays in its scope as long as the shares stay: what an endpoint policy with
	// affinity needs to keep it. Queries without a key draw. The hash is FNV-1a, so
	// whoever can choose keys can aim at a scope.
	ByKey bool
	// Endpoint makes the policy that picks inside a scope. It is called once by the
	// constructor, to see whether it is legal and whether it needs a key, and once
	// for each scope. The seed is made from Seed and the scope; it is 0 if Seed is.
	// nil is WeightedRandom. Endpoint and the policies that it makes are called by
	// Prepare, one call at a time, so they may not call that Prepare.
	Endpoint func(seed uint64) (poise.Policy, error)
	// Seed makes the picks replay. 0 is no seed: the Go runtime's generator draws,
	// and nothing replays.
	Seed uint64
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c TopologyConfig) withDefaults() (TopologyConfig, error) {
	if c.Overprovisioning == 0 {
		c.Overprovisioning = 140
	}
	if c.PanicThreshold == 0 {
		c.PanicThreshold = 50
	}
	if c.Overprovisioning < 100 {
		return c, &poise.FieldError{Field: "Overprovisioning", Value: c.Overprovisioning, Err: &poise.RangeError{Min: uint32(100)}}
	}
	if c.PanicThreshold > 100 {
		return c, &poise.FieldError{Field: "PanicThreshold", Value: c.PanicThreshold, Err: &poise.RangeError{Max: uint32(100)}}
	}
	if c.PanicOff {
		c.PanicThreshold = 0
	}
	if c.Endpoint == nil {
		c.Endpoint = func(seed uint64) (poise.Policy, error) {
			return NewWeightedRandom(WeightedRandomConfig{Seed: seed}), nil
		}
	}
	return c, nil
}

// topology is what Priority and Locality have in common: it compiles a View into
// scopes with their shares of the traffic, and keeps an endpoint policy for each.
type topology struct {
	cfg        TopologyConfig
	name       string
	localities bool
	needsKey   bool // the endpoint policies answer ErrNoKey without one
	chance     *poise.Generator

	mu syncx.Mutex // orders Prepare
	// Guarded by mu. The endpoint policies outlive the Pickers. Those of places of
	// which the last View had no candidate are dropped.
	endpoints map[place]poise.Policy
}

// place names a scope from one View to the next.
type place struct {
	priority uint32
	locality string // "" where localities do not matter
}

func newTopology(cfg TopologyConfig, name string, localities bool) (*topology, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &topology{cfg: cfg, name: name, localities: localities, chance: seeded(derived(cfg.Seed, seedOfScopes))}
	t.needsKey, err = needsKey(t.endpoint(place{}))
	return t, err
}

// What seeds are derived for. Each stream is apart from the others, and from that
// of a policy which was given the same seed as it is: streams in step would tie
// the choice of the member to the choice of the scope.
const (
	seedOfScopes = iota
	seedOfEndpoints
)

// derived returns a seed made from another, or 0 for no seed.
func derived(seed uint64, purpose byte) uint64 {
	if seed == 0 {
		return 0
	}
	return max(1, poise.Mix64(uint64(poise.FNVBasis.Byte(purpose).Uint64(seed))))
}

// endpoint makes the endpoint policy of a place. Its seed depends on the place, so
// that the order in which places appear does not matter.
func (t *topology) endpoint(at place) (poise.Policy, error) {
	seed := derived(t.cfg.Seed, seedOfEndpoints)
	if seed != 0 {
		seed = max(1, poise.Mix64(uint64(poise.FNVBasis.Uint64(seed).Uint64(uint64(at.priority)).String(at.locality))))
	}
	p, err := t.cfg.Endpoint(seed)
	if err == nil && p == nil {
		err = &poise.FieldError{Field: "Endpoint", Value: p, Err: errNilPolicy}
	}
	return p, err
}

// needsKey asks a policy that is thrown away afterwards for one pick without a
// key. A pick that the endpoint policy would refuse so must not draw a scope.
func needsKey(p poise.Policy, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	v, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "only", Load: poise.NewInFlight(0)}})
	if err != nil {
		return false, err
	}
	picker, err := p.Prepare(v)
	if err != nil {
		return false, err
	}
	_, err = picker.Pick(poise.Query{})
	return isNoKey(err), nil
}

// prepare returns a Picker for the View, or the error of an endpoint policy.
func (t *topology) prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	groups, err := plan(v, t.cfg, t.localities)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := compiler{topology: t, view: v, endpoints: map[place]poise.Policy{}}
	picker, err := c.compile(groups)
	if err != nil {
		return nil, err
	}
	t.endpoints = c.endpoints
	return picker, nil
}
