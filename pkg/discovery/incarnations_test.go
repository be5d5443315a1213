package discovery_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// kept is what Incarnations would be on paper: pairs in the order of incarnations.
type kept struct {
	incarnation uint64
	state       string
}

// twinReconcile is Reconcile on paper. It fails at the n-th state to begin, or, for
// -1, when it comes to accepting.
func twinReconcile(before []kept, list []uint64, names func() string, fail int) (after []kept, states, ended []string, ok bool) {
	find := func(in []kept, incarnation uint64) int {
		return slices.IndexFunc(in, func(k kept) bool { return k.incarnation == incarnation })
	}
	for i, incarnation := range list {
		if slices.Contains(list[:i], incarnation) {
			return before, nil, nil, false
		}
	}
	var begun []string
	for _, incarnation := range list {
		state := ""
		if at := find(before, incarnation); at >= 0 {
			state = before[at].state
		} else {
			if len(begun) == fail {
				return before, nil, begun, false
			}
			state = names()
			begun = append(begun, state)
		}
		after, states = append(after, kept{incarnation, state}), append(states, state)
	}
	if fail == -1 {
		return before, nil, begun, false
	}
	slices.SortFunc(after, func(a, b kept) int { return int(a.incarnation) - int(b.incarnation) })
	for _, k := range before {
		if find(after, k.incarnation) < 0 {
			ended = append(ended, k.state)
		}
	}
	return after, states, ended, true
}

// counting returns a function that names states in the order of its calls.
func counting() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("state ", n) }
}

// requireIncarnations runs lists of up to seven out of eight incarnations. Each
// takes one byte of the script for who is in it, one for what fails.
func requireIncarnations(t failer, script []byte) {
	t.Helper()
	var x discovery.Incarnations[string]
	var paper []kept
	names, paperNames := counting(), counting()
	for step := 0; step+1 < len(script); step += 2 {
		var list []uint64
		for i := range uint64(8) {
			if at := (i + uint64(script[step+1]>>5)) % 8; script[step]&(1<<at) != 0 {
				list = append(list, at) // in a turned order
			}
		}
		if script[step+1]&0x18 == 0x18 && len(list) > 0 {
			list = append(list, list[0])
		}
		fail := int(script[step+1]&7) - 1 // at a state, or when accepting
		if fail == 6 {
			fail = len(list)
		}
		var want, wantEnded []string
		var ok bool
		paper, want, wantEnded, ok = twinReconcile(paper, list, paperNames, fail)
		var got []string
		begun := 0
		ended, err := x.Reconcile(list, func(i int) (string, error) {
			if begun == fail {
				return "", errTwin
			}
			begun++
			return names(), nil
		}, func(states []string) error {
			if fail == -1 {
				return errTwin
			}
			got = slices.Clone(states)
			return nil
		})
		if (err == nil) != ok || !slices.Equal(got, want) || !slices.Equal(ended, wantEnded) {
			t.Fatalf("step %d, list %v: states %v, ended %v (%v); want %v, %v, %t", step, list, got, ended, err, want, wantEnded, ok)
		}
		for i := range uint64(8) {
			state, found := x.Lookup(i)
			at := slices.IndexFunc(paper, func(k kept) bool { return k.incarnation == i })
			if found != (at >= 0) || found && state != paper[at].state || x.Len() != len(paper) {
				t.Fatalf("step %d: incarnation %d has %q, %t, want %v", step, i, state, found, paper)
			}
		}
	}
}

// Claim: Reconcile keeps the state of every incarnation that is in the list, wherever it stands there.
//
// Claim: Reconcile begins a state for each incarnation that is new in the list, in the order of the list, and for no other.
//
// Claim: Reconcile hands back the states of those that have left, in the order of their incarnations.
//
// Claim: With an error Reconcile hands back the states that were begun in vain, and no others.
//
// Claim: An incarnation that was handed back begins anew if it comes again.
func TestIncarnations_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireIncarnations(t, rapid.SliceOf(rapid.Byte()).Draw(t, "script"))
	})
}

func TestIncarnations_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("Incarnations are kept as on paper", prop.ForAll(
		func(script []byte) string {
			return lawfully(func(t failer) { requireIncarnations(t, script) })
		}, gen.SliceOf(gen.UInt8())))
	laws.TestingRun(t)
}

// Claim: After an error or a panic of begin or accept the Incarnations keep what they kept before.
func TestIncarnations_KeepWhatTheyKeptAfterAPanic(t *testing.T) {
	oops := errors.New("oops")
	for name, row := range map[string]struct {
		begin  func(int) (string, error)
		accept func([]string) error
	}{
		"begin":            {func(int) (string, error) { panic(oops) }, nil},
		"accept":           {func(int) (string, error) { return "new", nil }, func([]string) error { panic(oops) }},
		"error of begin":   {func(int) (string, error) { return "", oops }, nil},
		"error of accept":  {func(int) (string, error) { return "new", nil }, func([]string) error { return oops }},
		"no error but nil": {func(int) (string, error) { return "", oops }, func([]string) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var x discovery.Incarnations[string]
			if _, err := x.Reconcile([]uint64{4, 2}, func(i int) (string, error) { return fmt.Sprint(i), nil }, nil); err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() { _ = recover() }()
				if _, err := x.Reconcile([]uint64{3, 2}, row.begin, row.accept); !errors.Is(err, oops) {
					t.Errorf("got %v", err)
				}
			}()
			_, left := x.Lookup(3)
			if state, ok := x.Lookup(4); state != "0" || !ok || left || x.Len() != 2 {
				t.Errorf("incarnation 4 has %q, %t; 3 is there: %t", state, ok, left)
			}
			if ended, err := x.Reconcile(nil, nil, nil); fmt.Sprint(ended, err) != "[1 0] <nil>" {
				t.Errorf("in the end: %v, %v", ended, err)
			}
		})
	}
}

// Claim: A list that names an incarnation twice is refused before anything is begun.
func TestIncarnations_RefuseAListThatNamesOneTwice(t *testing.T) {
	var x discovery.Incarnations[int]
	begin := func(int) (int, error) { t.Error("something was begun"); return 0, nil }
	ended, err := x.Reconcile([]uint64{1, 2, 1}, begin, nil)
	requireField(t, "a list", err, "list[2]", discovery.ErrDuplicate)
	if len(ended) != 0 || x.Len() != 0 {
		t.Errorf("%d ended, %d are kept", len(ended), x.Len())
	}
}

// State stays over a new value, a new order and a drain, and ends with the
// incarnation.
//
// Cases: B47, G14.
func TestIncarnations_FollowADirectory(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	var x discovery.Incarnations[uint64]
	follow := func() (states, ended []uint64) {
		var list []uint64
		for _, m := range d.Load().All() {
			list = append(list, m.Incarnation)
		}
		ended, err := x.Reconcile(list, func(i int) (uint64, error) { return list[i], nil }, func(all []uint64) error {
			states = all
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return states, ended
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"two join", func() error { _, err := s.Reconcile(entries("a", "b")); return err }, "[1 2] []"},
		{"the same, fetched anew", func() error {
			_, err := s.Reconcile([]discovery.Entry[int]{{ID: "b", Value: 1}, {ID: "a"}})
			return err
		}, "[1 2] []"},
		{"another value", func() error { _, err := s.Upsert("a", 77); return err }, "[1 2] []"},
		{"one drains", func() error { _, err := s.Remove("a"); return err }, "[1 2] []"},
		{"and leaves", func() error { _, err := d.FinishDrain("a", 0); return err }, "[2] [1]"},
		{"and comes back", func() error { _, err := s.Upsert("a", 2); return err }, "[2 3] []"},
		{"one is replaced", func() error { _, err := s.Replace("b", 1); return err }, "[3 4] [2]"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(follow()); got != step.want {
			t.Errorf("%s: states and ended are %s, want %s", step.name, got, step.want)
		}
	}
}
