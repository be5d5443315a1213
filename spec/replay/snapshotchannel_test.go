package replay_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// channel is a Directory with a source for each publisher, and the variables in
// which readers keep their cursors. Its first revision is so late that those of the
// graph are the last ones.
type channel struct {
	*discovery.Directory[int]
	first   uint64
	sources map[string]*discovery.Session[int]
	cursors map[string]*discovery.Cursor[int]
	over    map[string]string // whether the context of the cursor's calls has ended
}

func newChannel(constants, _ replay.Record) (*channel, error) {
	c := &channel{
		first:   math.MaxUint64 - uint64(constants["Revisions"].Int()),
		sources: map[string]*discovery.Session[int]{}, cursors: map[string]*discovery.Cursor[int]{}, over: map[string]string{},
	}
	var err error
	if c.Directory, err = discovery.New(discovery.Config[int]{
		Equal: func(a, b int) bool { return a == b }, Revision: c.first,
	}); err != nil {
		return nil, err
	}
	for _, p := range constants["Publishers"].Elements() {
		if c.sources[p.Str()], err = c.Open(p.Str()); err != nil {
			return nil, err
		}
	}
	for _, r := range constants["Cursors"].Elements() {
		c.cursors[r.Str()], c.over[r.Str()] = c.Cursor(), "live"
	}
	return c, nil
}

// told is what a call of the channel returned.
func (c *channel) told(revision uint64, err error) (any, error) {
	switch {
	case errors.Is(err, discovery.ErrClosed):
		return "ended", nil
	case errors.Is(err, discovery.ErrExhausted):
		return "exhausted", nil
	case errors.Is(err, context.Canceled):
		return "cancelled", nil
	case err != nil:
		return nil, err
	}
	return strconv.FormatUint(revision-c.first, 10), nil
}

func (c *channel) snapshot(s *discovery.Snapshot[int], err error) (any, error) {
	if err != nil {
		return c.told(0, err)
	}
	return c.told(s.Revision(), nil)
}

// context returns the context of a cursor's next call.
func (c *channel) context(of string) context.Context {
	if c.over[of] == "live" {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func channelMapping() replay.Mapping[*channel] {
	on := func(f func(c *channel, by string, arg uint64) (any, error)) func(*channel, replay.Record) (any, error) {
		return func(c *channel, args replay.Record) (any, error) {
			return f(c, args["by"].Str(), c.first+uint64(args["arg"].Int()))
		}
	}
	context := func(to string) func(*channel, replay.Record) (any, error) {
		return func(c *channel, args replay.Record) (any, error) { c.over[args["of"].Str()] = to; return "", nil }
	}
	return replay.Mapping[*channel]{
		New: newChannel,
		Apply: map[string]func(*channel, replay.Record) (any, error){
			"(*Session).Replace": on(func(c *channel, by string, _ uint64) (any, error) {
				a, err := c.sources[by].Replace("a", 1)
				if errors.Is(err, discovery.ErrClosed) {
					return "closed", nil
				}
				return c.told(a.Revision, err)
			}),
			"(*Directory).Close": on(func(c *channel, _ string, _ uint64) (any, error) { c.Close(); return "", nil }),
			"(*Directory).Cursor": on(func(c *channel, by string, _ uint64) (any, error) {
				c.cursors[by] = c.Cursor()
				return "", nil
			}),
			"(*Directory).CursorAfter": on(func(c *channel, by string, revision uint64) (any, error) {
				c.cursors[by] = c.CursorAfter(revision)
				return "", nil
			}),
			"(*Cursor).Next": on(func(c *channel, by string, _ uint64) (any, error) {
				return c.snapshot(c.cursors[by].Next(c.context(by)))
			}),
			"(*Cursor).Poll": on(func(c *channel, by string, _ uint64) (any, error) {
				s, ok := c.cursors[by].Poll()
				if !ok {
					return "none", nil
				}
				return c.snapshot(s, nil)
			}),
			"(*Directory).WaitFor": on(func(c *channel, by string, revision uint64) (any, error) {
				return c.snapshot(c.WaitFor(c.context(by), revision))
			}),
			"Cancel": context("over"),
			"Renew":  context("live"),
		},
		Project: (*channel).project,
		May:     mayChannel,
		Busy:    busy(""),
		Hidden: []replay.Exempt{
			{Name: "pc", Why: "between calls there is no place in a call"},
			{Name: "call", Why: "between calls nobody is in one"},
			{Name: "mu", Why: "between calls nobody holds the mutex"},
			{Name: "fired", Why: "between calls every event has happened but the last; the walk step by step finds where"},
			{Name: "was", Why: "a local variable"},
			{Name: "want", Why: "an argument"},
			{Name: "saw", Why: "a local variable"},
		},
	}
}

func (c *channel) project() map[string]any {
	seen, ended := map[string]int{}, map[string]bool{}
	for name, cursor := range c.cursors {
		seen[name], ended[name] = -1, cursor.Ended()
		if revision, ok := cursor.Seen(); ok {
			seen[name] = int(revision - c.first)
		}
	}
	return map[string]any{
		"revision": c.Load().Revision() - c.first, "closed": c.Closed(), "seen": seen, "ended": ended, "context": c.over,
	}
}

// mayChannel says what a client may do that makes one call after the other: all but
// wait for what nobody will do.
func mayChannel(_, state replay.Record, name string, args replay.Record) bool {
	of := args["by"].Str()
	if of == "" {
		of = args["of"].Str() // of a step of the world
	}
	over := state["context"].Fields()[of].Str() == "over"
	revision := state["revision"].Int()
	goesOn := state["closed"].Bool() || over
	switch name {
	case "Cancel":
		return !over
	case "Renew":
		return over
	case "(*Cursor).Next":
		return goesOn || state["seen"].Fields()[of].Int() < revision
	case "(*Directory).WaitFor":
		return goesOn || args["arg"].Int() <= revision
	}
	return true
}

func TestSnapshotChannel_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/snapshotchannel/SnapshotChannel.graph"), channelMapping())
}
