//go:build interleave

package walk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
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
	ctx     map[string]context.Context
	cancel  map[string]context.CancelFunc
}

func newChannel(constants, _ replay.Record) (*channel, error) {
	c := &channel{
		first:   math.MaxUint64 - uint64(constants["Revisions"].Int()),
		sources: map[string]*discovery.Session[int]{}, cursors: map[string]*discovery.Cursor[int]{},
		ctx: map[string]context.Context{}, cancel: map[string]context.CancelFunc{},
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
		c.cursors[r.Str()] = c.Cursor()
		c.renew(r.Str())
	}
	return c, nil
}

func (c *channel) renew(of string) {
	c.ctx[of], c.cancel[of] = context.WithCancel(context.Background())
}

// told is what a call of the channel returned.
func (c *channel) told(revision uint64, err error) any {
	switch {
	case errors.Is(err, discovery.ErrClosed):
		return "ended"
	case errors.Is(err, discovery.ErrExhausted):
		return "exhausted"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case err != nil:
		return err.Error()
	}
	return strconv.FormatUint(revision-c.first, 10)
}

func (c *channel) snapshot(s *discovery.Snapshot[int], err error) any {
	if err != nil {
		return c.told(0, err)
	}
	return c.told(s.Revision(), nil)
}

// calls are the calls of the graph, by the Go function and the caller.
var calls = map[string]func(c *channel, by string, arg uint64) any{
	"(*Session).Replace": func(c *channel, by string, _ uint64) any {
		a, err := c.sources[by].Replace("a", 1)
		if errors.Is(err, discovery.ErrClosed) {
			return "closed"
		}
		return c.told(a.Revision, err)
	},
	"(*Directory).Close": func(c *channel, _ string, _ uint64) any { c.Close(); return "" },
	"(*Directory).Cursor": func(c *channel, by string, _ uint64) any {
		c.cursors[by] = c.Cursor()
		return ""
	},
	"(*Directory).CursorAfter": func(c *channel, by string, arg uint64) any {
		c.cursors[by] = c.CursorAfter(c.first + arg)
		return ""
	},
	"(*Cursor).Next": func(c *channel, by string, _ uint64) any {
		return c.snapshot(c.cursors[by].Next(c.ctx[by]))
	},
	"(*Cursor).Poll": func(c *channel, by string, _ uint64) any {
		s, ok := c.cursors[by].Poll()
		if !ok {
			return "none"
		}
		return c.snapshot(s, nil)
	},
	"(*Directory).WaitFor": func(c *channel, by string, arg uint64) any {
		return c.snapshot(c.WaitFor(c.ctx[by], c.first+arg))
	},
}

func channelMapping(d func() *driver) replay.StepMapping[*channel] {
	begin := map[string]func(*channel, replay.Record) func() any{}
	for name, call := range calls {
		begin[name] = func(c *channel, args replay.Record) func() any {
			return func() any { return call(c, args["by"].Str(), uint64(args["arg"].Int())) }
		}
	}
	return replay.StepMapping[*channel]{
		New:   newChannel,
		Begin: begin,
		World: map[string]func(*channel, replay.Record) (any, error){
			"Cancel": func(c *channel, args replay.Record) (any, error) { c.cancel[args["of"].Str()](); return "", nil },
			"Renew":  func(c *channel, args replay.Record) (any, error) { c.renew(args["of"].Str()); return "", nil },
		},
		Decide: func(_ *channel, _, args replay.Record) { d().decide(args["op"].Str()) },
		Ways:   waysOn,
		Steps: func(action string, _, _ replay.Record) int {
			if action == "NewCursor" || action == "NewCursorAfter" {
				return 0 // nobody else sees it
			}
			return 1
		},
		Project: (*channel).project,
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			of := args["of"].Str()
			switch name {
			case "(*Session).Replace", "(*Directory).Close":
				return state["mu"].Str() == "" // or the first operation waits
			case "Cancel":
				return state["context"].Fields()[of].Str() == "live"
			case "Renew":
				return state["context"].Fields()[of].Str() == "over" && state["pc"].Fields()[of].Str() == ""
			}
			return true
		},
		Busy: busy(""),
		Hidden: []replay.Exempt{
			{Name: "pc", Why: "the place in a call shows in what its next operation does"},
			{Name: "call", Why: "which call a publisher is in shows in what it returns"},
			{Name: "mu", Why: "who holds the mutex shows in who can go on"},
			{Name: "fired", Why: "whether an event has happened shows in which waits go on"},
			{Name: "was", Why: "a local variable shows in which event happens, and so in which waits go on"},
			{Name: "want", Why: "an argument shows in when WaitFor returns"},
			{Name: "saw", Why: "a local variable shows in whether the wait goes on"},
		},
	}
}

// decide lets a wait that both the event and the context have ended be ended by the
// one that the action says.
func (d *driver) decide(action string) {
	d.outcome = 0
	if action == "WaitCancelled" {
		d.outcome = 1
	}
}

// waysOn says that a wait is ended by the event, by the context, by either or by
// none; every other step waits for nobody.
func waysOn(_, state replay.Record, by string) (ways int) {
	if state["pc"].Fields()[by].Str() != "wait" {
		return 1
	}
	if slices.Contains(state["fired"].Elements(), state["saw"].Fields()[by]) {
		ways++
	}
	if state["context"].Fields()[by].Str() == "over" {
		ways++
	}
	return ways
}

// following returns a maker of drivers and the one that it made last.
func following() (last func() *driver, stepper func() replay.Stepper) {
	var d *driver
	return func() *driver { return d }, func() replay.Stepper { d = newStepper(); return d }
}

func (c *channel) project() map[string]any {
	seen, ended, over := map[string]int{}, map[string]bool{}, map[string]string{}
	for name, cursor := range c.cursors {
		seen[name], ended[name], over[name] = -1, cursor.Ended(), "live"
		if revision, ok := cursor.Seen(); ok {
			seen[name] = int(revision - c.first)
		}
		if c.ctx[name].Err() != nil {
			over[name] = "over"
		}
	}
	return map[string]any{
		"revision": c.Load().Revision() - c.first, "closed": c.Closed(), "seen": seen, "ended": ended, "context": over,
	}
}

// Claim: Next waits until there is a newer snapshot, and misses none that is published while it begins to wait.
// Claim: A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
//
// Bounds: two publishers that also close, one cursor, one revision. Not shown: more of any.
func TestSnapshotChannel_WalksItsStateGraphStepByStep(t *testing.T) {
	g := replay.Load(t, "../../spec/tla/snapshotchannel/SnapshotChannel.graph")
	last, stepper := following()
	replay.WalkSteps(t, g, channelMapping(last), stepper)
}

// board is a Directory's protocol with one line changed. A revision is one from the
// first one on.
type board struct {
	current explore.Pointer[notice]
	mu      explore.Mutex
	most    int
	faults
	seen   int // of its one cursor; -1 before the first
	ended  bool
	ctx    context.Context
	cancel context.CancelFunc
}

type notice struct {
	revision   int
	closed     bool
	superseded explore.Event
}

type faults struct {
	loadsTwice   bool // a reader takes revision and event from two loads
	endsAtOnce   bool // a reader looks at the end before the snapshot
	firesTooSoon bool // the event happens before its successor is stored
	firesLocked  bool // the event happens while the mutex is held
	silentEnd    bool // closing wakes nobody
	looksNoMore  bool // who was woken waits again, without a look
	ignoresEnd   bool // a change after the end is taken
}

func (b *board) change(closes bool) string {
	b.mu.Lock()
	last := b.current.Load()
	switch {
	case last.closed && closes:
		b.mu.Unlock()
		return ""
	case last.closed && !b.ignoresEnd:
		b.mu.Unlock()
		return "closed"
	case !closes && last.revision == b.most:
		b.mu.Unlock()
		return "exhausted"
	}
	next := &notice{revision: last.revision, closed: closes}
	if !closes {
		next.revision++
	}
	if b.firesTooSoon {
		last.superseded.Fire()
	}
	b.current.Store(next)
	if b.firesLocked {
		last.superseded.Fire()
	}
	b.mu.Unlock()
	if !b.firesTooSoon && !b.firesLocked && (!closes || !b.silentEnd) {
		last.superseded.Fire()
	}
	if closes {
		return ""
	}
	return strconv.Itoa(next.revision)
}

// follow waits until the function has an answer for what is published.
func (b *board) follow(answer func(*notice) string) string {
	n := b.current.Load()
	for {
		if res := answer(n); res != "" {
			return res
		}
		if b.loadsTwice {
			n = b.current.Load()
		}
		if n.superseded.Wait(b.ctx) != nil {
			return "cancelled"
		}
		if !b.looksNoMore {
			n = b.current.Load()
		}
	}
}

func (b *board) take(n *notice) string {
	switch {
	case b.endsAtOnce && n.closed:
		b.ended = true
		return "ended"
	case n.revision > b.seen:
		b.seen = n.revision
		return strconv.Itoa(b.seen)
	case n.closed:
		b.ended = true
		return "ended"
	}
	b.ended = false
	return ""
}

func (b *board) begin(name string, arg int) any {
	switch name {
	case "(*Session).Replace", "(*Directory).Close":
		return b.change(name == "(*Directory).Close")
	case "(*Directory).Cursor":
		arg = -1
		fallthrough
	case "(*Directory).CursorAfter":
		b.seen, b.ended = arg, false
		return ""
	case "(*Cursor).Next":
		return b.follow(b.take)
	case "(*Cursor).Poll":
		if res := b.take(b.current.Load()); res != "" && res != "ended" {
			return res
		}
		return "none"
	}
	return b.follow(func(n *notice) string {
		switch {
		case n.revision >= arg:
			return strconv.Itoa(n.revision)
		case n.closed:
			return "ended"
		}
		return ""
	})
}

func (b *board) renew() { b.ctx, b.cancel = context.WithCancel(context.Background()) }

func boardMapping(f faults, d func() *driver) replay.StepMapping[*board] {
	real := channelMapping(d)
	m := replay.StepMapping[*board]{
		New: func(constants, _ replay.Record) (*board, error) {
			b := &board{most: constants["Revisions"].Int(), faults: f, seen: -1}
			b.current.Store(new(notice))
			b.renew()
			return b, nil
		},
		Begin: map[string]func(*board, replay.Record) func() any{},
		World: map[string]func(*board, replay.Record) (any, error){
			"Cancel": func(b *board, _ replay.Record) (any, error) { b.cancel(); return "", nil },
			"Renew":  func(b *board, _ replay.Record) (any, error) { b.renew(); return "", nil },
		},
		Decide: func(_ *board, _, args replay.Record) { d().decide(args["op"].Str()) },
		Steps:  real.Steps, Ways: real.Ways, May: real.May, Busy: real.Busy, Hidden: real.Hidden,
		Project: func(b *board) map[string]any {
			now, over := b.current.Load(), "live"
			if b.ctx.Err() != nil {
				over = "over"
			}
			return map[string]any{
				"revision": now.revision, "closed": now.closed, "seen": map[string]int{"c": b.seen},
				"ended": map[string]bool{"c": b.ended}, "context": map[string]string{"c": over},
			}
		},
	}
	for name := range real.Begin {
		m.Begin[name] = func(b *board, args replay.Record) func() any {
			return func() any { return b.begin(name, args["arg"].Int()) }
		}
	}
	return m
}

func TestWalk_FindsFaultsInPublishingAndWaiting(t *testing.T) {
	g := replay.Load(t, "../../spec/tla/snapshotchannel/SnapshotChannel.graph")
	for name, c := range map[string]struct {
		faults
		want string
	}{
		"no fault":                        {faults{}, ""},
		"revision and event of two loads": {faults{loadsTwice: true}, "waits is true"},
		"the end before the snapshot":     {faults{endsAtOnce: true}, "returned ended"},
		"the event before the store":      {faults{firesTooSoon: true}, "NextLoad returned 0 and not"},
		"the event under the mutex":       {faults{firesLocked: true}, "Lock has to wait"},
		"a close that wakes nobody":       {faults{silentEnd: true}, "whether the call of"},
		"a wait without a second look":    {faults{looksNoMore: true}, "NextAgain"},
		"a change after the end":          {faults{ignoresEnd: true}, "ChangeRefused returned exhausted"},
	} {
		t.Run(name, func(t *testing.T) {
			last, stepper := following()
			_, problems := boardMapping(c.faults, last).Check(g, stepper)
			text := fmt.Sprint(problems)
			if (len(problems) == 0) != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%d problems, none says %q: %.900s", len(problems), c.want, text)
			}
		})
	}
}
