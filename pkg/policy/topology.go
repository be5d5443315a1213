package policy

import (
	"maps"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// topology is what Priority and Locality have in common: it compiles a View into
// scopes with their shares of the traffic, and keeps an endpoint policy for each.
type topology struct {
	cfg        PriorityConfig
	name       string
	localities bool
	chance     *poise.Generator

	mu syncx.Mutex // orders Prepare
	// Guarded by mu. endpoints outlive the Pickers, by priority and locality; those
	// of scopes that the last View did not have are dropped.
	endpoints map[place]poise.Policy
}

// place names a scope from one View to the next.
type place struct {
	priority uint32
	locality string
}

func newTopology(cfg PriorityConfig, name string, localities bool) (*topology, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &topology{cfg: cfg, name: name, localities: localities, chance: seeded(cfg.Seed)}, nil
}

// prepare returns a Picker for the View, or the error of an endpoint policy.
func (t *topology) prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := compiler{topology: t, view: v, endpoints: map[place]poise.Policy{}}
	groups := groupByPriority(v)
	shareOut(groups, t.cfg)
	picker := &topologyPicker{topology: t, view: v}
	for _, g := range groups {
		if err := c.addGroup(picker, g); err != nil {
			return nil, err
		}
	}
	t.endpoints = c.endpoints
	return picker, nil
}

// newEndpoint makes the endpoint policy of a place. The default is seeded by the
// topology's seed and the place, so that the order in which places appear does not
// matter.
func (t *topology) newEndpoint(at place) (poise.Policy, error) {
	if t.cfg.Endpoint != nil {
		return t.cfg.Endpoint()
	}
	seed := uint64(0)
	if t.cfg.Seed != 0 {
		seed = poise.Mix64(uint64(poise.FNVBasis.Uint64(t.cfg.Seed).Uint64(uint64(at.priority)).String(at.locality))) | 1
	}
	return NewRandom(RandomConfig{Seed: seed})
}

// compiler builds the scopes of one Picker.
type compiler struct {
	topology  *topology
	view      *poise.View
	endpoints map[place]poise.Policy
}

// addGroup adds the scopes of one priority: one for each locality, or one.
func (c *compiler) addGroup(p *topologyPicker, g *group) error {
	priority := new(wheel[*scope])
	if g.panics && c.topology.cfg.FailClosed {
		if g.inPanic == 0 || g.traffic == 0 {
			return nil
		}
		rejecting := &scope{choice: c.choice(g, ""), rejected: true}
		if err := priority.add(1, rejecting); err != nil {
			return err
		}
		return p.priorities.add(g.traffic, priority)
	}
	err := c.eachLocality(g, func(locality string, members []*member) error {
		s, err := c.scope(g, locality, members)
		if err == nil && s != nil {
			p.scopes = append(p.scopes, s)
			err = priority.add(s.choice.EffectiveWeight, s)
		}
		return err
	})
	if err != nil || priority.total == 0 {
		return err
	}
	if g.traffic > 0 {
		return p.priorities.add(g.traffic, priority)
	}
	return nil
}

// eachLocality calls f for the members of each locality in the order of their
// names, or once for all where localities do not matter.
func (c *compiler) eachLocality(g *group, f func(string, []*member) error) error {
	if !c.topology.localities {
		all := make([]*member, len(g.members))
		for i := range g.members {
			all[i] = &g.members[i]
		}
		return f("", all)
	}
	byName := map[string][]*member{}
	for i := range g.members {
		m := &g.members[i]
		byName[m.locality] = append(byName[m.locality], m)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if err := f(name, byName[name]); err != nil {
			return err
		}
	}
	return nil
}

// scope prepares the endpoint policy of one scope; nil if nobody is selected.
func (c *compiler) scope(g *group, locality string, members []*member) (*scope, error) {
	var selected []int
	var weight, total uint64
	for _, m := range members {
		total += m.weight
		if g.selected(m) {
			selected = append(selected, m.index)
			weight += m.weight
		}
	}
	if weight == 0 {
		return nil, nil
	}
	s := &scope{choice: c.choice(g, locality)}
	if c.topology.localities {
		zone := members[0].zone.Value()
		s.choice.LocalityWeight = zone
		s.choice.EffectiveWeight = uint64(zone) * units(weight, total, c.topology.cfg.Overprovisioning)
	}
	view, err := c.view.Scope(selected)
	if err != nil {
		return nil, err
	}
	endpoint, err := c.endpoint(place{g.priority, locality})
	if err != nil {
		return nil, err
	}
	s.picker, err = endpoint.Prepare(view)
	return s, err
}

func (c *compiler) choice(g *group, locality string) poise.ScopeChoice {
	return poise.ScopeChoice{
		Policy: c.topology.name, Priority: g.priority, Panic: g.panics, Locality: locality, EffectiveWeight: 1,
	}
}

// endpoint returns the endpoint policy of a place, the same from View to View.
func (c *compiler) endpoint(at place) (poise.Policy, error) {
	endpoint := c.topology.endpoints[at]
	if endpoint == nil {
		var err error
		if endpoint, err = c.topology.newEndpoint(at); err != nil {
			return nil, err
		}
	}
	c.endpoints[at] = endpoint
	return endpoint, nil
}
