package fuzz

import (
	"errors"
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

const (
	topologyCandidates = 32 // at most
	topologyPicks      = 24
)

// FuzzTopology reads its input as settings and as candidates in four priorities
// and four localities, and picks by Priority and by Locality. What a decision says
// of the scope must be true of the candidate, errors must be those that the
// candidates call for, and equal policies must pick the same.
func FuzzTopology(f *testing.F) {
	for _, seed := range topologySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := playTopology(input, newTopologies); err != nil {
			t.Fatal(err)
		}
	})
}

// topologySeeds reach healthy, short, panicking and rejecting sets, and retries.
var topologySeeds = [][]byte{
	{},
	{0, 40, 50, 1, 4, 0x00, 0, 0x04, 16, 0x01, 0, 0x05, 8},                   // all eligible
	{0, 0, 50, 2, 5, 0x00, 0, 0x14, 0, 0x01, 0, 0x05, 0, 0xc0, 0},            // spills, one was tried
	{0, 0, 50, 3, 4, 0x00, 0, 0x10, 0, 0x14, 1, 0x20, 0},                     // panics
	{1, 0, 50, 4, 4, 0x00, 0, 0x10, 0, 0x14, 1, 0x31, 0},                     // panics and rejects
	{2, 0, 50, 5, 3, 0x00, 0, 0x10, 0, 0x14, 0},                              // short without panic
	{0, 0, 50, 6, 3, 0x10, 0, 0x31, 0, 0x22, 0},                              // all down
	{3, 0, 50, 7, 3, 0x10, 0, 0x31, 0, 0x22, 0},                              // all down, panic off
	{1, 0, 50, 8, 6, 0xc0, 0, 0x10, 0, 0x10, 0, 0xc1, 0, 0x11, 0, 0x11, 0},   // rejects, all tried
	{4, 0, 20, 9, 6, 0x00, 0, 0x10, 0, 0xc1, 0, 0x11, 248, 0x06, 3, 0x4b, 1}, // by key, a large weight
}

type topologyCase struct {
	cfg      policy.TopologyConfig
	samples  []poise.Sample
	eligible int
	usable   int // eligible, or to be used in a panic
	tried    *poise.Tried
	untried  int // eligible ones
}

// readTopology reads a case.
func readTopology(input []byte) *topologyCase {
	next := func() int {
		if len(input) == 0 {
			return 0
		}
		b := input[0]
		input = input[1:]
		return int(b)
	}
	c := &topologyCase{tried: new(poise.Tried)}
	flags := next()
	c.cfg.FailClosed, c.cfg.PanicOff, c.cfg.ByKey = flags&1 != 0, flags&2 != 0, flags&4 != 0
	c.cfg.Overprovisioning = 100 + uint32(next())
	c.cfg.PanicThreshold = uint32(next() % 101)
	c.cfg.Seed = uint64(next()) + 1
	c.samples = make([]poise.Sample, next()%(topologyCandidates+1))
	for i := range c.samples {
		s := &c.samples[i]
		place, more := next(), next()
		s.ID = fmt.Sprintf("backend-%d", i)
		s.Priority, s.Locality = uint32(place&3), fmt.Sprint("zone-", place>>2&3)
		s.LocalityWeight, _ = poise.NewWeight(uint32(1 + place&15))
		s.Status = []poise.Status{poise.Ready, poise.Unavailable, poise.Draining, poise.Ready}[place>>4&3]
		if place>>4&3 == 3 {
			s.Excluded = poise.ExcludedCircuitOpen
		}
		s.PanicOptOut = more&1 != 0
		s.Weight, _ = poise.NewWeight(uint32(1) << (more >> 3))
		isEligible := s.Status == poise.Ready && s.Excluded == poise.NotExcluded
		if place>>6 == 3 {
			c.tried.Add(s.ID, 0)
		} else if isEligible {
			c.untried++
		}
		if isEligible {
			c.eligible++
		}
		if isEligible || s.Status != poise.Draining && !s.PanicOptOut {
			c.usable++
		}
	}
	return c
}

func newTopologies(cfg policy.TopologyConfig) (priority, locality poise.Policy, err error) {
	if priority, err = policy.NewPriority(cfg); err != nil {
		return nil, nil, err
	}
	locality, err = policy.NewLocality(cfg)
	return priority, locality, err
}

// playTopology plays the input to policies that the function makes.
func playTopology(input []byte, with func(policy.TopologyConfig) (priority, locality poise.Policy, err error)) error {
	c := readTopology(input)
	candidates := make([]poise.Candidate, len(c.samples))
	for i := range candidates {
		candidates[i] = c.samples[i]
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		return err
	}
	var pickers [2][2]poise.Picker // each policy twice
	for k := range 2 {
		priority, locality, err := with(c.cfg)
		if err != nil {
			return err
		}
		for i, p := range []poise.Policy{priority, locality} {
			if pickers[i][k], err = p.Prepare(v); err != nil {
				return err
			}
		}
	}
	for pick := range topologyPicks {
		for i, name := range []string{"Priority", "Locality"} {
			q := poise.Query{Key: poise.Uint64Key(uint64(pick)), Why: new(poise.Decision)}
			if pick%3 == 2 {
				q.Tried = c.tried
			}
			if err := c.check(name, v, pickers[i], q); err != nil {
				return fmt.Errorf("%s, pick %d: %w", name, pick, err)
			}
		}
	}
	return nil
}

// check asks two equal Pickers the same and judges the answer.
func (c *topologyCase) check(name string, v *poise.View, equal [2]poise.Picker, q poise.Query) error {
	selection, err := equal[0].Pick(q)
	why := *q.Why
	q.Why = nil
	if again, againErr := equal[1].Pick(q); again != selection || againErr != err {
		return fmt.Errorf("an equal policy answers %v (%v), this one %v (%v)", again, againErr, selection, err)
	}
	if why.Err != err {
		return fmt.Errorf("answers %v and says %v", err, why.Err)
	}
	if err != nil {
		return c.checkError(err, &why, q.Tried != nil)
	}
	index, err := v.Index(selection)
	if err != nil {
		return err
	}
	s, scope := &c.samples[index], &why.Scope
	isEligible := s.Status == poise.Ready && s.Excluded == poise.NotExcluded
	switch {
	case why.Chosen != index || scope.Policy != name || scope.Priority != s.Priority:
	case s.Status == poise.Draining || q.Tried.Has(s.ID, 0):
	case !isEligible && (!scope.Panic || s.PanicOptOut || c.cfg.FailClosed || c.cfg.PanicOff):
	case scope.Panic && (c.cfg.PanicOff || c.cfg.FailClosed):
	case name == "Locality" && (scope.Locality != s.Locality || scope.LocalityWeight != s.LocalityWeight.Value()):
	case name == "Locality" && (scope.EffectiveWeight < uint64(scope.LocalityWeight) || scope.EffectiveWeight > 1_000_000*uint64(scope.LocalityWeight)):
	case name == "Priority" && (scope.Locality != "" || scope.EffectiveWeight != 0):
	default:
		return nil
	}
	return fmt.Errorf("picked %+v and said %+v", *s, why)
}

// checkError judges the error of a pick.
func (c *topologyCase) checkError(err error, why *poise.Decision, retry bool) error {
	panics := !c.cfg.PanicOff && c.usable > 0
	switch {
	case err == poise.ErrEmpty && len(c.samples) == 0,
		err == poise.ErrNoEligible && len(c.samples) > 0 && c.eligible == 0 && !panics,
		err == poise.ErrAllTried && retry && c.untried == 0 && (c.eligible > 0 || panics && !c.cfg.FailClosed),
		errors.Is(err, poise.ErrPanicRejected) && c.cfg.FailClosed && panics && why.Scope.Panic && (!retry || c.eligible == 0 || c.untried > 0):
		return nil
	}
	return fmt.Errorf("%d eligible, %d untried, %d usable: %w", c.eligible, c.untried, c.usable, err)
}

// The target is worth nothing if it accepts policies that break their word.
func TestFuzzTopology_NoticesAPolicyThatBreaksItsWord(t *testing.T) {
	for name, change := range map[string]func(*policy.TopologyConfig){
		"panics where it must not": func(cfg *policy.TopologyConfig) { cfg.PanicOff = false },
		"uses whom it must reject": func(cfg *policy.TopologyConfig) { cfg.FailClosed = false },
		"rejects what it must use": func(cfg *policy.TopologyConfig) { cfg.FailClosed = true },
		"does not replay":          func(cfg *policy.TopologyConfig) { cfg.Seed = 0 },
	} {
		noticed := false
		for _, seed := range topologySeeds {
			noticed = noticed || playTopology(seed, func(cfg policy.TopologyConfig) (priority, locality poise.Policy, err error) {
				change(&cfg)
				return newTopologies(cfg)
			}) != nil
		}
		if !noticed {
			t.Errorf("no seed notices a topology that %s", name)
		}
	}
}
