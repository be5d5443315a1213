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
	// Probe returns the probe of a member that is new; nil for one that is not probed.
	// Required. Changes wait for it, and it must not call the Balancer.
	Probe func(Member[E]) (func(context.Context) error, error)
	// Active are the rules by which probes make a member healthy or not.
	Active health.ActiveHealthConfig
	// MaxRunning is how many probes may run at once, as of a
	// [health.ProbeScheduleConfig]; Timeout and OnTimeout are those of a
	// [health.ProberConfig].
	MaxRunning int
	Timeout    time.Duration
	OnTimeout  health.TimeoutPolicy
}
