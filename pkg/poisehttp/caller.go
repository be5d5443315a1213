package poisehttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// pauseGrace is how long after a deadline the end of an attempt may be seen: later
// than that this process was paused, and nobody is to blame.
const pauseGrace = 100 * time.Millisecond

// gaveUp reports whether the caller waits no longer: by the context, or by the older
// channel, which http.Client closes when its Timeout is over.
func gaveUp(req *http.Request) bool {
	if req.Context().Err() != nil {
		return true
	}
	//lint:ignore SA1019 http.Client still uses it for every RoundTripper but its own
	cancel := req.Cancel
	if cancel == nil {
		return false // a select of one channel costs as much as the rest of a call's checks
	}
	select {
	case <-cancel:
		return true
	default:
		return false
	}
}

// leftBy returns the outcome of an attempt whose caller waits no longer at the
// instant: a deadline is the endpoint's silence, unless this process was paused; any
// other end is the caller's own.
func leftBy(req *http.Request, now time.Time) poise.Outcome {
	ctx := req.Context()
	deadline, bounded := ctx.Deadline()
	switch {
	case !bounded, errors.Is(ctx.Err(), context.Canceled), now.Before(deadline):
		return poise.Cancelled
	case now.Sub(deadline) > pauseGrace:
		return poise.Invalid
	}
	return poise.Silent
}

// mayLeave reports whether the caller may say that it waits no longer: then it may
// never come back to the body.
func mayLeave(req *http.Request) bool {
	//lint:ignore SA1019 http.Client still uses it for every RoundTripper but its own
	return req.Context().Done() != nil || req.Cancel != nil
}
