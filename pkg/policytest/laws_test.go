package policytest

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

type (
	pickFunc    = func(*plantedPicker, poise.Query) (poise.Selection, error)
	prepareFunc = func(*planted, *poise.View) (poise.Picker, error)
)

// fault is one way to break a law.
type fault struct {
	law     string
	name    string
	prepare prepareFunc
	pick    pickFunc
}

var errOwn = errors.New("an error of the planted policy")

// sink keeps what a fault allocates.
var sink *poise.Decision

// shared is a turn that all planted policies have in common.
var shared int

var faults = []fault{
	{
		law: "Prepare accepts a View without anyone to pick", name: "answers the View's error",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			if err := v.Check(); err != nil {
				return nil, err
			}
			return p.sound(v)
		},
	},
	{
		law: "Prepare accepts a View without anyone to pick", name: "returns nothing for an empty View",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			if v.Len() == 0 {
				return nil, nil
			}
			return p.sound(v)
		},
	},
	{
		law: "Prepare accepts a View without anyone to pick", name: "divides by the eligible",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			p.turn.Store(100 / uint64(v.EligibleLen()))
			return p.sound(v)
		},
	},
	{
		law: "preparing again changes no pick", name: "starts over",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			p.turn.Store(0)
			return p.sound(v)
		},
	},
	{
		law: "preparing again changes no pick", name: "refuses the second View",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			if p.prepared.Load() > 1 {
				return nil, errOwn
			}
			return p.sound(v)
		},
	},
	{
		law: "a refused Prepare changes nothing", name: "starts over before it refuses",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			if v.CheckLoad() != nil {
				p.turn.Store(0)
				return nil, errOwn
			}
			return p.sound(v)
		},
	},
	{
		law: "a refused Prepare changes nothing", name: "has no Picker after a refusal",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			if v.CheckLoad() != nil || p.refused {
				p.refused = true
				return nil, errOwn
			}
			return p.sound(v)
		},
	},
	{
		law: "a refused Prepare changes nothing", name: "breaks the Picker in use",
		prepare: func(p *planted, v *poise.View) (poise.Picker, error) {
			s, err := v.Sample(0)
			if err == nil && s.Load != nil && s.Load.Unit() == poise.CostNanoseconds {
				p.refused = true
				return nil, errOwn
			}
			return p.sound(v)
		},
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if p.policy.refused {
				return p.fails(q, errOwn)
			}
			return p.sound(q)
		},
	},
	{
		law: "only eligible candidates are picked", name: "widens the scope",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			for i, s := range p.view.All() {
				if p.view.Reason(i) == poise.NotExcluded || p.view.Reason(i) == poise.ExcludedDraining || s.PanicOptOut {
					continue
				}
				wide, err := p.view.Scope([]int{i})
				if err != nil {
					return poise.Selection{}, err
				}
				return wide.Select(i)
			}
			return p.sound(q)
		},
	},
	{
		law: "only eligible candidates are picked", name: "returns the zero Selection",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			_, err := p.sound(q)
			return poise.Selection{}, err
		},
	},
	{
		law: "an empty View is ErrEmpty", name: "answers ErrNoEligible",
		pick: instead(poise.ErrEmpty, poise.ErrNoEligible),
	},
	{
		law: "an empty View is ErrEmpty", name: "answers both",
		pick: instead(poise.ErrEmpty, errors.Join(poise.ErrEmpty, poise.ErrNoEligible)),
	},
	{
		law: "an empty View is ErrEmpty", name: "panics",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			p.policy.turn.Add(100 % uint64(p.view.Len()))
			return p.sound(q)
		},
	},
	{
		law: "an empty View is ErrEmpty", name: "asks for a key first",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Key.IsZero() {
				return p.fails(q, poise.ErrNoKey)
			}
			return p.sound(q)
		},
	},
	{
		law: "no eligible candidate is ErrNoEligible", name: "answers ErrEmpty",
		pick: instead(poise.ErrNoEligible, poise.ErrEmpty),
	},
	{
		law: "no eligible candidate is ErrNoEligible", name: "answers ErrAllTried",
		pick: instead(poise.ErrNoEligible, poise.ErrAllTried),
	},
	{
		law: "the untried come first", name: "ignores Tried",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			q.Tried = nil
			return p.sound(q)
		},
	},
	{
		law: "the untried come first", name: "forgets the tried after the first",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Tried.Len() > 1 {
				q.Tried = nil
			}
			return p.sound(q)
		},
	},
	{
		law: "the untried come first", name: "takes another life for tried",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			tried := new(poise.Tried)
			for _, s := range p.view.All() {
				for life := range uint64(5) {
					if q.Tried.Has(s.ID, life) {
						tried.Add(s.ID, s.Incarnation)
					}
				}
			}
			q.Tried = tried
			return p.sound(q)
		},
	},
	{
		law: "all tried is ErrAllTried", name: "goes to anyone",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			selection, err := p.sound(q)
			if err == poise.ErrAllTried {
				q.Tried = nil
				return p.sound(q)
			}
			return selection, err
		},
	},
	{
		law: "all tried is ErrAllTried", name: "answers ErrNoEligible",
		pick: instead(poise.ErrAllTried, poise.ErrNoEligible),
	},
	{
		law: "a pick succeeds where it can", name: "gives up after two that are not eligible",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if p.view.Reason(0) != poise.NotExcluded && p.view.Reason(1) != poise.NotExcluded {
				return p.fails(q, poise.ErrNoEligible)
			}
			return p.sound(q)
		},
	},
	{
		law: "a pick succeeds where it can", name: "takes an empty key for none",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if len(q.Key.AppendStream(nil)) <= 1 {
				return p.fails(q, poise.ErrNoKey)
			}
			return p.sound(q)
		},
	},
	{
		// Cases: G28.
		law: "a pick succeeds where it can", name: "selects an index that is out of range",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if _, err := p.sound(q); err != nil {
				return poise.Selection{}, err
			}
			return p.view.Select(p.view.Len())
		},
	},
	{law: "a failed pick leaves no trace", name: "takes a turn on ErrEmpty", pick: trace(poise.ErrEmpty)},
	{law: "a failed pick leaves no trace", name: "takes a turn on ErrNoEligible", pick: trace(poise.ErrNoEligible)},
	{law: "a failed pick leaves no trace", name: "takes a turn on ErrAllTried", pick: trace(poise.ErrAllTried)},
	{
		law: "a failed pick leaves no trace", name: "takes a turn on ErrNoKey",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Key.IsZero() && p.view.Check() == nil {
				p.policy.turn.Add(1)
				return p.fails(q, poise.ErrNoKey)
			}
			return p.sound(q)
		},
	},
	{
		law: "equal policies pick the same", name: "draws from the runtime",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			p.policy.turn.Store(rand.Uint64() >> 1)
			return p.sound(q)
		},
	},
	{
		law: "equal policies pick the same", name: "shares its turn with its equals",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			shared++
			p.policy.turn.Store(uint64(shared))
			return p.sound(q)
		},
	},
	{
		law: "Why changes no pick", name: "takes a turn to explain",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Why != nil {
				p.policy.turn.Add(1)
			}
			return p.sound(q)
		},
	},
	{law: "Why is the truth", name: "leaves it empty", pick: lying(func(d *poise.Decision) { *d = poise.Decision{} })},
	{
		law: "Why is the truth", name: "does not fill it on failure",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if rest := p.view.Untried(q.Tried); rest.Check() != nil {
				q.Why = nil
			}
			return p.sound(q)
		},
	},
	{law: "Why is the truth", name: "no View", pick: lying(func(d *poise.Decision) { d.View = nil })},
	{law: "Why is the truth", name: "a scope of nobody", pick: lying(func(d *poise.Decision) { d.View, _ = d.View.Scope(nil) })},
	{law: "Why is the truth", name: "an equal View", pick: lying(func(d *poise.Decision) { d.View = copied(d.View) })},
	{law: "Why is the truth", name: "no Policy", pick: lying(func(d *poise.Decision) { d.Policy = "" })},
	{law: "Why is the truth", name: "keeps another's Policy", pick: lying(func(d *poise.Decision) { d.Policy = "another" })},
	{law: "Why is the truth", name: "no Rule", pick: lying(func(d *poise.Decision) { d.Rule = poise.RuleNone })},
	{law: "Why is the truth", name: "a Rule on failure", pick: lying(func(d *poise.Decision) { d.Rule = "a custom rule" })},
	{law: "Why is the truth", name: "a Rule of two lines", pick: lying(func(d *poise.Decision) {
		if d.Rule != poise.RuleNone {
			d.Rule = "a rule\nof two lines"
		}
	})},
	{law: "Why is the truth", name: "the wrong candidate", pick: lying(func(d *poise.Decision) { d.Chosen++ })},
	{law: "Why is the truth", name: "no Err", pick: lying(func(d *poise.Decision) { d.Err = nil })},
	{law: "Why is the truth", name: "a stale Err", pick: lying(func(d *poise.Decision) { d.Err = errOwn })},
	{law: "Why is the truth", name: "no Tried", pick: lying(func(d *poise.Decision) { d.Tried = 0 })},
	{law: "Why is the truth", name: "considered nobody", pick: lying(func(d *poise.Decision) { d.Considered = 0 })},
	{law: "Why is the truth", name: "considered fewer than nobody", pick: lying(func(d *poise.Decision) {
		if d.Err != nil {
			d.Considered = -1
		}
	})},
	{law: "Why is the truth", name: "considered all", pick: lying(func(d *poise.Decision) { d.Considered = d.View.Len() })},
	{law: "Why is the truth", name: "compared too many", pick: lying(func(d *poise.Decision) { d.ComparedLen = 3 })},
	{law: "Why is the truth", name: "compared another first", pick: lying(func(d *poise.Decision) {
		if d.View.EligibleLen() > 1 && d.Chosen >= 0 {
			next := (d.View.NextEligible(d.Chosen) + 1) % d.View.EligibleLen()
			d.Compared[0].Index = d.View.Eligible(next)
		}
	})},
	{law: "Why is the truth", name: "compared one that is not eligible", pick: lying(func(d *poise.Decision) {
		for i := range d.View.Len() {
			if d.View.Reason(i) != poise.NotExcluded {
				d.Compared[1].Index, d.ComparedLen = i, 2*d.ComparedLen
			}
		}
	})},
	{law: "Why is the truth", name: "compared one that does not exist", pick: lying(func(d *poise.Decision) {
		d.Compared[1].Index, d.ComparedLen = d.View.Len(), 2*d.ComparedLen
	})},
	{
		law: "a pick allocates nothing", name: "allocates always",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			sink = new(poise.Decision)
			return p.sound(q)
		},
	},
	{
		law: "a pick allocates nothing", name: "allocates to explain",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Why != nil {
				sink = new(poise.Decision)
			}
			return p.sound(q)
		},
	},
	{
		law: "a pick allocates nothing", name: "allocates for the eighth tried",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if q.Tried.Len() == 8 {
				sink = new(poise.Decision)
			}
			return p.sound(q)
		},
	},
	{
		law: "a pick allocates nothing", name: "allocates to fail",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			selection, err := p.sound(q)
			if err != nil {
				err = errors.Join(err)
			}
			return selection, err
		},
	},
	{
		law: "each load is read once", name: "reads to choose and again to explain",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			for range 2 {
				if _, err := p.view.Load(0, q.Now); errors.Is(err, poise.ErrLoadOverflow) {
					return p.fails(q, err)
				}
				if q.Why == nil {
					break
				}
			}
			return p.sound(q)
		},
	},
	{
		law: "a load that cannot be told is ErrLoadOverflow", name: "takes it for 0",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			_, _ = p.view.Load(0, q.Now)
			return p.sound(q)
		},
	},
	{
		law: "a load that cannot be told is ErrLoadOverflow", name: "answers the tracker's own error",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			s, err := p.view.Sample(0)
			if err == nil {
				if _, err := s.Load.Load(q.Now); err != nil {
					return p.fails(q, err)
				}
			}
			return p.sound(q)
		},
	},
	{
		law: "a load that cannot be told is ErrLoadOverflow", name: "does not say why",
		pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			if _, err := p.view.Load(0, q.Now); errors.Is(err, poise.ErrLoadOverflow) {
				return poise.Selection{}, err
			}
			return p.sound(q)
		},
	},
}

// suiteOf returns the Suite of a planted policy.
func suiteOf(prepare prepareFunc, pick pickFunc) Suite {
	return Suite{New: func() poise.Policy { return &planted{prepare: prepare, pick: pick} }}
}

func lawOf(t *testing.T, name string) law {
	t.Helper()
	for _, l := range laws {
		if l.name == name {
			return l
		}
	}
	t.Fatalf("no law is named %q", name)
	return law{}
}

// mustBreak fails the test unless the law fails, and says which and by which seed.
func mustBreak(t *testing.T, s Suite, name string) {
	t.Helper()
	err := s.check(lawOf(t, name))
	if err == nil {
		t.Fatalf("the law %q holds for a policy that breaks it", name)
	}
	for _, part := range []string{name + ": ", "Suite.Seed 1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the failure does not say %q: %v", part, err)
		}
	}
}

func TestLaws_HoldForASoundPolicy(t *testing.T) {
	Run(t, suiteOf(nil, nil))
	if err := Check(suiteOf(nil, nil)); err != nil {
		t.Error(err)
	}
}

func TestLaws_FailOnEveryPlantedFault(t *testing.T) {
	for _, f := range faults {
		t.Run(f.law+"/"+f.name, func(t *testing.T) {
			mustBreak(t, suiteOf(f.prepare, f.pick), f.law)
		})
	}
}

// A policy that keeps the candidates themselves looks at their status at pick time.
func TestLaws_FailOnAPolicyThatAsksCandidatesAgain(t *testing.T) {
	var candidates []*witness
	s := suiteOf(nil, func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		for i := range candidates {
			if candidates[i].Sample().Status == poise.Ready {
				break
			}
		}
		return p.sound(q)
	})
	s.shown = func(w []*witness) { candidates = w }
	mustBreak(t, s, "no Candidate is asked again")
}

// Each of these waits until two picks are under way at once, then does wrong.
func TestLaws_FailOnAPolicyForOneGoroutine(t *testing.T) {
	wrongs := map[string]func(*plantedPicker, poise.Query) (poise.Selection, error){
		"picks nobody": func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			return poise.Selection{}, nil
		},
		"panics": func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			panic("two at once")
		},
		"refuses": func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			return p.fails(q, errOwn)
		},
	}
	for name, wrong := range wrongs {
		t.Run(name, func(t *testing.T) {
			s := Suite{New: func() poise.Policy {
				meet := make(chan struct{})
				return &planted{pick: func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
					if p.view.Check() != nil || p.policy.turn.Load() > 100 {
						return p.sound(q)
					}
					select {
					case meet <- struct{}{}:
					case <-meet:
					}
					p.policy.turn.Store(1000)
					return wrong(p, q)
				}}
			}}
			mustBreak(t, s, "overlapping picks keep the laws")
		})
	}
	t.Run("cannot be prepared while picking", func(t *testing.T) {
		s := suiteOf(func(p *planted, v *poise.View) (poise.Picker, error) {
			if p.turn.Load() > 20 {
				return nil, errOwn
			}
			return p.sound(v)
		}, nil)
		mustBreak(t, s, "overlapping picks keep the laws")
	})
}

func TestLaws_EachIsBrokenBySomeFault(t *testing.T) {
	broken := map[string]bool{
		// These have a test of their own, above.
		"no Candidate is asked again":     true,
		"overlapping picks keep the laws": true,
	}
	for _, f := range faults {
		broken[f.law] = true
	}
	for _, l := range laws {
		if !broken[l.name] {
			t.Errorf("no fault is planted for the law %q", l.name)
		}
	}
}

func TestCheck_JoinsWhatIsBroken(t *testing.T) {
	err := Check(suiteOf(nil, func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		return poise.Selection{}, nil
	}))
	for _, name := range []string{"an empty View is ErrEmpty", "only eligible candidates are picked"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Check does not name %q: %v", name, err)
		}
	}
}

func TestCheck_RefusesASuiteWithoutNew(t *testing.T) {
	if err := Check(Suite{}); !errors.Is(err, errNoNew) {
		t.Errorf("Check answers %v, want %v", err, errNoNew)
	}
}

func TestSuite_RefusalsAreAllowed(t *testing.T) {
	refuse := func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		if p.view.EligibleLen() == 3 && q.Tried.Len() == 0 {
			return p.fails(q, errOwn)
		}
		return p.sound(q)
	}
	s := suiteOf(nil, refuse)
	mustBreak(t, s, "a pick succeeds where it can")
	s.Refusals = []error{errOwn}
	if err := Check(s); err != nil {
		t.Error(err)
	}
}

func TestSuite_SeedReplaysAFailure(t *testing.T) {
	f := func(seed uint64) string {
		s := suiteOf(nil, func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
			q.Tried = nil
			return p.sound(q)
		})
		s.Seed = seed
		return s.check(lawOf(t, "the untried come first")).Error()
	}
	first, second := f(7), f(7)
	if first != second {
		t.Errorf("seed 7 gives two failures:\n%s\n%s", first, second)
	}
	if !strings.Contains(first, "Suite.Seed 7") {
		t.Errorf("the failure does not name its seed: %s", first)
	}
}

// Witnesses that lie to whoever asks twice are what makes "asked once" visible.
func TestWitness_ChangesAtEveryReading(t *testing.T) {
	w := &witness{sample: poise.Sample{ID: "a"}}
	seen := map[string]bool{}
	for range 4 {
		seen[w.Sample().ID] = true
	}
	if len(seen) != 4 || !seen["a"] {
		t.Errorf("four readings gave the identities %v", seen)
	}
}

// brokenRun asks the process that it is in to fail.
const brokenRun = "POLICYTEST_RUN_BROKEN"

// Run on a broken policy, in a process of its own so that it may fail.
func TestRun_OfABrokenPolicy(t *testing.T) {
	if os.Getenv(brokenRun) == "" {
		return // in this process nothing is to fail
	}
	Run(t, suiteOf(nil, instead(poise.ErrEmpty, poise.ErrNoEligible)))
}

func TestRun_FailsTheTestAndNamesTheLaw(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRun_OfABrokenPolicy$")
	cmd.Env = append(os.Environ(), brokenRun+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("a broken policy passes:\n%s", out)
	}
	for _, part := range []string{
		"FAIL: TestRun_OfABrokenPolicy/an_empty_View_is_ErrEmpty", "replay with Suite.Seed 1",
	} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q is not in the output:\n%s", part, out)
		}
	}
}

// copied returns another View of the same samples.
func copied(v *poise.View) *poise.View {
	var candidates []poise.Candidate
	for _, s := range v.All() {
		candidates = append(candidates, s)
	}
	other, err := poise.NewView(candidates)
	if err != nil {
		panic(err)
	}
	return other
}
