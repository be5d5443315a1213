package poisehttp

import (
	"net/http"
	"slices"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Member is one endpoint as a Transport's list has it.
type Member = dispatch.Member[Endpoint]

// EndpointState is one endpoint as it stands.
type EndpointState = dispatch.EndpointState[Endpoint]

// Config are the settings of a Transport. The zero value of each field is its
// default.
type Config struct {
	_ struct{}
	// Loop are the settings of the loop: policy, passive health, load, transforms,
	// retries, observer. Its Policy is policy.PowerOfTwoChoices by default.
	Loop dispatch.LoopConfig
	// Members are the endpoints to begin with; Update replaces them. May be empty.
	Members []Member
	// Source is who has the members in place of Members and Update, such as a
	// dispatch.DirectorySource. nil: the list.
	Source dispatch.Source[Endpoint]
	// Probes, if not nil, asks endpoints how they are.
	Probes *dispatch.ProbesConfig[Endpoint]
	// MaxWait is how long a call may wait for room or for somebody eligible; 0, the
	// default, is not at all.
	MaxWait time.Duration
	// Hosts are the hosts that the URLs of requests may be for, without ports; "*" is
	// every host. Requests for others are refused with a HostError. Without an entry
	// requests may be for any host, and a redirect may not lead to another one. A Host
	// header that the program sets itself is not looked at.
	Hosts []string
	// Key returns what a keyed policy hashes. nil: requests have no key.
	Key func(*http.Request) poise.Key
	// AttemptTimeout bounds each attempt from admission to the response header, and
	// so with the upload of the request body. The response body may take as long as
	// the caller's context allows. A request body whose Read blocks is closed; one that
	// blocks even so holds the attempt. 0 or more; 0 sets no bound.
	AttemptTimeout time.Duration
	// BodyIdleTimeout is how long a read of a response body may bring nothing before
	// the body fails with ErrBodyStalled; it may take a quarter more. 0 or more; 0 sets
	// no bound.
	BodyIdleTimeout time.Duration
	// CutAfter is for how long response bodies and upgraded connections go on at an
	// endpoint that drains or was removed, before they fail with ErrCut; it may take a
	// second more. 0 or more; 0 cuts none.
	CutAfter time.Duration
	// Repeat are the rules of what may be sent again, beside those of Loop.Retry.
	Repeat RepeatConfig
	// Classify judges an attempt that neither its caller nor a deadline has ended. nil:
	// Classify of this package.
	Classify func(*http.Response, error) poise.Result
	// Observe is told of every attempt when it has ended, on the goroutine that
	// ended it and under no lock. It may call the Transport. A panic of it reaches
	// whoever ended the attempt; after a cancellation that is nobody. nil: nobody is
	// told.
	Observe func(Event)
	// Explain picks the calls whose Events and CallError carry the Decision. nil:
	// none.
	Explain func(*http.Request) bool
}

// RepeatConfig are the rules of which requests are sent again after which answers.
// The zero value of each field is its default.
type RepeatConfig struct {
	_ struct{}
	// Statuses are those after which a request is sent elsewhere, each from 400 to
	// 599. nil is 502, 503 and 504; an empty list is none.
	Statuses []int
	// Repeatable reports whether a request may be sent although a backend may have had
	// it. It is asked once for each call. nil is Repeatable of this package.
	Repeatable func(*http.Request) bool
	// MaxRetryAfter bounds what an endpoint may ask for by Retry-After; 0 or more,
	// default 30 s.
	MaxRetryAfter time.Duration
}

// withDefaults returns the config with its defaults filled in, or the field that is
// out of range.
func (c Config) withDefaults() (Config, error) {
	if c.Loop.Policy == nil {
		c.Loop.Policy = policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: c.Loop.Seed})
	}
	if c.Classify == nil {
		c.Classify = Classify
	}
	if c.Repeat.Repeatable == nil {
		c.Repeat.Repeatable = Repeatable
	}
	if c.Repeat.Statuses == nil {
		c.Repeat.Statuses = worthRepeating
	}
	c.Repeat.Statuses = slices.Clone(c.Repeat.Statuses)
	for _, status := range c.Repeat.Statuses {
		if status < 400 || status > 599 {
			return c, outOfRange("Repeat.Statuses", status)
		}
	}
	if c.Repeat.MaxRetryAfter == 0 {
		c.Repeat.MaxRetryAfter = 30 * time.Second
	}
	switch {
	case c.AttemptTimeout < 0:
		return c, outOfRange("AttemptTimeout", c.AttemptTimeout)
	case c.BodyIdleTimeout < 0:
		return c, outOfRange("BodyIdleTimeout", c.BodyIdleTimeout)
	case c.CutAfter < 0:
		return c, outOfRange("CutAfter", c.CutAfter)
	case c.Repeat.MaxRetryAfter < 0:
		return c, outOfRange("Repeat.MaxRetryAfter", c.Repeat.MaxRetryAfter)
	}
	return c, nil
}
