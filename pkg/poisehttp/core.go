package poisehttp

import (
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// core is what the calls of a Transport share.
type core struct {
	cfg      Config
	hosts    hosts
	balancer *dispatch.Balancer[Endpoint]
	watchdog watchdog

	// What a call needs while RoundTrip runs, and an attempt until its answer is the
	// caller's.
	calls, attempts syncx.Pool
}
