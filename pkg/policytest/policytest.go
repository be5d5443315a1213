package policytest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Suite says how to make the policy under test. New is required; the zero value
// of every other field is a sensible default.
type Suite struct {
	_ struct{}
	// New returns the policy in its first state, a new one at each call. All that it
	// returns are equal: a policy that draws is given the same seed each time.
	New func() poise.Policy
	// Refusals are the errors, matched by errors.Is, with which the policy may refuse
	// a pick although there is an untried eligible candidate. Refusing a query
	// without a key by ErrNoKey, and a load that cannot be told by ErrLoadOverflow,
	// goes without saying.
	Refusals []error
	// Seed makes the candidate sets and the queries. 0 means 1. A failure names it.
	Seed uint64
	// Localities are those that the candidates are in. Name the ones that the policy
	// knows, for no law reaches a branch for a locality that no candidate is in. nil
	// means "", "east" and "west".
	Localities []string
	// Identities are those of the first candidates of each set, distinct and not
	// empty. The others, all if it is nil, are numbered.
	Identities []string
	// Samples are candidate sets beside those that the suite makes, each one that
	// NewView takes: for what Unvaried names and the policy looks at.
	Samples [][]poise.Sample

	// shown, if not nil, is given the candidates of every View. No other policy than
	// one that the test of this package planted can come by them.
	shown func([]*witness)
}

// Run holds the policy against every law, each in a subtest. It counts
// allocations, so it must not run in parallel with other tests. It logs what Unvaried
// returns.
func Run(t *testing.T, s Suite) {
	t.Helper()
	t.Logf("no candidate had: %s", strings.Join(s.Unvaried(), ", "))
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			if err := s.check(l); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check holds the policy against every law and returns what was broken, joined,
// or nil. It is Run without a test.
func Check(s Suite) error {
	var broken []error
	for _, l := range laws {
		broken = append(broken, s.check(l))
	}
	return errors.Join(broken...)
}

// errNoNew is the refusal of a Suite without a policy.
var errNoNew = errors.New("policytest: Suite.New is nil")

// law is one sentence of a contract, made executable.
type law struct {
	name  string
	holds func(*lab) error
}

// laws lists them all. Each function quotes its sentence.
var laws = []law{
	{"Prepare accepts a View without anyone to pick", acceptsHopelessViews},
	{"preparing again changes no pick", preparingAgainChangesNothing},
	{"a refused Prepare changes nothing", refusedPrepareChangesNothing},
	{"only eligible candidates are picked", picksOnlyEligible},
	{"an empty View is ErrEmpty", emptyIsErrEmpty},
	{"no eligible candidate is ErrNoEligible", noneEligibleIsErrNoEligible},
	{"the untried come first", untriedComeFirst},
	{"all tried is ErrAllTried", allTriedIsErrAllTried},
	{"a pick succeeds where it can", succeedsWhereItCan},
	{"a failed pick leaves no trace", failedPickLeavesNoTrace},
	{"no Candidate is asked again", asksNoCandidateAgain},
	{"equal policies pick the same", equalPoliciesPickTheSame},
	{"Why is the truth", whyIsTheTruth},
	{"Why changes no pick", whyChangesNoPick},
	{"a pick allocates nothing", allocatesNothing},
	{"each load is read once", readsEachLoadOnce},
	{"a load that cannot be told is ErrLoadOverflow", untoldLoadIsErrLoadOverflow},
	{"overlapping picks keep the laws", overlappingPicksKeepTheLaws},
}

// check holds the policy against one law. A panic breaks it like anything else.
func (s Suite) check(l law) (broken error) {
	if s.New == nil {
		return errNoNew
	}
	s = s.withDefaults()
	name := func(what any) error {
		return fmt.Errorf("%s: %v\nreplay with Suite.Seed %d", l.name, what, s.Seed)
	}
	defer func() {
		if p := recover(); p != nil {
			broken = name(fmt.Sprint("panic: ", p))
		}
	}()
	if err := l.holds(s.lab()); err != nil {
		return name(err)
	}
	return nil
}

func (s Suite) withDefaults() Suite {
	if s.Seed == 0 {
		s.Seed = 1
	}
	if s.Localities == nil {
		s.Localities = []string{"", "east", "west"}
	}
	return s
}

func (s Suite) lab() *lab { return &lab{suite: s, chance: poise.NewGenerator(s.Seed)} }
