package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// firstStage balances by the rules that the library had before passive health:
// three failures in a row set a member aside for a second and longer, at most half
// of the list at once; retries are paid from a budget that earns by calls alone;
// and a member at its limit refuses. The table must not hold with it.
type firstStage struct {
	policy  poise.Policy
	chance  *rand.Rand
	members []*oldMember
	by      map[int]*oldMember // by server
	view    *poise.View
	picker  poise.Picker
	calls   []oldCall
	saved   float64
	aside   int
	changed bool
	awake   bool
}

type oldMember struct {
	Member
	load     *poise.InFlight
	failures int
	rounds   uint
	epoch    int
	until    time.Time // aside until then, if that is not zero
}

type oldCall struct {
	member *oldMember
	epoch  int
	lease  poise.Lease
	tried  *poise.Tried
	made   int
}

func newFirstStage(s Setup) (Subject, error) {
	chosen, err := policies[s.Policy](s.Seed)
	if err != nil {
		return nil, err
	}
	return &firstStage{
		policy: chosen, chance: rand.New(rand.NewPCG(s.Seed, 3)), by: map[int]*oldMember{}, saved: 10,
	}, nil
}

func (f *firstStage) Update(members []Member, now time.Time) error {
	var list []*oldMember
	for _, m := range members {
		old := f.by[m.Server]
		if old == nil || old.Incarnation != m.Incarnation {
			old = &oldMember{load: poise.NewInFlight(m.Limit)}
		}
		old.Member = m
		list = append(list, old)
	}
	clear(f.by)
	f.members, f.aside = list, 0
	for _, m := range list {
		f.by[m.Server] = m
		if !m.until.IsZero() {
			f.aside++
		}
	}
	return f.publish()
}

func (f *firstStage) publish() error {
	var candidates []poise.Candidate
	for _, m := range f.members {
		sample := poise.Sample{ID: m.ID, Incarnation: m.Incarnation, Load: m.load}
		if m.Draining {
			sample.Status = poise.Draining
		}
		if !m.until.IsZero() {
			sample.Excluded = poise.ExcludedUnhealthy
		}
		candidates = append(candidates, sample)
	}
	view, err := poise.NewView(candidates)
	if err != nil {
		return err
	}
	f.view = view
	f.picker, err = f.policy.Prepare(view)
	f.changed = true
	return err
}

func (f *firstStage) Begin(c *Call) {
	for c.Slot >= len(f.calls) {
		f.calls = append(f.calls, oldCall{})
	}
	f.calls[c.Slot] = oldCall{}
	f.saved = min(10, f.saved+0.2)
}

func (f *firstStage) Acquire(c *Call, now time.Time) (int, error) {
	of := &f.calls[c.Slot]
	q := poise.Query{Key: poise.Uint64Key(c.Key), Tried: of.tried, Now: now}
	selection, err := f.picker.Pick(q)
	if errors.Is(err, poise.ErrAllTried) {
		q.Tried = nil
		selection, err = f.picker.Pick(q)
	}
	if err != nil {
		return 0, err
	}
	index, err := f.view.Index(selection)
	if err != nil {
		return 0, err
	}
	m := f.members[index]
	if of.lease, err = m.load.Acquire(); err != nil {
		return 0, err
	}
	of.member, of.epoch = m, m.epoch
	of.made++
	return m.Server, nil
}

func (f *firstStage) Answered(*Call, poise.Result, time.Time) {}

func (f *firstStage) End(c *Call, r poise.Result, now time.Time) {
	of := &f.calls[c.Slot]
	of.lease.Release()
	m := of.member
	if !r.Outcome.IsObservation() || of.epoch != m.epoch {
		return
	}
	if !r.Outcome.IsFailure() {
		m.failures, m.rounds = 0, 0
		return
	}
	m.failures++
	if m.failures < 3 && m.rounds == 0 || f.aside >= len(f.members)/2 {
		return
	}
	wait := min(time.Second<<min(m.rounds, 6), 30*time.Second)
	m.until = now.Add(wait/2 + time.Duration(f.chance.Int64N(int64(wait/2))))
	m.rounds++
	m.failures = 0
	m.epoch++
	f.aside++
	f.awake = true
}

func (f *firstStage) Next(c *Call, _ poise.Result, repeatable bool, _ time.Time) Step {
	of := &f.calls[c.Slot]
	if !repeatable || of.made >= 3 || f.saved < 1 {
		return Step{}
	}
	f.saved--
	if of.tried == nil {
		of.tried = new(poise.Tried)
	}
	of.tried.Add(of.member.ID, of.member.Incarnation)
	return Step{Repeat: true}
}

func (f *firstStage) Advance(now time.Time) (next time.Time, err error) {
	f.awake = false
	for _, m := range f.members {
		switch {
		case m.until.IsZero():
		case !now.Before(m.until):
			m.until = time.Time{}
			f.aside--
		case next.IsZero() || m.until.Before(next):
			next = m.until
		}
	}
	return next, f.publish()
}

func (f *firstStage) Awake() bool   { return f.awake }
func (f *firstStage) Changed() bool { was := f.changed; f.changed = false; return was }
func (f *firstStage) Ejected(server int) bool {
	m := f.by[server]
	return m != nil && !m.until.IsZero()
}

// The rules of the first stage fail the scenarios that passive health was made for.
//
// Cases: B85, B86, B100.
func TestFirstStage_FailsTheTable(t *testing.T) {
	all := committed(t)
	for _, c := range []struct{ scenario, policy, must string }{
		{"refuse/n=3,k=2", "round-robin", "failed get"},
		{"refuse/n=5,k=4", "two-choices", "failed post"},
		{"refuse/n=10,k=9", "two-choices", "failed get"},
		{"status-503/n=3,k=2,", "two-choices", "failed get"},
		{"status-503/n=5,k=4,", "round-robin", "failed post"},
		{"status-500/n=5,k=4,", "round-robin", "failed get"},
		{"hang-attempt-timeout/n=3,k=2,", "two-choices", "failed"},
		{"primaries-dead/n=3", "round-robin", "failed"},
		{"overload-shedding/n=10,cost=20ms", "two-choices", "goodput"},
		{"fails-alike/n=10,part=50%,how=500", "round-robin", "wrong-ejections"},
		{"limits/n=100,", "round-robin", "refused-with-room"},
		{"rolling-restart/cost=5ms,apart=1s", "two-choices", "failed get"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			i := slices.IndexFunc(all, func(s *Scenario) bool { return strings.HasPrefix(s.Name, c.scenario) })
			if i < 0 {
				t.Fatalf("there is no scenario %s", c.scenario)
			}
			s := all[i].copied()
			s.Policies, s.Seeds = []string{c.policy}, min(s.Seeds, 20)
			s.Musts = slices.DeleteFunc(s.Musts, func(m Must) bool { return !strings.HasPrefix(m.Text, c.must) })
			failures := verdictsOf(t, s, newFirstStage)
			if len(failures) == 0 {
				t.Errorf("nothing failed in %s with %v", s.Name, c.must)
			}
			t.Log(failures)
		})
	}
}
