package dispatch

import (
	"context"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// Config are the settings of a Balancer.
type Config[E comparable] struct {
	_ struct{}
	// Loop are the settings of the loop. Wake is the Balancer's to set.
	Loop LoopConfig
	// Members are the members to begin with; Update replaces them. May be empty.
	Members []Member[E]
	// Source is who has the members in place of Members and Update. nil: the list.
	Source Source[E]
	// Probes, if not nil, asks members how they are.
	Probes *ProbesConfig[E]
	// MaxWait is how long a call of Acquire or Do may wait for room or for somebody
	// eligible; 0, the default, is not at all.
	MaxWait time.Duration
	// AttemptTimeout bounds each attempt of Do; 0, the default, sets no bound.
	AttemptTimeout time.Duration
	// Classify judges the error of an attempt of Do. nil: a nil error is a success,
	// and any other one a failure.
	Classify func(error) poise.Result
	// Close ends an endpoint whose member was removed and has no call left. nil:
	// nothing is to be done.
	Close func(E) error
}

// ProbesConfig are the settings of the probes of a Balancer.
type ProbesConfig[E comparable] struct {
	_ struct{}
	// Probe returns the probe of a member; nil for one that is not probed. Required.
	Probe func(Member[E]) (func(context.Context) error, error)
	// Active are the rules by which probes make a member healthy or not.
	Active health.ActiveHealthConfig
	// Timeout and OnTimeout are those of a [health.RunnerConfig].
	Timeout   time.Duration
	OnTimeout health.TimeoutPolicy
}

// Member is one member of a Balancer as its list has it. A member that stays in the
// list keeps its calls and its health, unless its Endpoint is another one, which
// begins a new incarnation.
type Member[E comparable] struct {
	_ struct{}
	// ID is the identity: not empty, and unique.
	ID string
	// Endpoint is whom calls are given. One that was removed must not come back before
	// it was closed.
	Endpoint E
	// Weight is the share against the others; zero value 1.
	Weight poise.Weight
	// Status is what the list says; zero value Ready.
	Status poise.Status
	// Excluded leaves the member out for a reason of the user's own; zero value
	// NotExcluded.
	Excluded poise.Reason
	// Priority and Locality place the member in a topology.
	Priority       uint32
	Locality       string
	LocalityWeight poise.Weight
	// PanicOptOut withholds the member from panic routing while it is not eligible.
	PanicOptOut bool
	// Limit is how many calls it may hold at once; 0 is no limit.
	Limit uint64
}

// spec returns the member as the loop has it.
func (m *Member[E]) spec(incarnation uint64) Spec {
	return Spec{Sample: poise.Sample{
		ID: m.ID, Incarnation: incarnation, Weight: m.Weight, Status: m.Status, Excluded: m.Excluded,
		Priority: m.Priority, Locality: m.Locality, LocalityWeight: m.LocalityWeight, PanicOptOut: m.PanicOptOut,
	}, Limit: m.Limit, Value: m.Endpoint}
}
