//go:build interleave

package models

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// board is a Directory with one source as its readers see it, or a twin of it with
// a planted bug.
type board interface {
	publish() int
	end()
	cursor() func(context.Context) int // its Next
	waitFor(ctx context.Context, revision int) int
}

type realBoard struct {
	d *discovery.Directory[int]
	s *discovery.Session[int]
}

func newDirectory() *discovery.Directory[int] {
	d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }, DrainFor: time.Second})
	if err != nil {
		panic(err)
	}
	return d
}

func newSession(d *discovery.Directory[int], source string) *discovery.Session[int] {
	s, err := d.Open(source)
	if err != nil {
		panic(err)
	}
	return s
}

func newBoard() board {
	d := newDirectory()
	return realBoard{d, newSession(d, "x")}
}

func (b realBoard) publish() int {
	a, err := b.s.Replace("a", 1)
	return revisionOf(a.Revision, err)
}

func revisionOf(revision uint64, err error) int {
	switch {
	case errors.Is(err, discovery.ErrClosed):
		return seq.Ended
	case errors.Is(err, context.Canceled):
		return seq.Cancelled
	case err != nil:
		panic(err)
	}
	return int(revision)
}

func (b realBoard) end() { b.d.Close() }

func (b realBoard) cursor() func(context.Context) int {
	c := b.d.Cursor()
	return func(ctx context.Context) int {
		s, err := c.Next(ctx)
		if err != nil {
			return revisionOf(0, err)
		}
		return int(s.Revision())
	}
}

func (b realBoard) waitFor(ctx context.Context, revision int) int {
	s, err := b.d.WaitFor(ctx, uint64(revision))
	if err != nil {
		return revisionOf(0, err)
	}
	return int(s.Revision())
}

// buggyBoard is the Directory's protocol with one line changed.
type buggyBoard struct {
	current explore.Pointer[notice]
	gone    explore.Bool // where closing is a flag of its own
	boardFaults
}

type notice struct {
	revision   int
	closed     bool
	superseded explore.Event
}

type boardFaults struct {
	loadsTwice   bool // a reader takes revision and event from two loads
	silentEnd    bool // closing wakes nobody
	endsAtOnce   bool // a reader looks at the end before the snapshot
	flagLast     bool // closing is a flag that a reader looks at after the snapshot
	firesTooSoon bool // the event happens before its successor is stored
}

func withFault(f boardFaults) func() board {
	return func() board {
		b := &buggyBoard{boardFaults: f}
		b.current.Store(new(notice))
		return b
	}
}

func (b *buggyBoard) publish() int {
	last := b.current.Load()
	next := &notice{revision: last.revision + 1}
	if b.firesTooSoon {
		last.superseded.Fire()
	}
	b.current.Store(next)
	last.superseded.Fire()
	return next.revision
}

func (b *buggyBoard) end() {
	last := b.current.Load()
	if b.flagLast {
		b.gone.Store(true)
		last.superseded.Fire()
		return
	}
	b.current.Store(&notice{revision: last.revision, closed: true})
	if !b.silentEnd {
		last.superseded.Fire()
	}
}

func (b *buggyBoard) cursor() func(context.Context) int {
	seen := -1
	return func(ctx context.Context) int {
		for {
			n := b.current.Load()
			switch {
			case b.endsAtOnce && n.closed:
				return seq.Ended
			case n.revision > seen:
				seen = n.revision
				return seen
			case n.closed, b.flagLast && b.gone.Load():
				return seq.Ended
			}
			if b.loadsTwice {
				n = b.current.Load()
			}
			if n.superseded.Wait(ctx) != nil {
				return seq.Cancelled
			}
		}
	}
}

func (b *buggyBoard) waitFor(ctx context.Context, revision int) int {
	for {
		n := b.current.Load()
		switch {
		case n.revision >= revision:
			return n.revision
		case n.closed:
			return seq.Ended
		}
		if b.loadsTwice {
			n = b.current.Load()
		}
		if n.superseded.Wait(ctx) != nil {
			return seq.Cancelled
		}
	}
}

// follow reads until the end or n times.
func follow(id, n int, ctx func(*explore.T) context.Context) func(board, *explore.T) {
	return func(b board, h *explore.T) {
		next := b.cursor()
		with := ctx(h)
		for range n {
			if h.Call("Next", id, func() any { return next(with) }).(int) < 0 {
				return
			}
		}
	}
}

func patient(*explore.T) context.Context { return context.Background() }

// publishAndEnd makes n changes and closes.
func publishAndEnd(n int) func(board, *explore.T) {
	return func(b board, h *explore.T) {
		for range n {
			h.Call("Publish", nil, func() any { return b.publish() })
		}
		h.Call("Close", nil, func() any { b.end(); return nil })
	}
}

// Claim: Next waits until there is a newer snapshot, and misses none that is published while it begins to wait.
// Claim: A Cursor returns the last snapshot of a closed Directory before it ends, and then stays at its end.
// Claim: A Cursor never returns a snapshot that is not newer than the one before.
func TestDirectory_PublishAgainstACursor(t *testing.T) {
	explore.Check(t, explore.Model[board]{
		Name:     "directory: two changes and the end, against a cursor that waits",
		NotShown: "More changes; what is in a snapshot.",
		New:      newBoard,
		Tasks: []explore.Task[board]{
			{Name: "source", Body: publishAndEnd(2)},
			{Name: "cursor", Body: follow(0, 9, patient)},
		},
		Final: func(_ board, r *explore.Run) error {
			got := r.Results(1)
			if n := len(got); n < 2 || got[n-2] != 2 || got[n-1] != seq.Ended {
				return fmt.Errorf("the cursor saw %v", got)
			}
			return nil
		},
		Outcome: results[board],
		Spec:    seq.Board(0),
		Bugs: []explore.Bug[board]{
			bug("revision and event of two loads", "deadlock", withFault(boardFaults{loadsTwice: true})),
			bug("a close that wakes nobody", "deadlock", withFault(boardFaults{silentEnd: true})),
			bug("the end is looked at before the snapshot", "final", withFault(boardFaults{endsAtOnce: true})),
			bug("the end is a flag that is read after the snapshot", "final", withFault(boardFaults{flagLast: true})),
			bug("the event happens before the snapshot is there", "steps", withFault(boardFaults{firesTooSoon: true})),
		},
	})
}

// Claim: A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
func TestDirectory_PublishAgainstACancelledCursor(t *testing.T) {
	explore.Check(t, explore.Model[board]{
		Name:     "directory: a change, against a cursor that gives up and one that does not",
		NotShown: "More than two cursors.",
		New:      newBoard,
		Tasks: []explore.Task[board]{
			{Name: "source", Body: func(b board, h *explore.T) {
				h.Call("Publish", nil, func() any { return b.publish() })
			}},
			{Name: "impatient", Body: follow(0, 2, (*explore.T).Context)},
			{Name: "patient", Body: func(b board, h *explore.T) {
				b.waitFor(context.Background(), 1)
			}},
		},
		Outcome: results[board],
		Spec:    seq.Board(0),
		Bugs: []explore.Bug[board]{
			bug("revision and event of two loads", "deadlock", withFault(boardFaults{loadsTwice: true})),
		},
	})
}

// Claim: WaitFor returns once the revision is reached, however the wait and the publication race.
// Claim: Close keeps the last snapshot, wakes everybody who waits, and refuses every later change.
func TestDirectory_WaitForAgainstPublishAndClose(t *testing.T) {
	explore.Check(t, explore.Model[board]{
		Name:     "directory: a wait for revision 1 and a change, against the end",
		NotShown: "Several waits.",
		New:      newBoard,
		Tasks: []explore.Task[board]{
			{Name: "waiter", Body: func(b board, h *explore.T) {
				h.Call("WaitFor", 1, func() any { return b.waitFor(context.Background(), 1) })
			}},
			{Name: "source", Body: func(b board, h *explore.T) { h.Call("Publish", nil, func() any { return b.publish() }) }},
			{Name: "closer", Body: func(b board, _ *explore.T) { b.end() }},
		},
		Final: func(_ board, r *explore.Run) error {
			if waited, published := r.Results(0)[0], r.Results(1)[0]; waited != published {
				return fmt.Errorf("the change answers %v and the wait %v", published, waited)
			}
			return nil
		},
		Outcome: results[board],
		Bugs: []explore.Bug[board]{
			bug("revision and event of two loads", "deadlock", withFault(boardFaults{loadsTwice: true})),
			bug("changes after the end", "final", withFault(boardFaults{})),
		},
	})
}

// membership is one member that two sources claim, or a twin with a planted bug.
type membership interface {
	upsert(source int) seq.Applied
	remove(source int) seq.Applied
	finish() seq.Applied
}

type realMembership struct {
	d       *discovery.Directory[int]
	sources [2]*discovery.Session[int]
}

func newMembership() membership {
	d := newDirectory()
	return realMembership{d, [2]*discovery.Session[int]{newSession(d, "0"), newSession(d, "1")}}
}

func applied(a discovery.ChangeResult, err error) seq.Applied {
	if errors.Is(err, discovery.ErrUnknown) {
		return seq.Applied{Effect: "unknown"}
	}
	if err != nil {
		panic(err)
	}
	return seq.Applied{Effect: a.Effect.String(), Revision: int(a.Revision)}
}

func (m realMembership) upsert(source int) seq.Applied {
	a, err := m.sources[source].Upsert("a", 1)
	return applied(a, err)
}

func (m realMembership) remove(source int) seq.Applied {
	a, err := m.sources[source].Remove("a")
	return applied(a, err)
}

func (m realMembership) finish() seq.Applied {
	a, err := m.d.FinishDrain("a", 0)
	return applied(a, err)
}

// looseMembership reads what is claimed and writes it, in two steps.
type looseMembership struct{ state explore.Pointer[looseState] }

type looseState struct {
	claims   int
	there    bool
	revision int
}

func newLooseMembership() membership {
	m := new(looseMembership)
	m.state.Store(new(looseState))
	return m
}

func (m *looseMembership) upsert(source int) seq.Applied {
	s := *m.state.Load()
	was := s
	s.claims |= 1 << source
	s.there = true
	effect := "claimed"
	switch {
	case !was.there:
		effect = "inserted"
	case was.claims == 0:
		effect = "revived"
	case was.claims == s.claims:
		effect = "unchanged"
	}
	return m.store(s, effect, !was.there || was.claims == 0)
}

func (m *looseMembership) remove(source int) seq.Applied {
	s := *m.state.Load()
	was := s
	s.claims &^= 1 << source
	effect := "kept"
	switch {
	case !was.there:
		return seq.Applied{Effect: "unknown"}
	case was.claims == 0:
		effect = "already draining"
	case s.claims == 0:
		effect = "drain started"
	}
	return m.store(s, effect, was.claims != 0 && s.claims == 0)
}

func (m *looseMembership) finish() seq.Applied {
	s := *m.state.Load()
	switch {
	case !s.there:
		return seq.Applied{Effect: "unknown"}
	case s.claims != 0:
		return seq.Applied{Effect: "not draining", Revision: s.revision}
	}
	s.there = false
	return m.store(s, "drain finished", true)
}

func (m *looseMembership) store(s looseState, effect string, changed bool) seq.Applied {
	if changed {
		s.revision++
	}
	m.state.Store(&s)
	return seq.Applied{Effect: effect, Revision: s.revision}
}

// Claim: A member leaves or begins to drain only when no source claims it any more.
// Claim: Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
func TestDirectory_TwoSourcesOfOneMember(t *testing.T) {
	life := func(source int, m membership, h *explore.T) {
		h.Call("Upsert", source, func() any { return m.upsert(source) })
		h.Call("Remove", source, func() any { return m.remove(source) })
	}
	explore.Check(t, explore.Model[membership]{
		Name:     "directory: two sources that claim and drop one member, and the end of its drain",
		NotShown: "Batches and lists, which are one critical section as well; more sources.",
		New:      newMembership,
		Tasks: append(numbered(2, "source", life), explore.Task[membership]{
			Name: "control", Body: func(m membership, h *explore.T) {
				h.Call("FinishDrain", nil, func() any { return m.finish() })
			}}),
		Outcome: results[membership],
		Spec:    seq.Shared(),
		Bugs: []explore.Bug[membership]{
			bug("claims that are read and then written", "history", newLooseMembership),
		},
	})
}

// revival is a draining member that a source takes back while drains are finished.
type revival struct {
	d     *discovery.Directory[int]
	s     *discovery.Session[int]
	blind bool // drains are finished by identity alone
}

func newRevival(blind bool) func() *revival {
	return func() *revival {
		d := newDirectory()
		r := &revival{d: d, s: newSession(d, "x"), blind: blind}
		for _, err := range []error{r.change(discovery.Upsert), r.change(discovery.Remove)} {
			if err != nil {
				panic(err)
			}
		}
		return r
	}
}

func (r *revival) change(op discovery.Op) error {
	_, err := r.s.Apply(discovery.Change[int]{Op: op, ID: "a", Value: 1})
	return err
}

func (r *revival) finishDrains() {
	if !r.blind {
		if _, err := r.d.FinishDrains(time.Unix(0, 0), nil); err != nil {
			panic(err)
		}
		return
	}
	if m, ok := r.d.Load().At(0); ok && m.Draining {
		// What a directory would do that did not look again.
		if r.change(discovery.Remove) == nil {
			_, _ = r.d.FinishDrain("a", 0)
		}
	}
}

// Claim: FinishDrains ends the drains that have no work left or have reached DrainFor, and no others.
func TestDirectory_FinishDrainsAgainstARevival(t *testing.T) {
	explore.Check(t, explore.Model[*revival]{
		Name:     "directory: the end of all drains, against a source that takes its member back",
		NotShown: "Work that is outstanding.",
		New:      newRevival(false),
		Tasks: []explore.Task[*revival]{
			{Name: "control", Body: func(r *revival, _ *explore.T) { r.finishDrains() }},
			{Name: "source", Body: func(r *revival, _ *explore.T) {
				if err := r.change(discovery.Upsert); err != nil {
					panic(err)
				}
			}},
		},
		Final: func(r *revival, _ *explore.Run) error {
			if m, ok := r.d.Load().At(0); !ok || m.Draining {
				return fmt.Errorf("a member that is claimed is %v", m)
			}
			return nil
		},
		Outcome: func(r *revival, _ *explore.Run) string {
			m, _ := r.d.Load().At(0)
			return fmt.Sprint(m.Incarnation, r.d.Load().Revision())
		},
		Bugs: []explore.Bug[*revival]{bug("a drain that is finished without a second look", "final", newRevival(true))},
	})
}

// restart is a source that starts again while its old self still publishes.
type restart struct {
	d     *discovery.Directory[int]
	old   *discovery.Session[int]
	alive explore.Bool // of the twin
	early bool         // the twin asks whether the session is open before it publishes
}

func newRestart(early bool) func() *restart {
	return func() *restart {
		d := newDirectory()
		r := &restart{d: d, old: newSession(d, "x"), early: early}
		r.alive.Store(true)
		return r
	}
}

func (r *restart) publish() (refused bool) {
	if r.early {
		if !r.alive.Load() {
			return true
		}
		// Another source in the directory's eyes: nothing refuses it.
		_, err := newSession(r.d, "y").Upsert("a", 1)
		return err != nil
	}
	_, err := r.old.Upsert("a", 1)
	if err != nil && !errors.Is(err, discovery.ErrSessionEnded) {
		panic(err)
	}
	return err != nil
}

// Claim: A session that was closed or replaced can change nothing.
// Claim: A source that opens a new session keeps its claims, and its revisions start anew.
func TestSession_RestartAgainstTheOldOne(t *testing.T) {
	explore.Check(t, explore.Model[*restart]{
		Name:     "session: a source that starts again with an empty list, against its old session",
		NotShown: "Several restarts.",
		New:      newRestart(false),
		Tasks: []explore.Task[*restart]{
			{Name: "old", Body: func(r *restart, h *explore.T) { h.Call("Upsert", nil, func() any { return r.publish() }) }},
			{Name: "new", Body: func(r *restart, _ *explore.T) {
				s := newSession(r.d, "x")
				r.alive.Store(false)
				if _, err := s.Reconcile(nil); err != nil {
					panic(err)
				}
			}},
		},
		Final: func(r *restart, _ *explore.Run) error {
			if m, ok := r.d.Load().At(0); ok && !m.Draining {
				return fmt.Errorf("the new session claims nothing, and %v is there", m)
			}
			return nil
		},
		Outcome: func(r *restart, run *explore.Run) string { return fmt.Sprint(r.d.Load().Len(), run.Results(0)) },
		Bugs:    []explore.Bug[*restart]{bug("a session that asks before it publishes", "final", newRestart(true))},
	})
}
