package discovery_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

var start = time.Unix(1<<32, 0)

func newDirectory(t testing.TB, cfg discovery.Config[int]) *discovery.Directory[int] {
	t.Helper()
	cfg.Equal = sameInt
	d, err := discovery.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open[V any](t testing.TB, d *discovery.Directory[V], source string) *discovery.Session[V] {
	t.Helper()
	s, err := d.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entries returns a list of identities whose values are their indices.
func entries(ids ...string) (list []discovery.Entry[int]) {
	for i, id := range ids {
		list = append(list, discovery.Entry[int]{ID: id, Value: i})
	}
	return list
}

// many returns n entries.
func many(n int) []discovery.Entry[int] {
	list := make([]discovery.Entry[int], n)
	for i := range list {
		list[i] = discovery.Entry[int]{ID: fmt.Sprintf("10.0.%d.%d:8080", i/256, i%256), Value: i}
	}
	return list
}

func reconcile(t testing.TB, s *discovery.Session[int], list []discovery.Entry[int]) discovery.ListResult {
	t.Helper()
	tally, err := s.Reconcile(list)
	if err != nil {
		t.Fatal(err)
	}
	return tally
}

func ids(s *discovery.Snapshot[int]) string {
	var list []string
	for _, m := range s.All() {
		id := m.ID
		if m.Draining {
			id = "(" + id + ")"
		}
		list = append(list, id)
	}
	return strings.Join(list, " ")
}

func TestNew_RefusesBadSettings(t *testing.T) {
	for _, row := range []struct {
		name  string
		cfg   discovery.Config[int]
		field string
		err   error
	}{
		{"no Equal", discovery.Config[int]{}, "Equal", discovery.ErrMissing},
		{"a limit below zero", discovery.Config[int]{Equal: sameInt, DrainFor: -1}, "DrainFor", discovery.ErrOutOfRange},
	} {
		_, err := discovery.New(row.cfg)
		requireField(t, row.name, err, row.field, row.err)
	}
}

func requireField(t *testing.T, name string, err error, field string, want error) {
	t.Helper()
	f, ok := errors.AsType[*poise.FieldError](err)
	if !ok || f.Field != field || !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v at %s", name, err, want, field)
	}
}

func TestDirectory_BeginsEmptyAtItsRevision(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{Revision: 41})
	s := d.Load()
	if s.Revision() != 41 || s.Len() != 0 || d.Closed() {
		t.Fatalf("it begins at %d with %d members", s.Revision(), s.Len())
	}
	if _, ok := s.Lookup("a"); ok {
		t.Error("an empty snapshot finds somebody")
	}
	if a, err := open(t, d, "x").Upsert("a", 1); err != nil || a != (discovery.ChangeResult{Effect: discovery.Inserted, Revision: 42}) {
		t.Fatalf("got %v, %v", a, err)
	}
}

// Claim: An Upsert of an equal value changes nothing.
// Claim: Remove of a member that drains already, or that only other sources claim, changes nothing.
// Claim: FinishDrain refuses while work is outstanding, and for members that do not drain.
//
// Cases: B45.
func TestDirectory_LifeOfAMember(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s, other := open(t, d, "x"), open(t, d, "y")
	upsert := func(value int) func() (discovery.ChangeResult, error) {
		return func() (discovery.ChangeResult, error) { return s.Upsert("b", value) }
	}
	remove := func() (discovery.ChangeResult, error) { return s.Remove("b") }
	finish := func(work uint64) func() (discovery.ChangeResult, error) {
		return func() (discovery.ChangeResult, error) { return d.FinishDrain("b", work) }
	}
	if _, err := s.Apply(discovery.Change[int]{ID: "a"}, discovery.Change[int]{ID: "b"}, discovery.Change[int]{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		do       func() (discovery.ChangeResult, error)
		effect   discovery.Effect
		revision uint64
		ids      string
	}{
		{upsert(0), discovery.Unchanged, 1, "a b c"},
		{upsert(5), discovery.Updated, 2, "a b c"},
		{finish(0), discovery.NotDraining, 2, "a b c"},
		{func() (discovery.ChangeResult, error) { return other.Remove("b") }, discovery.Kept, 2, "a b c"},
		{remove, discovery.DrainStarted, 3, "a (b) c"},
		{remove, discovery.AlreadyDraining, 3, "a (b) c"},
		{upsert(5), discovery.Revived, 4, "a b c"},
		{remove, discovery.DrainStarted, 5, "a (b) c"},
		{finish(3), discovery.StillBusy, 5, "a (b) c"},
		{finish(0), discovery.DrainFinished, 6, "a c"},
		{upsert(5), discovery.Inserted, 7, "a c b"},
		{func() (discovery.ChangeResult, error) { return s.Replace("a", 0) }, discovery.Replaced, 8, "c b a"},
	} {
		got, err := row.do()
		if want := (discovery.ChangeResult{Effect: row.effect, Revision: row.revision}); err != nil || got != want {
			t.Fatalf("row %d: got %v, %v, want %v", i, got, err, want)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Fatalf("row %d: %s, want %s", i, got, row.ids)
		}
	}
	if b, _ := d.Load().Lookup("b"); b.Incarnation != 4 {
		t.Errorf("b came back as incarnation %d", b.Incarnation)
	}
	for name, do := range map[string]func() (discovery.ChangeResult, error){
		"Remove":      func() (discovery.ChangeResult, error) { return s.Remove("z") },
		"FinishDrain": func() (discovery.ChangeResult, error) { return d.FinishDrain("z", 0) },
	} {
		got, err := do()
		requireField(t, name+" of nobody", err, "ID", discovery.ErrUnknown)
		if got != (discovery.ChangeResult{}) || d.Load().Revision() != 8 {
			t.Errorf("%s of nobody: %v", name, got)
		}
	}
}

func TestDirectory_AtOnceNobodyDrains(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b", "c"))
	if a, err := s.Remove("b"); err != nil || a.Effect != discovery.Removed {
		t.Fatalf("got %v, %v", a, err)
	}
	if tally := reconcile(t, s, entries("a")); tally.Count(discovery.Removed) != 1 || tally.Revision != 3 {
		t.Fatalf("got %v", tally)
	}
	if got := ids(d.Load()); got != "a" {
		t.Fatal(got)
	}
}

// Claim: A list that names an identity twice is refused with an error that names it.
// Claim: After an error of any method nothing has changed.
//
// Cases: B42.
func TestSession_RefusesAnIdentityThatOccursTwice(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	before := d.Load()
	_, err := s.Reconcile(entries("a", "b", "a"))
	requireField(t, "a whole list", err, "list[2].ID", discovery.ErrDuplicate)
	_, err = s.Apply(discovery.Change[int]{Op: discovery.Add, ID: "a"}, discovery.Change[int]{Op: discovery.Add, ID: "a"})
	requireField(t, "two adds", err, "changes[1].ID", discovery.ErrDuplicate)
	if !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("%v does not name it", err)
	}
	if d.Load() != before {
		t.Fatal("something has changed")
	}
	reconcile(t, s, entries("a", "b"))
	before = d.Load()
	_, err = s.Reconcile(entries("c", "b", "b"))
	requireField(t, "a list with a known one", err, "list[2].ID", discovery.ErrDuplicate)
	if d.Load() != before {
		t.Fatal("something has changed")
	}
	reconcile(t, s, entries("a", "b", "c")) // marks of a refused list mean nothing
}

// Claim: A batch is applied in the given order, as one change or not at all.
func TestSession_BatchesTakeTheirOrderAtItsWord(t *testing.T) {
	type batch = []discovery.Change[int]
	add, remove := discovery.Change[int]{Op: discovery.Add, ID: "a", Value: 7}, discovery.Change[int]{Op: discovery.Remove, ID: "a"}
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b"))
	for i, row := range []struct {
		changes batch
		effects string
		ids     string
		inc     uint64 // of the last
	}{
		{batch{remove, add}, "[removed inserted]", "b a", 3},
		{batch{{ID: "a", Value: 8}, remove, add, {ID: "a", Value: 9}}, "[updated removed inserted updated]", "b a", 4},
		{batch{{ID: "c"}, {ID: "d"}, {Op: discovery.Remove, ID: "c"}}, "[inserted inserted removed]", "b a d", 6},
		{batch{{ID: "e"}, {Op: discovery.Remove, ID: "e"}}, "[inserted removed]", "b a d", 6},
		{batch{{Op: discovery.Replace, ID: "a"}, {Op: discovery.Replace, ID: "a"}}, "[replaced replaced]", "b d a", 9},
	} {
		applied, err := s.Apply(row.changes...)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		var effects []discovery.Effect
		for _, a := range applied {
			effects = append(effects, a.Effect)
		}
		now := d.Load()
		if fmt.Sprint(effects) != row.effects || ids(now) != row.ids || now.Revision() != uint64(i)+2 || at(now, now.Len()-1).Incarnation != row.inc {
			t.Fatalf("row %d: %v leaves revision %d: %v", i, effects, now.Revision(), membersOf(now))
		}
	}
	before := d.Load()
	_, err := s.Apply(remove, remove)
	requireField(t, "a second removal", err, "changes[1].ID", discovery.ErrUnknown)
	if d.Load() != before {
		t.Error("something has changed")
	}
}

func TestSession_AClaimThatIsNotTheOldestGoesUnnoticed(t *testing.T) {
	d, err := discovery.New(discovery.Config[int]{Equal: func(int, int) bool { return false }}) // as for NaN
	if err != nil {
		t.Fatal(err)
	}
	first, second := open(t, d, "x"), open(t, d, "y")
	reconcile(t, first, entries("a"))
	if _, err := second.Upsert("a", 5); err != nil {
		t.Fatal(err)
	}
	if a, err := second.Remove("a"); err != nil || a != (discovery.ChangeResult{Effect: discovery.Kept, Revision: 1}) {
		t.Errorf("got %v, %v", a, err)
	}
}

func TestSession_SourcesThatClaimNothingAreForgotten(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	come := func(i int) {
		s := open(t, d, fmt.Sprint("source ", i))
		reconcile(t, s, entries("a"))
		reconcile(t, s, nil)
		s.Close()
	}
	come(0)
	before := heap()
	for i := range 10_000 {
		come(i)
	}
	if after := heap(); after > before+64<<10 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func TestSession_RefusesBadInput(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	before := d.Load()
	_, err := s.Upsert("", 1)
	requireField(t, "an empty identity", err, "ID", poise.ErrEmptyIdentity)
	_, err = s.Reconcile(entries("a", ""))
	requireField(t, "an empty identity in a list", err, "list[1].ID", poise.ErrEmptyIdentity)
	_, err = s.Apply(discovery.Change[int]{ID: "a"}, discovery.Change[int]{Op: 4, ID: "b"})
	requireField(t, "an unknown operation", err, "changes[1].Op", discovery.ErrOutOfRange)
	_, err = s.Apply(discovery.Change[int]{ID: "a"}, discovery.Change[int]{Op: discovery.Remove, ID: "b"})
	requireField(t, "removal of nobody", err, "changes[1].ID", discovery.ErrUnknown)
	if a, err := s.Apply(); err != nil || len(a) != 0 {
		t.Errorf("an empty batch answers %v, %v", a, err)
	}
	if d.Load() != before {
		t.Fatal("something has changed")
	}
}

func TestSession_RefusesNilValues(t *testing.T) {
	pointers, err := discovery.New(discovery.Config[*int]{Equal: func(a, b *int) bool { return *a == *b }})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := pointers.Open("x")
	_, err = p.Upsert("a", nil)
	requireField(t, "a nil pointer", err, "Value", discovery.ErrNilValue)
	if _, err := p.Upsert("a", new(int)); err != nil {
		t.Error(err)
	}
	interfaces, err := discovery.New(discovery.Config[any]{Equal: func(a, b any) bool { return a == b }})
	if err != nil {
		t.Fatal(err)
	}
	i, _ := interfaces.Open("x")
	_, err = i.Reconcile([]discovery.Entry[any]{{ID: "a", Value: 1}, {ID: "b"}})
	requireField(t, "a nil interface", err, "list[1].Value", discovery.ErrNilValue)
	_, err = i.Upsert("a", (*int)(nil))
	requireField(t, "a nil pointer inside", err, "Value", discovery.ErrNilValue)
	functions, _ := discovery.New(discovery.Config[func()]{Equal: func(a, b func()) bool { return false }})
	f, _ := functions.Open("x")
	_, err = f.Upsert("a", nil)
	requireField(t, "a nil function", err, "Value", discovery.ErrNilValue)
	if interfaces.Load().Len()+functions.Load().Len() != 0 {
		t.Error("something has changed")
	}
}

// Claim: Reconcile leaves a member that is in the list with an equal value untouched.
//
// Cases: G14.
func TestSession_AnUnchangedListCostsNoRevision(t *testing.T) {
	type value struct{ weight int }
	d, err := discovery.New(discovery.Config[*value]{Equal: func(a, b *value) bool { return *a == *b }})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := d.Open("x")
	list := func(weights ...int) (l []discovery.Entry[*value]) {
		for i, w := range weights {
			l = append(l, discovery.Entry[*value]{ID: fmt.Sprint(i), Value: &value{w}})
		}
		return l
	}
	if _, err := s.Reconcile(list(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	before := d.Load()
	tally, err := s.Reconcile(list(1, 2, 3))
	if err != nil || tally.Changed() || tally.Count(discovery.Unchanged) != 3 || d.Load() != before {
		t.Fatalf("got %v, %v", tally, err)
	}
	tally, err = s.Reconcile(list(1, 7, 3))
	if err != nil || tally.Count(discovery.Updated) != 1 || tally.Revision != 2 {
		t.Fatalf("got %v, %v", tally, err)
	}
	for i, m := range d.Load().All() {
		if kept := m.Value == at(before, i).Value; kept == (i == 1) || m.Incarnation != at(before, i).Incarnation {
			t.Errorf("member %d: value kept: %t, incarnation %d", i, kept, m.Incarnation)
		}
	}
}

// Cases: B47.
func TestDirectory_FreshValuesKeepTheIncarnation(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	for round := range 20 {
		list := entries("a", "b")
		list[0].Value = round
		reconcile(t, s, list)
		if a := at(d.Load(), 0); a.Incarnation != 1 || a.Value != round || d.Load().Revision() != uint64(round)+1 {
			t.Fatalf("round %d: %v", round, a)
		}
	}
}

func TestDirectory_SeveralSourcesOfOneMember(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	x, y := open(t, d, "x"), open(t, d, "y")
	reconcile(t, x, []discovery.Entry[int]{{ID: "a", Value: 1}, {ID: "b", Value: 1}})
	if tally := reconcile(t, y, []discovery.Entry[int]{{ID: "a", Value: 2}}); tally.Count(discovery.Claimed) != 1 || tally.Changed() {
		t.Fatalf("got %v", tally)
	}
	for range 3 { // sources that disagree do not take turns
		reconcile(t, x, []discovery.Entry[int]{{ID: "a", Value: 1}, {ID: "b", Value: 1}})
		reconcile(t, y, []discovery.Entry[int]{{ID: "a", Value: 2}})
	}
	if s := d.Load(); s.Revision() != 1 || at(s, 0).Value != 1 {
		t.Fatalf("revision %d, value %d", s.Revision(), at(s, 0).Value)
	}
	reconcile(t, x, nil)
	if got, a := ids(d.Load()), at(d.Load(), 0); got != "a (b)" || a.Value != 2 || a.Incarnation != 1 {
		t.Fatalf("after the first source: %s, %v", got, a)
	}
	reconcile(t, y, nil)
	if got := ids(d.Load()); got != "(a) (b)" {
		t.Fatalf("after the last source: %s", got)
	}
}

// Claim: A session that was closed or replaced can change nothing.
// Claim: A source that opens a new session keeps its claims, and its revisions start anew.
// Claim: ReconcileAt refuses a revision that is not newer than the session's last one.
//
// Cases: G14.
func TestSession_OfASourceThatStartsAgain(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	first := open(t, d, "x")
	if _, err := first.ReconcileAt(90, entries("a", "b")); err != nil {
		t.Fatal(err)
	}
	for _, revision := range []uint64{90, 89, 0} {
		_, err := first.ReconcileAt(revision, nil)
		stale, ok := errors.AsType[*discovery.StaleError](err)
		if !ok || *stale != (discovery.StaleError{Source: "x", Current: 90, Attempted: revision}) || !errors.Is(err, discovery.ErrStale) {
			t.Errorf("revision %d: %v", revision, err)
		}
	}
	if _, err := first.ReconcileAt(91, entries("a", "b", "b")); !errors.Is(err, discovery.ErrDuplicate) {
		t.Fatal(err)
	}
	if _, err := first.ReconcileAt(91, entries("a", "b")); err != nil {
		t.Errorf("a refused list has used up its revision: %v", err)
	}
	second := open(t, d, "x")
	before := d.Load()
	for name, do := range sessionMethods(first) {
		err := do()
		ended, ok := errors.AsType[*discovery.SessionError](err)
		if !ok || *ended != (discovery.SessionError{Source: "x", Replaced: true}) || !errors.Is(err, discovery.ErrSessionEnded) {
			t.Errorf("%s of a replaced session: %v", name, err)
		}
	}
	first.Close() // it is not the open one
	if tally, err := second.ReconcileAt(0, entries("a", "b")); err != nil || tally.Changed() || d.Load() != before {
		t.Fatalf("the same list after a restart: %v, %v", tally, err)
	}
	if tally, err := second.ReconcileAt(1, entries("a")); err != nil || tally.Count(discovery.DrainStarted) != 1 {
		t.Fatalf("the claims were not kept: %v, %v", tally, err)
	}
	second.Close()
	second.Close()
	for name, do := range sessionMethods(second) {
		if ended, ok := errors.AsType[*discovery.SessionError](do()); !ok || ended.Replaced {
			t.Errorf("%s of a closed session: %v", name, ended)
		}
	}
	if got := ids(d.Load()); got != "a (b)" {
		t.Errorf("a session that ends takes its members along: %s", got)
	}
	third := open(t, d, "x")
	if tally := reconcile(t, third, nil); tally.Count(discovery.DrainStarted) != 1 || third.Source() != "x" {
		t.Errorf("the claims were not kept: %v", tally)
	}
	third.Close() // with nothing: the source is forgotten
	if tally := reconcile(t, open(t, d, "x"), entries("c")); tally.Count(discovery.Inserted) != 1 {
		t.Errorf("got %v", tally)
	}
}

func sessionMethods(s *discovery.Session[int]) map[string]func() error {
	return map[string]func() error{
		"Upsert":      func() error { _, err := s.Upsert("z", 1); return err },
		"Replace":     func() error { _, err := s.Replace("a", 1); return err },
		"Remove":      func() error { _, err := s.Remove("a"); return err },
		"Apply":       func() error { _, err := s.Apply(); return err },
		"Reconcile":   func() error { _, err := s.Reconcile(nil); return err },
		"ReconcileAt": func() error { _, err := s.ReconcileAt(math.MaxUint64, nil); return err },
	}
}

// Claim: Close keeps the last snapshot, wakes everybody who waits, and refuses every later change.
// Code: Directory.end
// Claim: Closed reports at any time whether the Directory was closed.
// Code: Directory.Closed
//
// Cases: G13.
func TestDirectory_Close(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	reconcile(t, s, entries("a"))
	before := d.Load()
	if d.Closed() {
		t.Fatal("it is closed")
	}
	d.Close()
	d.Close()
	if !d.Closed() || d.Load() != before {
		t.Fatalf("closed: %t, revision %d", d.Closed(), d.Load().Revision())
	}
	for name, do := range sessionMethods(s) {
		if err := do(); err != discovery.ErrClosed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Open("y"); err != discovery.ErrClosed {
		t.Errorf("Open: %v", err)
	}
	if _, err := d.FinishDrain("a", 0); err != discovery.ErrClosed {
		t.Errorf("FinishDrain: %v", err)
	}
	if _, err := d.FinishDrains(start, nil); err != discovery.ErrClosed {
		t.Errorf("FinishDrains: %v", err)
	}
	s.Close()
	if d.Load() != before {
		t.Fatal("something has changed")
	}
}

// Claim: A change that needs a revision when none is left is refused, and changes nothing.
// Code: Directory.change
func TestDirectory_WithoutARevisionLeft(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{Revision: math.MaxUint64 - 1})
	s := open(t, d, "x")
	if _, err := s.ReconcileAt(1, entries("a", "b")); err != nil {
		t.Fatal(err)
	}
	before := d.Load()
	for name, do := range map[string]func() error{
		"Upsert":    func() error { _, err := s.Upsert("c", 1); return err },
		"Remove":    func() error { _, err := s.Remove("a"); return err },
		"Reconcile": func() error { _, err := s.ReconcileAt(2, nil); return err },
	} {
		if err := do(); err != discovery.ErrExhausted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d.Load() != before {
		t.Fatal("something has changed")
	}
	if tally, err := s.ReconcileAt(2, entries("a", "b")); err != nil || tally.Revision != math.MaxUint64 {
		t.Errorf("an unchanged list: %v, %v", tally, err)
	}
	if _, err := open(t, d, "y").Upsert("a", 9); err != nil {
		t.Errorf("a second claim: %v", err)
	}
	if a, err := d.FinishDrain("a", 0); err != nil || a.Effect != discovery.NotDraining {
		t.Errorf("FinishDrain: %v, %v", a, err)
	}
}

func TestDirectory_APanicOfEqualChangesNothing(t *testing.T) {
	panics := false
	d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool {
		if panics && a == 1 {
			panic("by the caller")
		}
		return a == b
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b"))
	before := d.Load()
	func() {
		defer func() { _ = recover() }()
		panics = true
		_, _ = s.Reconcile([]discovery.Entry[int]{{ID: "a", Value: 7}, {ID: "b", Value: 7}})
		t.Error("it did not panic")
	}()
	panics = false
	if d.Load() != before {
		t.Fatal("something has changed")
	}
	if tally := reconcile(t, s, entries("a", "c")); tally.Count(discovery.Unchanged) != 1 || tally.Count(discovery.DrainStarted) != 1 {
		t.Errorf("got %v", tally)
	}
}

func TestDirectory_FinishDrainsByWorkAndByTime(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{DrainFor: 10 * time.Second})
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b", "c", "d"))
	reconcile(t, s, entries("d"))
	work := map[string]uint64{"a": 2, "c": 1, "d": 9}
	at := func(seconds int) discovery.DrainResult[int] {
		t.Helper()
		got, err := d.FinishDrains(start.Add(time.Duration(seconds)*time.Second), func(m discovery.Member[int]) uint64 { return work[m.ID] })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := at(0); len(got.Ended) != 1 || got.Ended[0].Member.ID != "b" || got.Left != 2 || got.Wait != 10*time.Second || got.Revision != 3 {
		t.Fatalf("got %+v", got)
	}
	if got := at(9); len(got.Ended) != 0 || got.Left != 2 || got.Wait != time.Second || got.Revision != 3 {
		t.Fatalf("got %+v", got)
	}
	if _, err := s.Upsert("c", 2); err != nil { // back, and away again: another drain
		t.Fatal(err)
	}
	if _, err := s.Remove("c"); err != nil {
		t.Fatal(err)
	}
	got := at(10)
	if len(got.Ended) != 1 || got.Ended[0].Outstanding != 2 || got.Left != 1 || got.Wait != 10*time.Second {
		t.Fatalf("got %+v", got)
	}
	if got := at(-5); got.Left != 1 || got.Wait != 10*time.Second { // the clock steps back
		t.Fatalf("got %+v", got)
	}
	if got := at(5); len(got.Ended) != 1 || got.Wait != 0 || ids(d.Load()) != "d" {
		t.Fatalf("got %+v", got)
	}
}

func TestDirectory_FinishDrainsWithoutALimitWaitsForTheWork(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b"))
	reconcile(t, s, nil)
	busy := func(m discovery.Member[int]) uint64 { return m.Incarnation % 2 }
	for _, now := range []time.Time{start, start.Add(1 << 60)} {
		if got, err := d.FinishDrains(now, busy); err != nil || got.Left != 1 || got.Wait != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if got, err := d.FinishDrains(start, nil); err != nil || len(got.Ended) != 1 || d.Load().Len() != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestDirectory_FinishDrainsLeavesWhoWasRevivedMeanwhile(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	reconcile(t, s, entries("a", "b"))
	reconcile(t, s, nil)
	got, err := d.FinishDrains(start, func(m discovery.Member[int]) uint64 {
		if m.ID == "a" {
			reconcile(t, s, entries("a")) // the function may use the directory
		}
		return 0
	})
	if err != nil || len(got.Ended) != 1 || ids(d.Load()) != "a" {
		t.Fatalf("got %+v, %v, and %s are left", got, err, ids(d.Load()))
	}
}

func TestSnapshot_DeltaRefusesWhatIsNotOlder(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	old := d.Load()
	reconcile(t, s, entries("a", "b"))
	_, err := old.Delta(d.Load())
	requireField(t, "a newer one", err, "older", discovery.ErrNotOlder)
	_, err = d.Load().Delta(newDirectory(t, discovery.Config[int]{}).Load())
	requireField(t, "one of another directory", err, "older", discovery.ErrForeign)
	delta, err := d.Load().Delta(nil)
	if err != nil || len(delta.Joined) != 2 || delta.Empty() {
		t.Errorf("the delta to nothing: %v, %v", delta, err)
	}
	delta, err = d.Load().Delta(d.Load())
	if err != nil || !delta.Empty() {
		t.Errorf("the delta to itself: %v, %v", delta, err)
	}
	for _, i := range []int{-1, 2} {
		if m, ok := d.Load().At(i); ok || m.ID != "" {
			t.Errorf("index %d: %v", i, m)
		}
	}
	if empty := new(discovery.Snapshot[int]); empty.Len() != 0 || empty.Revision() != 0 {
		t.Error("the zero value is not empty")
	} else if _, ok := empty.Lookup("a"); ok {
		t.Error("the zero value finds somebody")
	}
}

// Claim: The members of a Snapshot stand in the order in which they joined, which is that of their incarnations.
// Claim: A Snapshot never changes.
func TestSnapshot_KeepsItsMembersWhileOthersJoinAndLeave(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{RemoveImmediately: true})
	s := open(t, d, "x")
	var snapshots []*discovery.Snapshot[int]
	var were []string
	for i := range 200 {
		change := discovery.Change[int]{ID: fmt.Sprint(i * 7 % 31), Value: i}
		if _, ok := d.Load().Lookup(change.ID); ok && i%3 == 0 {
			change.Op = discovery.Remove
		}
		if _, err := s.Apply(change); err != nil {
			t.Fatal(err)
		}
		snapshots, were = append(snapshots, d.Load()), append(were, textOf(d.Load()))
	}
	for i, s := range snapshots {
		if got := textOf(s); got != were[i] {
			t.Fatalf("snapshot %d was %s and is %s", i, were[i], got)
		}
		if !slices.IsSortedFunc(membersOf(s), func(a, b discovery.Member[int]) int { return int(a.Incarnation) - int(b.Incarnation) }) {
			t.Fatalf("snapshot %d is out of order: %s", i, were[i])
		}
	}
	for range snapshots[0].All() {
		break
	}
}

// Claim: A draining member is draining in every View that is made of the Snapshot.
// Claim: Load returns the newest snapshot, and every call after a change has returned sees that change.
// Code: Directory.change, Directory.Load
//
// Cases: B44, B52.
func TestSnapshot_ViewFollowsTheDirectory(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	describe := func(m discovery.Member[int]) poise.Sample {
		return poise.Sample{ID: "ignored", Status: poise.Ready, Priority: uint32(m.Value)}
	}
	eligible := func() string {
		t.Helper()
		snapshot := d.Load()
		view, err := snapshot.View(describe)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for i, sample := range view.All() {
			if m := at(snapshot, i); sample.ID != m.ID || sample.Incarnation != m.Incarnation || sample.Priority != uint32(m.Value) {
				t.Fatalf("candidate %d is %v, member %v", i, sample, m)
			}
			if view.Reason(i) == poise.NotExcluded {
				list = append(list, sample.ID)
			}
		}
		return strings.Join(list, " ")
	}
	reconcile(t, s, entries("a", "b", "c"))
	if got := eligible(); got != "a b c" {
		t.Fatal(got)
	}
	reconcile(t, s, []discovery.Entry[int]{{ID: "a", Value: 0}, {ID: "c", Value: 2}})
	if got := eligible(); got != "a c" || d.Load().Len() != 3 {
		t.Fatalf("after b was removed: %s", got)
	}
	reconcile(t, s, entries("a", "c", "d", "e"))
	if got := eligible(); got != "a c d e" {
		t.Fatalf("after two have joined: %s", got)
	}
	reconcile(t, s, entries("b"))
	if got := eligible(); got != "b" {
		t.Fatalf("after b was revived: %s", got)
	}
}

// Cases: B48.
func TestSnapshot_ABadViewLeavesTheDirectoryAlone(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	describe := func(m discovery.Member[int]) poise.Sample {
		return poise.Sample{Status: poise.Status(m.Value)}
	}
	for value, good := range []bool{true, true, true, false, false} {
		if _, err := s.Upsert("a", value); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Load().View(describe); (err == nil) != good {
			t.Errorf("value %d: %v", value, err)
		}
	}
	if _, err := s.Upsert("a", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load().View(describe); err != nil {
		t.Errorf("the good value after the bad ones: %v", err)
	}
}

func TestEffect_HasWords(t *testing.T) {
	seen := map[string]bool{}
	for e := range discovery.Removed + 1 {
		if seen[e.String()] || e.String() == "" {
			t.Errorf("effect %d is called %q", e, e)
		}
		seen[e.String()] = true
	}
	if got := (discovery.Removed + 1).String(); got != "effect 13" {
		t.Error(got)
	}
	for _, err := range []error{
		&discovery.SessionError{Source: "x"}, &discovery.SessionError{Source: "x", Replaced: true},
		&discovery.StaleError{Source: "x", Current: 2, Attempted: 1},
	} {
		if text := err.Error(); !strings.Contains(text, `"x"`) {
			t.Errorf("%q does not name the source", text)
		}
	}
}
