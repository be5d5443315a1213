package discovery_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// failer is what a law needs of a test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// twin is a Directory as somebody would keep it on paper: a list, copied for each
// change and thrown away if the change is refused.
type twin struct {
	revision, incarnations uint64
	members                []twinMember
	atOnce                 bool
}

type twinMember struct {
	id          string
	incarnation uint64
	value       int
	draining    bool
	claims      []twinClaim
	since       time.Time
	seen        bool
}

type twinClaim struct {
	source string
	value  int
}

var errTwin = errors.New("refused")

func (w *twin) copied() *twin {
	c := *w
	c.members = slices.Clone(w.members)
	for i := range c.members {
		c.members[i].claims = slices.Clone(c.members[i].claims)
	}
	return &c
}

func (w *twin) find(id string) int {
	return slices.IndexFunc(w.members, func(m twinMember) bool { return m.id == id })
}

func (m *twinMember) claimOf(source string) int {
	return slices.IndexFunc(m.claims, func(c twinClaim) bool { return c.source == source })
}

func (w *twin) join(id string, claims []twinClaim) {
	w.incarnations++
	w.members = append(w.members, twinMember{id: id, incarnation: w.incarnations, value: claims[0].value, claims: claims})
}

// change makes one change of a source and returns its effect.
func (w *twin) change(source string, c discovery.Change[int]) (discovery.Effect, error) {
	if c.Op > discovery.Remove || c.ID == "" && c.Op != discovery.Remove {
		return 0, errTwin
	}
	at := w.find(c.ID)
	mine := twinClaim{source, c.Value}
	if at < 0 {
		if c.Op == discovery.Remove {
			return 0, errTwin
		}
		w.join(c.ID, []twinClaim{mine})
		return discovery.Inserted, nil
	}
	m := &w.members[at]
	own := m.claimOf(source)
	switch c.Op {
	case discovery.Replace:
		claims := slices.DeleteFunc(slices.Clone(m.claims), func(c twinClaim) bool { return c.source == source })
		w.members = slices.Delete(w.members, at, at+1)
		w.join(c.ID, append([]twinClaim{mine}, claims...))
		return discovery.Replaced, nil
	case discovery.Remove:
		return w.drop(at, own), nil
	case discovery.Add:
		if own >= 0 {
			return 0, errTwin
		}
	}
	switch {
	case m.draining:
		m.draining, m.seen = false, false
		m.value, m.claims = c.Value, []twinClaim{mine}
		return discovery.Revived, nil
	case own < 0:
		m.claims = append(m.claims, mine)
		return discovery.Claimed, nil
	}
	m.claims[own].value = c.Value
	if own > 0 || m.value == c.Value {
		return discovery.Unchanged, nil
	}
	m.value = c.Value
	return discovery.Updated, nil
}

func (w *twin) drop(at, own int) discovery.Effect {
	m := &w.members[at]
	switch {
	case m.draining:
		return discovery.AlreadyDraining
	case own < 0:
		return discovery.Kept
	}
	m.claims = slices.Delete(m.claims, own, own+1)
	if len(m.claims) == 0 {
		if w.atOnce {
			w.members = slices.Delete(w.members, at, at+1)
			return discovery.Removed
		}
		m.draining = true
		return discovery.DrainStarted
	}
	if m.value != m.claims[0].value {
		m.value = m.claims[0].value
		return discovery.Updated
	}
	return discovery.Kept
}

// batch makes the changes of a source, or none of them.
func (w *twin) batch(source string, changes []discovery.Change[int]) ([]discovery.Effect, error) {
	next := w.copied()
	var effects []discovery.Effect
	for _, c := range changes {
		e, err := next.change(source, c)
		if err != nil {
			return nil, err
		}
		effects = append(effects, e)
	}
	next.settle(effects)
	*w = *next
	return effects, nil
}

// settle counts one revision for all effects together.
func (w *twin) settle(effects []discovery.Effect) {
	if slices.ContainsFunc(effects, discovery.Effect.Changed) {
		w.revision++
	}
}

func (w *twin) reconcile(source string, list []discovery.Entry[int]) ([]discovery.Effect, error) {
	var changes []discovery.Change[int]
	named := map[string]bool{}
	for _, e := range list {
		if named[e.ID] {
			return nil, errTwin
		}
		named[e.ID] = true
		changes = append(changes, discovery.Change[int]{ID: e.ID, Value: e.Value})
	}
	for _, m := range w.members {
		if !named[m.id] && m.claimOf(source) >= 0 {
			changes = append(changes, discovery.Change[int]{Op: discovery.Remove, ID: m.id})
		}
	}
	return w.batch(source, changes)
}

func (w *twin) finish(id string, outstanding uint64) (discovery.Effect, error) {
	at := w.find(id)
	switch {
	case at < 0:
		return 0, errTwin
	case !w.members[at].draining:
		return discovery.NotDraining, nil
	case outstanding > 0:
		return discovery.StillBusy, nil
	}
	w.members = slices.Delete(w.members, at, at+1)
	w.revision++
	return discovery.DrainFinished, nil
}

// finishAll returns who left, how many are left, and how long the next deadline is
// away.
func (w *twin) finishAll(now time.Time, limit time.Duration, busy map[string]bool) (gone []string, left int, wait time.Duration) {
	var kept []twinMember
	for _, m := range w.members {
		if !m.draining {
			kept = append(kept, m)
			continue
		}
		if !m.seen || now.Before(m.since) {
			m.seen, m.since = true, now
		}
		rest := m.since.Add(limit).Sub(now)
		if !busy[m.id] || limit > 0 && rest <= 0 {
			gone = append(gone, m.id)
			continue
		}
		kept = append(kept, m)
		left++
		if limit > 0 && (wait == 0 || rest < wait) {
			wait = rest
		}
	}
	w.members = kept
	if len(gone) > 0 {
		w.revision++
	}
	return gone, left, wait
}

// text is a snapshot in words.
func text(revision uint64, members []discovery.Member[int]) string {
	return fmt.Sprintf("revision %d: %v", revision, members)
}

func (w *twin) text() string {
	var members []discovery.Member[int]
	for _, m := range w.members {
		members = append(members, discovery.Member[int]{ID: m.id, Incarnation: m.incarnation, Value: m.value, Draining: m.draining})
	}
	return text(w.revision, members)
}

func textOf(s *discovery.Snapshot[int]) string {
	return text(s.Revision(), membersOf(s))
}

func membersOf(s *discovery.Snapshot[int]) (members []discovery.Member[int]) {
	for _, m := range s.All() {
		members = append(members, m)
	}
	return members
}

// at returns the member at index i, or none.
func at[V any](s *discovery.Snapshot[V], i int) discovery.Member[V] {
	m, _ := s.At(i)
	return m
}

// slowDelta looks for every member of one snapshot in the other.
func slowDelta(older, newer []discovery.Member[int]) (d discovery.Delta[int]) {
	in := func(list []discovery.Member[int], incarnation uint64) (discovery.Member[int], bool) {
		for _, m := range list {
			if m.Incarnation == incarnation {
				return m, true
			}
		}
		return discovery.Member[int]{}, false
	}
	for _, a := range older {
		if _, ok := in(newer, a.Incarnation); !ok {
			d.Left = append(d.Left, a)
		}
	}
	for _, b := range newer {
		a, ok := in(older, b.Incarnation)
		switch {
		case !ok:
			d.Joined = append(d.Joined, b)
			continue
		case a.Value != b.Value:
			d.Changed = append(d.Changed, discovery.Changed[int]{Before: a, After: b})
		}
		if b.Draining && !a.Draining {
			d.DrainStarted = append(d.DrainStarted, b)
		}
		if a.Draining && !b.Draining {
			d.Revived = append(d.Revived, b)
		}
	}
	return d
}

func sameInt(a, b int) bool { return a == b }

// play is a script of operations on a Directory and its twin.
type play struct {
	t      failer
	script []byte
	d      *discovery.Directory[int]
	w      *twin
	cfg    discovery.Config[int]
	now    time.Time
	live   map[string]*discovery.Session[int]
	dead   []*discovery.Session[int]
	last   map[string]int // the revision of a source's session
	past   []*discovery.Snapshot[int]
	texts  []string // of past
	cursor *discovery.Cursor[int]
	seen   uint64
	closed bool
}

func (p *play) byte() int {
	if len(p.script) == 0 {
		return 0
	}
	b := p.script[0]
	p.script = p.script[1:]
	return int(b)
}

func (p *play) change() discovery.Change[int] {
	b := p.byte()
	ids := []string{"a", "b", "c", "d", "e", "f", "g", ""}
	id := ids[b&7]
	if id == "" && b < 224 {
		id = "h" // a wrong identity is seldom
	}
	return discovery.Change[int]{Op: discovery.Op(b >> 3 & 3), ID: id, Value: b >> 5 & 3}
}

// requireDirectory plays a script, and compares all that can be seen after each
// step.
func requireDirectory(t failer, atOnce bool, script []byte) {
	t.Helper()
	cfg := discovery.Config[int]{Equal: sameInt, RemoveImmediately: atOnce, DrainFor: 10 * time.Second}
	d, err := discovery.New(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p := &play{
		t: t, script: script, d: d, w: &twin{atOnce: atOnce}, cfg: cfg, now: time.Unix(1<<32, 0),
		live: map[string]*discovery.Session[int]{}, last: map[string]int{}, cursor: d.Cursor(),
	}
	p.compare("at the start")
	for step := 0; len(p.script) > 0; step++ {
		op := p.byte()
		name := fmt.Sprintf("step %d, op %d", step, op)
		p.step(name, op)
		p.compare(name)
	}
	for i, s := range p.past {
		if got := textOf(s); got != p.texts[i] {
			t.Fatalf("a snapshot has changed from %s to %s", p.texts[i], got)
		}
	}
}

func (p *play) session(source string) *discovery.Session[int] {
	if s := p.live[source]; s != nil {
		return s
	}
	s, err := p.d.Open(source)
	if err != nil {
		if p.closed && errors.Is(err, discovery.ErrClosed) {
			return nil
		}
		p.t.Fatalf("Open: %v", err)
	}
	p.live[source], p.last[source] = s, -1
	return s
}

func (p *play) step(name string, op int) {
	source := []string{"x", "y", "z"}[op>>4%3]
	switch op & 15 {
	case 9: // the source starts again, or stops
		if s := p.live[source]; s != nil {
			if op > 127 {
				s.Close()
			}
			p.live[source] = nil
			p.dead = append(p.dead, s)
			if op <= 127 {
				p.session(source)
			}
		}
		return
	case 10:
		if len(p.dead) == 0 {
			return
		}
		s := p.dead[p.byte()%len(p.dead)]
		want := discovery.ErrSessionEnded
		if p.closed {
			want = discovery.ErrClosed
		} else if p.live[s.Source()] == nil {
			// What ended without Close is superseded only by the next session.
			p.session(s.Source())
		}
		if _, err := s.Reconcile(nil); !errors.Is(err, want) {
			p.t.Fatalf("%s: a session that has ended answers %v", name, err)
		}
		return
	case 11, 12:
		id := p.change().ID
		outstanding := uint64(op >> 6)
		got, err := p.d.FinishDrain(id, outstanding)
		if p.refusedForClose(name, err) {
			return
		}
		want, wantErr := p.w.finish(id, outstanding)
		if (err != nil) != (wantErr != nil) || got.Effect != want {
			p.t.Fatalf("%s: FinishDrain answers %v and %v, want %v and %v", name, got, err, want, wantErr)
		}
		return
	case 13, 14:
		p.finishDrains(name)
		return
	case 15:
		if op == 255 && p.byte() > 200 {
			p.d.Close()
			p.closed = true
		}
		return
	}
	s := p.session(source)
	if s == nil {
		return
	}
	switch op & 15 {
	case 5, 6: // a batch
		var changes []discovery.Change[int]
		for range p.byte() % 5 {
			changes = append(changes, p.change())
		}
		got, err := s.Apply(changes...)
		if p.refusedForClose(name, err) {
			return
		}
		want, wantErr := p.w.batch(source, changes)
		p.agree(name, got, err, want, wantErr)
	case 7, 8: // a list
		var list []discovery.Entry[int]
		for range p.byte() % 7 {
			c := p.change()
			list = append(list, discovery.Entry[int]{ID: c.ID, Value: c.Value})
		}
		p.list(name, s, list, op)
	default:
		c := p.change()
		var got discovery.ChangeResult
		var err error
		switch c.Op {
		case discovery.Upsert:
			got, err = s.Upsert(c.ID, c.Value)
		case discovery.Replace:
			got, err = s.Replace(c.ID, c.Value)
		case discovery.Remove:
			got, err = s.Remove(c.ID)
		default:
			var all []discovery.ChangeResult
			if all, err = s.Apply(c); err == nil {
				got = all[0]
			}
		}
		if p.refusedForClose(name, err) {
			return
		}
		want, wantErr := p.w.batch(source, []discovery.Change[int]{c})
		if err != nil {
			p.agree(name, nil, err, want, wantErr)
		} else {
			p.agree(name, []discovery.ChangeResult{got}, nil, want, wantErr)
		}
	}
}

func (p *play) list(name string, s *discovery.Session[int], list []discovery.Entry[int], op int) {
	var got discovery.ListResult
	var err error
	stale := false
	if op&15 == 8 {
		revision := p.byte() % 16
		stale = revision <= p.last[s.Source()]
		got, err = s.ReconcileAt(uint64(revision), list)
		if errors.Is(err, discovery.ErrStale) != (stale && !p.closed) {
			p.t.Fatalf("%s: revision %d after %d answers %v", name, revision, p.last[s.Source()], err)
		}
		if err == nil {
			p.last[s.Source()] = revision
		}
	} else {
		got, err = s.Reconcile(list)
	}
	if p.refusedForClose(name, err) || stale {
		return
	}
	want, wantErr := p.w.reconcile(s.Source(), list)
	if (err != nil) != (wantErr != nil) {
		p.t.Fatalf("%s: Reconcile answers %v, want %v", name, err, wantErr)
	}
	if err != nil {
		return
	}
	counts := map[discovery.Effect]int{}
	for _, e := range want {
		counts[e]++
	}
	for e := range discovery.Removed + 2 {
		if got.Count(e) != counts[e] {
			p.t.Fatalf("%s: %d times %v, want %d", name, got.Count(e), e, counts[e])
		}
	}
	if got.Revision != p.w.revision || got.Changed() != slices.ContainsFunc(want, discovery.Effect.Changed) {
		p.t.Fatalf("%s: revision %d, changed %t", name, got.Revision, got.Changed())
	}
}

func (p *play) finishDrains(name string) {
	p.now = p.now.Add(time.Duration(p.byte()%8-2) * time.Second)
	busy := map[string]bool{}
	work := p.byte()
	for i, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		busy[id] = work>>i&1 == 1
	}
	got, err := p.d.FinishDrains(p.now, func(m discovery.Member[int]) uint64 {
		if !m.Draining {
			p.t.Fatalf("%s: asked for the work of %v", name, m)
		}
		if busy[m.ID] {
			return 3
		}
		return 0
	})
	if p.refusedForClose(name, err) {
		return
	}
	gone, left, wait := p.w.finishAll(p.now, p.cfg.DrainFor, busy)
	var ids []string
	for _, e := range got.Ended {
		ids = append(ids, e.Member.ID)
		if (e.Outstanding > 0) != busy[e.Member.ID] {
			p.t.Fatalf("%s: %v has ended", name, e)
		}
	}
	if !slices.Equal(ids, gone) || got.Left != left || got.Wait != wait || got.Revision != p.w.revision {
		p.t.Fatalf("%s: FinishDrains answers %+v, want %v, %d left, next in %v", name, got, gone, left, wait)
	}
}

// refusedForClose reports whether the Directory is closed, and insists that it
// says so.
func (p *play) refusedForClose(name string, err error) bool {
	if p.closed && !errors.Is(err, discovery.ErrClosed) {
		p.t.Fatalf("%s: a closed directory answers %v", name, err)
	}
	return p.closed
}

func (p *play) agree(name string, got []discovery.ChangeResult, err error, want []discovery.Effect, wantErr error) {
	if (err != nil) != (wantErr != nil) || err == nil && len(got) != len(want) {
		p.t.Fatalf("%s: got %v and %v, want %v and %v", name, got, err, want, wantErr)
	}
	for i, a := range got {
		if a.Effect != want[i] || a.Revision != p.w.revision {
			p.t.Fatalf("%s: change %d is %v, want %v at revision %d", name, i, a, want[i], p.w.revision)
		}
	}
}

func (p *play) compare(name string) {
	s := p.d.Load()
	if got, want := textOf(s), p.w.text(); got != want {
		p.t.Fatalf("%s:\n got %s\nwant %s", name, got, want)
	}
	if p.d.Closed() != p.closed {
		p.t.Fatalf("%s: Closed is %t", name, p.d.Closed())
	}
	for i, m := range s.All() {
		if found, ok := s.Lookup(m.ID); !ok || found != m || at(s, i) != m {
			p.t.Fatalf("%s: Lookup of %v finds %v", name, m, found)
		}
	}
	if _, ok := s.Lookup("nobody"); ok {
		p.t.Fatalf("%s: Lookup finds nobody", name)
	}
	p.past, p.texts = append(p.past, s), append(p.texts, textOf(s))
	older := p.past[(len(p.past)-1)*7%len(p.past)]
	delta, err := s.Delta(older)
	if want := slowDelta(membersOf(older), membersOf(s)); err != nil || fmt.Sprint(delta) != fmt.Sprint(want) {
		p.t.Fatalf("%s: the delta is %v (%v), want %v", name, delta, err, want)
	}
	if len(p.past)%3 == 0 {
		p.follow(name, s)
	}
}

// follow polls the cursor.
func (p *play) follow(name string, s *discovery.Snapshot[int]) {
	_, seen := p.cursor.Seen()
	first := !seen
	got, ok := p.cursor.Poll()
	switch {
	case ok && got != s:
		p.t.Fatalf("%s: the cursor returns revision %d, the newest is %d", name, got.Revision(), s.Revision())
	case ok && got.Revision() <= p.seen && !first:
		p.t.Fatalf("%s: the cursor returns revision %d again", name, got.Revision())
	case !ok && p.seen != s.Revision():
		p.t.Fatalf("%s: the cursor, at %d, has nothing, and the newest is %d", name, p.seen, s.Revision())
	case !ok && p.cursor.Ended() != p.closed:
		p.t.Fatalf("%s: the cursor has ended: %t", name, p.cursor.Ended())
	}
	p.seen = s.Revision()
	if revision, ok := p.cursor.Seen(); revision != p.seen || !ok {
		p.t.Fatalf("%s: Seen is %d, %t", name, revision, ok)
	}
}
