package policytest

import (
	"fmt"
	"runtime"

	poise "github.com/copyleftdev/poise-go/pkg"
)

const (
	overlapping = 8   // goroutines that pick at once
	picksOfEach = 150 // picks of each of them
)

// Claim: Picks that overlap, with each other or with Prepare, keep every one of these laws.
func overlappingPicksKeepTheLaws(l *lab) error {
	p := l.suite.New()
	var stages []*stage
	for _, w := range l.overlapWorlds() {
		s, err := l.open(p, w)
		if err != nil {
			return err
		}
		stages = append(stages, s)
	}
	results := make(chan error, overlapping)
	begin := make(chan struct{})
	for g := range overlapping {
		own := &lab{suite: l.suite, chance: poise.NewGenerator(l.suite.Seed + uint64(g))}
		go func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					results <- fmt.Errorf("panic: %v", panicked)
				}
			}()
			<-begin
			results <- own.overlap(p, stages, g)
		}()
	}
	close(begin)
	var first error
	for range overlapping {
		if err := <-results; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// overlapWorlds are few, so that many picks meet on one Picker.
func (l *lab) overlapWorlds() []*world {
	all := func(int) bool { return true }
	second := func(i int) bool { return i%2 == 0 }
	none := func(int) bool { return false }
	list := []*world{
		l.newWorld("all", 5, onlyInFlight, all),
		l.newWorld("every second", 9, mixed, second),
		l.newWorld("none", 3, onlySteady, none),
		l.newWorld("all", 3, onlySteady, all),
	}
	return append(append(list, l.scoped(list[1])), l.users()...)
}

// overlap is one goroutine's share: picks in its own order, checked by every law
// that looks at one pick, and now and then a Prepare.
func (l *lab) overlap(p poise.Policy, stages []*stage, g int) error {
	queries := make([][]poise.Query, len(stages))
	for i, s := range stages {
		queries[i] = l.queries(s.world)
	}
	for k := range picksOfEach {
		at := (k + g) % len(stages)
		s := stages[at]
		if k%16 == g {
			again := *s
			picker, err := p.Prepare(s.view)
			if err != nil {
				return fmt.Errorf("%s: Prepare answered %w", s.name, err)
			}
			again.picker = picker
			s = &again
		}
		q := queries[at][k%len(queries[at])]
		if k%2 == 0 {
			q.Why = new(poise.Decision)
		}
		index, err := s.pick(q)
		if err := s.checkAll(&q, index, err, l.suite.Refusals); err != nil {
			return err
		}
		if k%8 == 0 {
			runtime.Gosched()
		}
	}
	return nil
}

// checkAll holds one pick against every law that looks at one pick.
func (s *stage) checkAll(q *poise.Query, index int, err error, refusals []error) error {
	for _, broken := range []error{
		s.checkEligible(q, index, err),
		s.checkRefusal(q, index, err),
		s.checkUntried(q, index, err),
		s.checkSuccess(q, index, err, refusals),
	} {
		if broken != nil {
			return broken
		}
	}
	if q.Why != nil {
		return s.checkWhy(q, index, err)
	}
	return nil
}
