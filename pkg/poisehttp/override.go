package poisehttp

import (
	"context"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Repetition says whether a request may be sent again.
type Repetition uint8

const (
	// RepeatAsSet goes by Config.Repeat.
	RepeatAsSet Repetition = iota
	// RepeatNever sends the request at most once, and elsewhere only if nothing of it
	// was sent.
	RepeatNever
	// RepeatAlways takes the caller's word that sending the request twice does no
	// harm.
	RepeatAlways
)

// Override is what one request wants in place of the settings of its Transport. The
// zero value wants nothing.
type Override struct {
	_ struct{}
	// Repeat says whether the request may be sent again.
	Repeat Repetition
	// Attempts lowers how often the request may be sent; 0 as set.
	Attempts int
	// AttemptTimeout is that of each attempt; 0 as set, negative for none.
	AttemptTimeout time.Duration
	// Key is what a keyed policy hashes; the zero Key as set.
	Key poise.Key
	// Explain wants the Decisions of the call.
	Explain bool
}

type overrideKey struct{}

// WithOverride returns a context for a request that wants the Override.
func WithOverride(ctx context.Context, o Override) context.Context {
	return context.WithValue(ctx, overrideKey{}, &o)
}

var asSet Override

// overrideOf returns the Override of a context.
func overrideOf(ctx context.Context) *Override {
	if o, ok := ctx.Value(overrideKey{}).(*Override); ok {
		return o
	}
	return &asSet
}
