package dispatch

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/transform"
)

// LoopConfig are the settings of a Loop. The zero value of each field but Policy is
// its default.
type LoopConfig struct {
	_ struct{}
	// Policy chooses the member. Required. Its Prepare runs while changes wait, and
	// must not call the Loop.
	Policy poise.Policy
	// Passive ejects members by how their calls end.
	Passive health.PassiveHealthConfig
	// Transforms edit the samples before each View, in this order. Each is told which
	// members have changed, and asked again at the instant that it names.
	Transforms []transform.Transform
	// Load makes the load tracker of a new member, given the counter of its calls. nil
	// is that counter. A tracker that is a CallTracker is told of the member's calls.
	Load func(*poise.InFlight) (poise.LoadTracker, error)
	// Window, if not nil, lowers the weight of members whose recent outcomes are poor,
	// down to a hundredth.
	Window *health.OutcomeWindowConfig
	// Retry are the rules of repeating.
	Retry RetryConfig
	// Picks is how many picks one attempt may lose to admission before it looks at
	// every eligible member for room; 1 or more, default 4.
	Picks int
	// PublishEvery is the shortest time between two publications of health: the
	// first change is published at once, those that follow together when the time is
	// over. 0 or more, default 10 ms. Changes by Update and SetStatus do not wait.
	PublishEvery time.Duration
	// Observer is told what happens; nil: nobody is told.
	Observer observe.Observer
	// Wake is called when Advance should run sooner than it said. It may be called
	// under locks of the Loop: it must neither block nor call the Loop. nil: nobody
	// is called.
	Wake func()
	// Published is called after each publication, under no lock, for whoever has to
	// look at what is published. It must not block, and a panic of it is dropped. nil:
	// nobody is called.
	Published func()
	// Seed makes what the Loop draws by chance replay. 0 is no seed.
	Seed uint64
}

// withDefaults returns the config with its defaults filled in, or the field that is
// missing or out of range.
func (c LoopConfig) withDefaults() (LoopConfig, error) {
	var err error
	if c.Retry, err = c.Retry.withDefaults(); err != nil {
		return c, inField("Retry", err)
	}
	c.Picks = defaultTo(c.Picks, 4)
	c.PublishEvery = defaultTo(c.PublishEvery, 10*time.Millisecond)
	if c.Wake == nil {
		c.Wake = func() {}
	}
	switch {
	case isNil(c.Policy):
		return c, refuse("Policy", nil, ErrMissing)
	case c.Picks < 1:
		return c, outOfRange("Picks", c.Picks)
	case c.PublishEvery < 0:
		return c, outOfRange("PublishEvery", c.PublishEvery)
	}
	if c.Window != nil {
		c.Window = new(*c.Window)
		if _, err := health.NewOutcomeWindow(*c.Window, time.Time{}); err != nil {
			return c, inField("Window", err)
		}
	}
	return c, nil
}
