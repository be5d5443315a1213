package discovery_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// Claim: Every change, batch or list that changes anything raises the revision by exactly one; all others leave it.
// Code: Directory.change
// Claim: A member keeps its incarnation and its place until it leaves; an identity that comes back is a new incarnation at the end.
// Code: Directory.apply
// Claim: A member leaves or begins to drain only when no source claims it any more.
// Code: Directory.apply
// Claim: The value of a member is that of the source whose claim is the oldest.
// Code: Directory.apply
// Claim: A batch is applied in the given order, as one change or not at all.
// Claim: Reconcile makes the members that the source claims those of the list, by identity and value.
// Claim: After an error of any method nothing has changed.
// Claim: A Snapshot never changes.
// Claim: Delta tells exactly what has become different since the older Snapshot, whatever lies between the two.
func TestDirectory_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireDirectory(t, rapid.Bool().Draw(t, "at once"), rapid.SliceOf(rapid.Byte()).Draw(t, "script"))
	})
}

// Claim: The members of a Snapshot stand in the order in which they joined, which is that of their incarnations.
// Claim: Lookup finds every member of the Snapshot by its identity, and nobody else.
// Claim: Delta tells exactly what has become different since the older Snapshot, whatever lies between the two.
func TestSnapshot_LawHoldsForManyMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireMany(t, rapid.SliceOfN(rapid.Uint16(), 1, 30).Draw(t, "script"))
	})
}

// requireMany changes runs of members, so that they fill pages, leave holes in
// them and empty them.
func requireMany(t failer, script []uint16) {
	t.Helper()
	d, err := discovery.New(discovery.Config[int]{Equal: sameInt, RemoveImmediately: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	s, err := d.Open("x")
	if err != nil {
		t.Fatalf("%v", err)
	}
	var list []discovery.Member[int]
	incarnation, older, was := uint64(0), d.Load(), list
	for step, op := range script {
		var changes []discovery.Change[int]
		from, n := int(op>>4)*7, int(op>>8)+1
		switch next := slices.Clone(list); op & 3 {
		case 0:
			for range n {
				incarnation++
				m := discovery.Member[int]{ID: fmt.Sprint(incarnation), Incarnation: incarnation, Value: step}
				changes = append(changes, discovery.Change[int]{ID: m.ID, Value: m.Value})
				next = append(next, m)
			}
			list = next
		default:
			if len(list) == 0 {
				continue
			}
			from %= len(list)
			n = min(n, len(list)-from)
			for i := from; i < from+n; i++ {
				if c := (discovery.Change[int]{ID: list[i].ID, Value: -step}); op&3 == 1 {
					next[i].Value = c.Value
					changes = append(changes, c)
				} else {
					c.Op = discovery.Remove
					changes = append(changes, c)
				}
			}
			if op&3 != 1 {
				next = slices.Delete(next, from, from+n)
			}
			list = next
		}
		if _, err := s.Apply(changes...); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		now := d.Load()
		if got := membersOf(now); !slices.Equal(got, list) || now.Len() != len(list) {
			t.Fatalf("step %d: %d members, want %d", step, now.Len(), len(list))
		}
		for i := 0; i < len(list); i += 1 + len(list)/50 {
			if m, ok := now.Lookup(list[i].ID); !ok || m != list[i] || at(now, i) != list[i] {
				t.Fatalf("step %d: member %d is %v, want %v", step, i, m, list[i])
			}
		}
		delta, err := now.Delta(older)
		if want := slowDelta(was, list); err != nil || fmt.Sprint(delta) != fmt.Sprint(want) {
			t.Fatalf("step %d: the delta is wrong (%v)", step, err)
		}
		if got := membersOf(older); !slices.Equal(got, was) {
			t.Fatalf("step %d: an older snapshot has changed", step)
		}
		if step%2 == 1 {
			older, was = now, list
		}
	}
}

// Claim: Lookup finds every member of the Snapshot by its identity, and nobody else.
// Claim: A Cursor returns the newest snapshot, and skips all that were published in between.
// Claim: A Cursor never returns a snapshot that is not newer than the one before.
// Claim: FinishDrains ends the drains that have no work left or have reached DrainFor, and no others.
// Claim: A session that was closed or replaced can change nothing.
func TestDirectory_LawsByGopter(t *testing.T) {
	parameters := gopterParameters(t)
	parameters.MaxSize = 400
	laws := gopter.NewProperties(parameters)
	laws.Property("a Directory is as its slow twin", prop.ForAll(
		func(atOnce bool, script []byte) string {
			return lawfully(func(t failer) { requireDirectory(t, atOnce, script) })
		}, gen.Bool(), gen.SliceOf(gen.UInt8())))
	laws.Property("large snapshots are as lists", prop.ForAll(
		func(script []uint16) string {
			return lawfully(func(t failer) { requireMany(t, script[:min(len(script), 30)]) })
		}, gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}

// gopterParameters reads GOPTER_SEED and GOPTER_CHECKS.
func gopterParameters(t *testing.T) *gopter.TestParameters {
	t.Helper()
	parameters := gopter.DefaultTestParameters()
	for name, set := range map[string]func(int64){
		"GOPTER_SEED":   parameters.SetSeed,
		"GOPTER_CHECKS": func(n int64) { parameters.MinSuccessfulTests = int(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set(n)
		}
	}
	t.Logf("replay with GOPTER_SEED=%d", parameters.Seed())
	return parameters
}

// verdict makes a law of a test answer in text: empty where it held.
type verdict struct{}

func (verdict) Helper() {}

func (verdict) Fatalf(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

type broken string

func lawfully(law func(failer)) (fault string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case broken:
			fault = string(v)
		default:
			panic(v)
		}
	}()
	law(verdict{})
	return ""
}
