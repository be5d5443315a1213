package poisehttp

import (
	"net/http"
	"reflect"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Config are the settings of a Balancer.
type Config struct {
	_ struct{}
	// Policy chooses the endpoint. Required. Its Prepare runs while changes wait, and
	// must not call the Balancer.
	Policy poise.Policy
	// Members are the endpoints to begin with; Update replaces them. May be empty.
	Members []Member
	// Membership is the Directory whose members the Balancer has, in place of Members
	// and Update. nil: none.
	Membership *Membership
	// Key returns what a keyed policy hashes. nil: requests have no key.
	Key func(*http.Request) poise.Key
	// Attempts is how often one call may be sent; 1 or more, default 3. 1 switches
	// retries off. It counts attempts, not endpoints: after an error a call may go
	// back to an endpoint when no other is left.
	Attempts int
	// AttemptTimeout bounds each attempt from admission to the response header, and
	// so with the upload of the request body. The response body may take as long as the caller's context allows. A request body whose
	// Read blocks is closed; one that blocks even so holds the attempt. 0 or more; 0
	// sets no bound.
	AttemptTimeout time.Duration
	// Admissions is how many picks one attempt may lose to admission before it
	// gives up; 1 or more, default 16.
	Admissions int
	// Quarantine sets failing endpoints aside.
	Quarantine QuarantineConfig
	// Health adds probes, circuits and outlier detection.
	Health HealthConfig
	// RetryBudget bounds the retries.
	RetryBudget RetryBudgetConfig
	// Classify judges an attempt that its caller did not cancel. nil: Classify of
	// this package.
	Classify func(*http.Response, error) poise.Outcome
	// Observe is told of every attempt when it has ended, on the goroutine that
	// ended it and under no lock. It may call the Balancer. A panic of it reaches
	// whoever ended the attempt; after a cancellation that is nobody. nil: nobody is
	// told.
	Observe func(Event)
	// ObserveState is told of every endpoint whose Reason a publication changed, in
	// the order of publications, one call after the other and under no lock, on the
	// goroutine of a change. An endpoint that was not in the list before counts as
	// not excluded; of those that leave it nothing is told, nor by New. It may call
	// the Balancer: what that changes is told next. Endpoints may come back late from
	// quarantine while it runs. A panic of it is dropped. nil: nobody is told.
	ObserveState func(EndpointState)
	// Explain picks the calls whose Events and CallError carry the Decision. nil:
	// none.
	Explain func(*http.Request) bool
	// Seed makes the jitter of backoffs replay. 0 is no seed.
	Seed uint64
}

// Member is one endpoint and what is said of it. Endpoints are told apart by ID:
// a member that stays in the list keeps its load and its quarantine, unless its
// Endpoint is another value, which begins a new incarnation.
type Member struct {
	_ struct{}
	// ID is the identity: not empty, and unique.
	ID string
	// Endpoint makes the calls. Required; a comparable value such as a pointer, of
	// no other identity: an endpoint cannot be renamed. One that was removed must not
	// come back.
	Endpoint Endpoint
	// Weight is the share against the others; zero value 1.
	Weight poise.Weight
	// Status is what the list says; zero value Ready. What SetStatus said of this
	// incarnation stands above it.
	Status poise.Status
	// Priority and Locality place the endpoint in a topology.
	Priority       uint32
	Locality       string
	LocalityWeight poise.Weight
	// Limit is how many calls the endpoint may hold at once; 0 is no limit. It is
	// fixed when the incarnation begins: Update refuses another one.
	Limit uint64
}

// Event is what became of one attempt.
type Event struct {
	_ struct{}
	// Request is the caller's request. It is not to be changed.
	Request *http.Request
	// Endpoint is the identity of the endpoint.
	Endpoint string
	// Attempt counts the attempts of the call from 1.
	Attempt int
	// Outcome is the judgement that the endpoint's quarantine was told.
	Outcome poise.Outcome
	// Status is the status code of the response, 0 if there was none.
	Status int
	// Err is the error of the attempt or of reading the body, if any.
	Err error
	// Header is the time from admission to the response header or the error.
	Header time.Duration
	// Total is the time from admission to the end of the body.
	Total time.Duration
	// Retried means that another attempt followed.
	Retried bool
	// Decision says why the endpoint was picked, if Config.Explain wanted it.
	Decision *poise.Decision
}

// withDefaults returns the config with its defaults filled in, or the field that
// is missing or out of range.
func (c Config) withDefaults() (Config, error) {
	c.Attempts = defaultTo(c.Attempts, 3)
	c.Admissions = defaultTo(c.Admissions, 16)
	if c.Classify == nil {
		c.Classify = Classify
	}
	switch {
	case isNil(c.Policy):
		return c, &poise.FieldError{Field: "Policy", Value: nil, Err: ErrMissing}
	case c.Membership != nil && c.Members != nil:
		return c, &poise.FieldError{Field: "Members", Value: len(c.Members), Err: ErrFollowing}
	case c.Attempts < 1:
		return c, outOfRange("Attempts", c.Attempts)
	case c.Admissions < 1:
		return c, outOfRange("Admissions", c.Admissions)
	case c.AttemptTimeout < 0:
		return c, outOfRange("AttemptTimeout", c.AttemptTimeout)
	}
	return c, nil
}

// defaultTo returns v, or the default where v is the zero value.
func defaultTo[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func outOfRange(field string, value any) error {
	return &poise.FieldError{Field: field, Value: value, Err: ErrOutOfRange}
}

// isNil reports whether an interface holds nothing, or a nil pointer or function,
// of which no method could be called.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Pointer || value.Kind() == reflect.Func) && value.IsNil()
}
