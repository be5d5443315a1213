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

	// calls are what calls need while RoundTrip runs, to be used again.
	calls syncx.Pool
}
