package discovery

import (
	"cmp"
	"context"
	"time"
)

// Listing is what a source answered.
type Listing[V any] struct {
	// Entries are the members.
	Entries []Entry[V]
	// ValidFor is how long the source stands by them; 0 if it does not say.
	ValidFor time.Duration
}

// Fetch asks a source once. It should return soon after its context has ended.
type Fetch[V any] func(context.Context) (Listing[V], error)

// PollerConfig are the settings of a Poller. The zero value of each field but
// Session and Fetch is its default.
type PollerConfig[V any] struct {
	_ struct{}
	// Session is where the lists go. Required.
	Session *Session[V]
	// Fetch asks the source. Required; Static and File make one, and package target
	// makes those of DNS.
	Fetch Fetch[V]
	// Interval is the time from one good list to the next poll, before jitter. A list
	// that is valid for less is asked for again sooner. Positive, up to 100 years,
	// default 30 s.
	Interval time.Duration
	// Floor is the shortest time to the next poll, whatever a list says. At most
	// Interval, default 1 s or Interval if that is shorter.
	Floor time.Duration
	// Backoff is the time to the next poll after a failure, before jitter; it doubles
	// with each failure in a row, up to Interval. At most Interval, default Floor.
	Backoff time.Duration
	// Hold is how long a member stays that the answers leave out, counted from the
	// first answer without it: for sources that answer with a part of their members
	// at random. Up to 100 years, default 0: it leaves with that answer.
	Hold time.Duration
	// AllowEmpty takes a list without members, and an error that matches ErrNotFound,
	// for what it says: that there are no members. The default is that it is a
	// failure, for sources that have lost their own answer often send one.
	AllowEmpty bool
	// MaxMembers is the most members that a list may have; 1 or more, default
	// 100,000.
	MaxMembers int
	// MaxShrinkPercent is the largest share of its members that a source may lose with
	// one list; 1 to 100, which is no limit, default 90.
	MaxShrinkPercent int
	// ShrinkHold is how long a source must repeat that it has lost more than
	// MaxShrinkPercent before it is believed. Positive, up to 100 years, default 10
	// times Interval.
	ShrinkHold time.Duration
	// Seed seeds the jitter; 0 draws from the runtime.
	Seed uint64
}

// longest bounds the durations of a config, so that no sum of two overflows.
const longest = 100 * 365 * 24 * time.Hour

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c PollerConfig[V]) withDefaults() (PollerConfig[V], error) {
	c.Interval = cmp.Or(c.Interval, 30*time.Second)
	c.Floor = cmp.Or(c.Floor, min(time.Second, c.Interval))
	c.Backoff = cmp.Or(c.Backoff, c.Floor)
	c.MaxMembers = cmp.Or(c.MaxMembers, 100_000)
	c.MaxShrinkPercent = cmp.Or(c.MaxShrinkPercent, 90)
	switch {
	case c.Session == nil:
		return c, refuse("Session", nil, ErrMissing)
	case c.Fetch == nil:
		return c, refuse("Fetch", nil, ErrMissing)
	case c.Interval < 0 || c.Interval > longest:
		return c, refuse("Interval", c.Interval, ErrOutOfRange)
	case c.Floor < 0 || c.Floor > c.Interval:
		return c, refuse("Floor", c.Floor, ErrOutOfRange)
	case c.Backoff < 0 || c.Backoff > c.Interval:
		return c, refuse("Backoff", c.Backoff, ErrOutOfRange)
	case c.Hold < 0 || c.Hold > longest:
		return c, refuse("Hold", c.Hold, ErrOutOfRange)
	case c.MaxMembers < 1:
		return c, refuse("MaxMembers", c.MaxMembers, ErrOutOfRange)
	case c.MaxShrinkPercent < 1 || c.MaxShrinkPercent > 100:
		return c, refuse("MaxShrinkPercent", c.MaxShrinkPercent, ErrOutOfRange)
	}
	c.ShrinkHold = cmp.Or(c.ShrinkHold, 10*min(c.Interval, longest/10))
	if c.ShrinkHold < 0 || c.ShrinkHold > longest {
		return c, refuse("ShrinkHold", c.ShrinkHold, ErrOutOfRange)
	}
	return c, nil
}
