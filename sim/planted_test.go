package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// planted are single changes of the rules in use, each with the scenario that must
// notice it and the bound that must fail there.
var planted = []struct {
	name     string
	plant    func(*dispatch.LoopConfig)
	scenario string
	policy   string
	must     string
}{
	{"trials without a bound", func(c *dispatch.LoopConfig) {
		c.Passive.Trials, c.Passive.TrialShare = 1000, 1
		c.Passive.Backoff, c.Passive.MaxBackoff, c.Passive.UnreachableBackoff = time.Millisecond, time.Millisecond, time.Millisecond
	}, "status-500/n=10,k=9,", "round-robin", "failed post"},
	{"coming back at once", func(c *dispatch.LoopConfig) {
		c.Passive.MinShare, c.Passive.ReturnSuccesses = 1, 1
	}, "planted/cold", "round-robin", "failed post"},
	{"a verdict on little evidence", func(c *dispatch.LoopConfig) {
		c.Passive.Odds = 10
	}, "fails-alike/n=10,part=50%,how=500", "round-robin", "wrong-ejections"},
	{"peers taken to fail half of the time", func(c *dispatch.LoopConfig) {
		c.Passive.PeerRate = 0.9
	}, "status-503/n=10,k=1,", "round-robin", "failed post"},
	{"retries after too busy without a bound", func(c *dispatch.LoopConfig) {
		c.Retry.OverloadedPercent, c.Retry.Budget.Percent, c.Retry.Budget.PerSecond = 100, 1000, 1000
	}, "tiers/how=status_503", "round-robin", "sent"},
	{"no retries", func(c *dispatch.LoopConfig) {
		c.Retry.Off = true
	}, "refuse/n=3,k=1", "round-robin", "failed"},
	{"no passive health", func(c *dispatch.LoopConfig) {
		c.Passive.Off = true
	}, "status-503/n=3,k=1,", "round-robin", "failed post"},
	{"a long time out, whatever the cause", func(c *dispatch.LoopConfig) {
		c.Passive.Backoff, c.Passive.UnreachableBackoff = 30*time.Second, 30*time.Second
	}, "planted/return", "round-robin", "least-share"},
}

// taken is a loop that is told of one outcome as if it were another.
type taken struct {
	Subject
	as map[poise.Outcome]poise.Outcome
}

func (l taken) End(c *Call, r poise.Result, now time.Time) {
	l.Subject.End(c, l.result(r), now)
}

func (l taken) Next(c *Call, r poise.Result, repeatable bool, now time.Time) Step {
	return l.Subject.Next(c, l.result(r), repeatable && r.Outcome != poise.Unreachable, now)
}

func (l taken) result(r poise.Result) poise.Result {
	if other, found := l.as[r.Outcome]; found {
		r.Outcome = other
	}
	return r
}

// plantedOutcomes are faults of whoever tells the loop what became of a call.
var plantedOutcomes = []struct {
	name     string
	as       map[poise.Outcome]poise.Outcome
	scenario string
	must     string
}{
	{"timeouts convict", map[poise.Outcome]poise.Outcome{poise.Silent: poise.Failure}, "overload-queueing/n=10,cost=500ms", "failed <= 100% of bare"},
	{"too busy convicts", map[poise.Outcome]poise.Outcome{poise.Overloaded: poise.Failure}, "small-server", "wrong-ejections"},
	{"what was not sent is not sent again", map[poise.Outcome]poise.Outcome{poise.Unreachable: poise.Failure}, "refuse/n=3,k=1", "failed post"},
}

func TestPlantedOutcomes_EachIsNoticedByItsScenario(t *testing.T) {
	for _, p := range plantedOutcomes {
		t.Run(p.name, func(t *testing.T) {
			noticed(t, append(committed(t), plantedScenarios(t)...), p.scenario, "round-robin", p.must, func(setup Setup) (Subject, error) {
				loop, err := NewLoop(setup)
				return taken{loop, p.as}, err
			})
		})
	}
}

// plantedWorlds are worlds that only planted faults need: their bounds are promised
// nowhere, and the rules in use keep them.
var plantedWorlds = map[string]string{
	"cold": `title a server restarts and is slow at first
length 10s
servers 3 cost 20ms concurrency 5 queue 100
calls 200/s posts 50% deadline 200ms
at 0s all warm 10 for 2s
at 3s server 0 restart 700ms
must failed post <= 2.5% after 3700ms before 7s`,
	"return": `title a server fails for a while
length 16s
servers 5 cost 5ms
calls 100/s posts 50% deadline 2s
at 2s server 0 refuse
at 4s server 0 well
must least-share >= 50% after 9s`,
}

func plantedScenarios(t *testing.T) (all []*Scenario) {
	for name, text := range plantedWorlds {
		some, err := Parse("planted/"+name, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

func TestPlantedFaults_EachIsNoticedByItsScenario(t *testing.T) {
	all := append(committed(t), plantedScenarios(t)...)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			noticed(t, all, p.scenario, p.policy, p.must, func(setup Setup) (Subject, error) {
				var cfg dispatch.LoopConfig
				p.plant(&cfg)
				return NewLoopWith(setup, cfg)
			})
		})
	}
}

// noticed checks that a bound of the scenario holds, and that it does not with the
// Subject that has the fault.
func noticed(t *testing.T, all []*Scenario, scenario, policy, must string, faulty NewSubject) {
	t.Helper()
	i := slices.IndexFunc(all, func(s *Scenario) bool { return strings.HasPrefix(s.Name, scenario) })
	if i < 0 {
		t.Fatalf("there is no scenario %s", scenario)
	}
	s := all[i].copied()
	s.Policies, s.Seeds = []string{policy}, min(s.Seeds, 30)
	s.Musts = slices.DeleteFunc(s.Musts, func(m Must) bool { return !strings.HasPrefix(m.Text, must) })
	if failures := verdictsOf(t, s, NewLoop); len(failures) > 0 {
		t.Errorf("without the fault: %v", failures)
	}
	failures := verdictsOf(t, s, faulty)
	if len(failures) == 0 {
		t.Errorf("nothing failed in %s with %q", s.Name, must)
	}
	t.Log(failures)
}

// verdictsOf returns what does not hold.
func verdictsOf(t *testing.T, s *Scenario, subject NewSubject) (failures []string) {
	t.Helper()
	results, _, err := Judge(s, JudgeConfig{Subject: subject, Seed: 900_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, v := range r.Verdicts {
			if !v.Holds {
				failures = append(failures, v.String())
			}
		}
	}
	return failures
}
