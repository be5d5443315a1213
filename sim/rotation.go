package sim

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// rotation takes the members in turn, with up to so many attempts for what may be
// repeated, without a budget, and leaves nobody out. It is what a program does that
// has a list and no load balancer.
type rotation struct {
	attempts int
	members  []int
	next     int
	made     []int // attempts by slot
}

// NewRotation returns plain rotation with up to three attempts.
func NewRotation(Setup) (Subject, error) { return &rotation{attempts: 3}, nil }

// NewRotationOnce returns plain rotation without retries.
func NewRotationOnce(Setup) (Subject, error) { return &rotation{attempts: 1}, nil }

func (r *rotation) Update(members []Member, _ time.Time) error {
	r.members = r.members[:0]
	for i := range members {
		if !members[i].Draining {
			r.members = append(r.members, members[i].Server)
		}
	}
	return nil
}

func (r *rotation) Begin(c *Call) {
	for c.Slot >= len(r.made) {
		r.made = append(r.made, 0)
	}
	r.made[c.Slot] = 0
}

func (r *rotation) Acquire(c *Call, _ time.Time) (int, error) {
	if len(r.members) == 0 {
		return 0, poise.ErrEmpty
	}
	r.made[c.Slot]++
	r.next++
	return r.members[r.next%len(r.members)], nil
}

func (r *rotation) Next(c *Call, _ poise.Result, repeatable bool, _ time.Time) Step {
	return Step{Repeat: repeatable && r.made[c.Slot] < r.attempts}
}

func (r *rotation) Answered(*Call, poise.Result, time.Time)     {}
func (r *rotation) End(*Call, poise.Result, time.Time)          {}
func (r *rotation) Advance(time.Time) (next time.Time, _ error) { return next, nil }
func (r *rotation) Awake() bool                                 { return false }
func (r *rotation) Changed() bool                               { return false }
func (r *rotation) Ejected(int) bool                            { return false }

// thrifty is rotation that pays for its retries as the loop does: a fleet of which
// most fail gets hardly more than a fifth more requests than there are calls. What
// was not sent costs nothing.
type thrifty struct {
	rotation
	budget *dispatch.RetryBudget
}

// NewThriftyRotation returns plain rotation with up to three attempts and the budget
// of retries that the loop has by default.
func NewThriftyRotation(Setup) (Subject, error) {
	budget, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{})
	return &thrifty{rotation: rotation{attempts: 3}, budget: budget}, err
}

func (t *thrifty) Answered(*Call, poise.Result, time.Time) { t.budget.Earn() }

func (t *thrifty) Next(c *Call, r poise.Result, repeatable bool, now time.Time) Step {
	step := t.rotation.Next(c, r, repeatable, now)
	if step.Repeat && r.Outcome != poise.Unreachable {
		step.Repeat = t.budget.Spend(now)
	}
	return step
}

// oracle knows which servers are well and how many requests each holds. It shows
// what could be had at best.
type oracle struct {
	rotation
	facts Facts
}

// NewOracle returns the oracle.
func NewOracle(s Setup) (Subject, error) {
	return &oracle{rotation: rotation{attempts: 3}, facts: s.Facts}, nil
}

func (o *oracle) Acquire(c *Call, now time.Time) (int, error) {
	first, err := o.rotation.Acquire(c, now)
	if err != nil {
		return 0, err
	}
	best, load := first, -1
	for i := range o.members {
		server := o.members[(o.next+i)%len(o.members)]
		if !o.facts.Well(server) {
			continue
		}
		if l := o.facts.Load(server); load < 0 || l < load {
			best, load = server, l
		}
	}
	return best, nil
}
