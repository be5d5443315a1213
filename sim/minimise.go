package sim

import (
	"math"
	"slices"
	"time"
)

// enough is how many calls a minimised scenario keeps, so that what fails is not
// chance.
const enough = 200

// Minimise returns a smaller scenario in which something that must hold still fails,
// by more than half as much as in s: fewer events, servers and clients, plainer
// calls. A scenario in which everything holds is returned as it is.
func Minimise(s *Scenario, cfg JudgeConfig) *Scenario {
	if cfg.Seeds == 0 {
		cfg.Seeds = s.Seeds
	}
	by := excess(s, cfg) / 2
	if by == 0 {
		return s
	}
	for {
		smaller := reduce(s, func(c *Scenario) bool {
			return c.Calls.Rate*c.Length.Seconds() >= enough && excess(c, cfg) > by
		})
		if smaller == nil {
			return s
		}
		s = smaller
	}
}

// excess is by how much the worst verdict fails, 0 if everything holds. A run that
// ends in an error fails by more than anything else.
func excess(s *Scenario, cfg JudgeConfig) (worst float64) {
	results, _, err := Judge(s, cfg)
	if err != nil {
		return math.Inf(1)
	}
	for _, r := range results {
		for _, v := range r.Verdicts {
			if !v.Holds {
				worst = max(worst, math.Abs(v.Value-v.Bound)-v.Slack, math.SmallestNonzeroFloat64)
			}
		}
	}
	return worst
}

// reduce returns the first of the smaller scenarios that fails, nil if none does.
func reduce(s *Scenario, fails func(*Scenario) bool) *Scenario {
	for _, smaller := range reductions(s) {
		if fails(smaller) {
			return smaller
		}
	}
	return nil
}

// copied returns a scenario that shares nothing that a reduction changes.
func (s *Scenario) copied() *Scenario {
	c := *s
	c.Servers, c.Events, c.Musts = slices.Clone(s.Servers), slices.Clone(s.Events), slices.Clone(s.Musts)
	return &c
}

// reductions returns scenarios that are each smaller in one way.
func reductions(s *Scenario) (all []*Scenario) {
	try := func(change func(*Scenario)) {
		c := s.copied()
		change(c)
		if c.String() != s.String() {
			all = append(all, c)
		}
	}
	for i := range s.Musts {
		if len(s.Musts) > 1 {
			try(func(c *Scenario) { c.Musts = []Must{s.Musts[i]} })
		}
	}
	for i := range s.Events {
		try(func(c *Scenario) { c.Events = slices.Delete(c.Events, i, i+1) })
	}
	if n := len(s.Servers); n > 1 {
		for _, keep := range []int{n / 2, n - 1} {
			try(func(c *Scenario) { c.shrink(keep) })
		}
	}
	try(func(c *Scenario) { c.Clients = 1 })
	try(func(c *Scenario) {
		for i := range c.Servers {
			c.Servers[i] = Server{Cost: 5 * time.Millisecond, Delay: 500 * time.Microsecond}
		}
	})
	try(func(c *Scenario) { c.Calls.Costs = Constant })
	try(func(c *Scenario) { c.Calls.Gaps = Constant })
	try(func(c *Scenario) { c.Calls.Posts = 0 })
	try(func(c *Scenario) { c.Calls.Marked = 0 })
	try(func(c *Scenario) { c.Calls.Body = 0 })
	try(func(c *Scenario) { c.Calls.Keys = 0 })
	try(func(c *Scenario) { c.Calls.AttemptTimeout = 0 })
	try(func(c *Scenario) { c.Calls.Deadline = 0 })
	try(func(c *Scenario) { c.Calls.Rate /= 2 })
	for i := range s.Events {
		try(func(c *Scenario) { c.Events[i].Fault.Probability = 0 })
		try(func(c *Scenario) { c.Events[i].Fault.RetryAfter = 0 })
	}
	return all
}

// shrink keeps the first servers only.
func (s *Scenario) shrink(keep int) {
	s.Servers = s.Servers[:keep]
	for i := range s.Events {
		e := &s.Events[i]
		if e.Servers == nil {
			continue
		}
		e.Servers = slices.DeleteFunc(slices.Clone(e.Servers), func(server int) bool { return server >= keep })
	}
	s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Servers != nil && len(e.Servers) == 0 })
}
