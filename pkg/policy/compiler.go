package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// compiler makes one Picker of a plan.
type compiler struct {
	topology *topology
	view     *poise.View
	// endpoints are those of the places that the View has.
	endpoints map[place]poise.Policy
}

// compile returns the Picker. Requires the topology's mu.
func (c *compiler) compile(groups []*group) (*topologyPicker, error) {
	c.keep()
	p := &topologyPicker{topology: c.topology, view: c.view}
	serves := false
	for _, g := range groups {
		if g.traffic == 0 && g.eligible == 0 {
			continue
		}
		l, err := c.level(g)
		if err != nil {
			return nil, err
		}
		if g.traffic == 0 {
			p.spare = append(p.spare, l)
			continue
		}
		p.levels.add(g.traffic, l)
		serves = serves || !l.rejects
	}
	if !serves && p.levels.total > 0 {
		p.levels = merged(p.levels.things)
	}
	return p, nil
}

// merged returns one level in place of levels that all reject: there is nothing to
// draw. Together they have whom each has.
func merged(levels []*level) (all weightedList[*level]) {
	for _, l := range levels[1:] {
		for _, s := range l.scopes.things {
			levels[0].scopes.add(1, s)
		}
	}
	all.add(1, levels[0])
	return all
}

// keep takes over the endpoint policies of the places of which the View has a
// candidate in whatever state: nobody loses state by being ineligible for a while.
func (c *compiler) keep() {
	for _, s := range c.view.All() {
		at := placeOf(&s, c.topology.localities)
		if endpoint := c.topology.endpoints[at]; endpoint != nil {
			c.endpoints[at] = endpoint
		}
	}
}

// level makes one priority.
func (c *compiler) level(g *group) (*level, error) {
	l := &level{rejects: g.rejects, choice: c.choice(g)}
	for _, z := range g.zones {
		weight := g.available(&z.tally)
		if weight == 0 {
			continue
		}
		s, err := c.scope(g, z)
		if err != nil {
			return nil, err
		}
		if c.topology.localities {
			weight = z.effective
		}
		l.scopes.add(weight, s)
	}
	return l, nil
}

// scope makes one place. A level that rejects never asks its endpoint policy.
func (c *compiler) scope(g *group, z *zone) (*scope, error) {
	view, err := c.view.Scope(g.used(z))
	if err != nil {
		return nil, err
	}
	s := &scope{view: view, choice: c.choice(g)}
	if c.topology.localities {
		s.choice.Locality, s.choice.LocalityWeight, s.choice.EffectiveWeight = z.locality, z.weight, z.effective
	}
	if g.rejects {
		return s, nil
	}
	at := place{g.priority, z.locality}
	endpoint := c.endpoints[at]
	if endpoint == nil {
		if endpoint, err = c.topology.endpoint(at); err != nil {
			return nil, err
		}
		c.endpoints[at] = endpoint
	}
	s.picker, err = endpoint.Prepare(view)
	return s, err
}

func (c *compiler) choice(g *group) poise.ScopeChoice {
	return poise.ScopeChoice{Policy: c.topology.name, Priority: g.priority, Panic: g.panics}
}
