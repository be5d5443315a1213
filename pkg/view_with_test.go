package poise_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// with returns the View in which the samples stand for others.
func with(t failer, v *poise.View, samples ...poise.Sample) *poise.View {
	t.Helper()
	next, err := v.With(samples...)
	if err != nil {
		t.Fatalf("With: %v", err)
	}
	return next
}

// applied returns the list after the samples have replaced those of their
// identities or joined.
func applied(list, samples []poise.Sample) []poise.Sample {
	list = slices.Clone(list)
	for _, s := range samples {
		i := slices.IndexFunc(list, func(known poise.Sample) bool { return known.ID == s.ID })
		if i < 0 {
			list = append(list, s)
		} else {
			list[i] = s
		}
	}
	return list
}

// requireSameView requires that a View holds the samples and answers as the View
// that NewView makes of them.
func requireSameView(t failer, v *poise.View, samples []poise.Sample) {
	t.Helper()
	requireTwin(t, v, slowView{samples: samples})
	fresh := view(t, samples...)
	for i, want := range fresh.All() {
		if got, err := v.Sample(i); got != want || err != nil {
			t.Fatalf("sample %d is %+v, %v, want %+v", i, got, err, want)
		}
		if v.InFlight(i) != fresh.InFlight(i) {
			t.Fatalf("InFlight(%d) is %v, want %v", i, v.InFlight(i), fresh.InFlight(i))
		}
	}
	if got, want := fmt.Sprint(v.CheckLoad()), fmt.Sprint(fresh.CheckLoad()); got != want {
		t.Fatalf("CheckLoad: %s, want %s", got, want)
	}
}

// anyChange returns a sample of one of a few identities, some of which the View has.
// It may be refused.
func anyChange() *rapid.Generator[poise.Sample] {
	loads := []poise.LoadTracker{nil, nil, poise.NewInFlight(0), poise.NewInFlight(1), cost(1), (*poise.InFlight)(nil)}
	return rapid.Custom(func(t *rapid.T) poise.Sample {
		s := poise.Sample{
			ID:          "c" + strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "identity")),
			Incarnation: rapid.Uint64Range(0, 2).Draw(t, "incarnation"),
			Priority:    rapid.Uint32Range(0, 2).Draw(t, "priority"),
			Locality:    strconv.Itoa(rapid.IntRange(0, 12).Draw(t, "locality")),
			Load:        rapid.SampledFrom(loads).Draw(t, "load"),
		}
		if rapid.IntRange(0, 7).Draw(t, "heavy") == 0 {
			s.LocalityWeight, _ = poise.NewWeight(2)
		}
		if rapid.Bool().Draw(t, "ill") {
			s.Status = poise.Status(rapid.IntRange(0, 3).Draw(t, "status"))
			s.Excluded = poise.Reason(rapid.IntRange(0, int(poise.ExcludedOutOfScope)).Draw(t, "excluded"))
		}
		return s
	})
}

// requireWith changes a View whose samples are known, requires that NewView and
// With agree, and returns what there is then. A refusal leaves it as it was.
func requireWith(t failer, v *poise.View, list, samples []poise.Sample) (*poise.View, []poise.Sample) {
	t.Helper()
	next, err := v.With(samples...)
	wanted := applied(list, samples)
	twice := false
	for k, s := range samples {
		twice = twice || slices.ContainsFunc(samples[:k], func(other poise.Sample) bool { return other.ID == s.ID })
	}
	_, wantErr := poise.NewView(candidatesOf(wanted))
	if (err == nil) != (wantErr == nil && !twice) {
		t.Fatalf("With: %v; NewView: %v; an identity is given twice: %t", err, wantErr, twice)
	}
	if err != nil {
		requireSameView(t, v, list)
		return v, list
	}
	requireSameView(t, next, wanted)
	requireSameView(t, v, list)
	requireChanges(t, next, v, wanted, list)
	return next, wanted
}

// requireChanges requires that ChangedSince lists whoever differs.
func requireChanges(t failer, v, other *poise.View, list, was []poise.Sample) {
	t.Helper()
	changed, known := v.ChangedSince(other)
	if !known || !slices.IsSorted(changed) {
		t.Fatalf("ChangedSince is %v, %t", changed, known)
	}
	for i := range list {
		differs := i >= len(was) || list[i] != was[i]
		if listed := slices.Contains(changed, i); differs && !listed || listed && !differs && list[i].Load == nil {
			t.Fatalf("ChangedSince is %v; candidate %d differs: %t", changed, i, differs)
		}
	}
}

// Claim: A View made by With answers as one that NewView makes of the same samples
// in the same order.
// Code: View.With
func TestView_LawWithAnswersAsNewView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []poise.Sample
		v := view(t)
		if rapid.Bool().Draw(t, "begin with some") {
			list = anySamples().Draw(t, "samples")
			v = view(t, list...)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			v, list = requireWith(t, v, list, rapid.SliceOfN(anyChange(), 1, 6).Draw(t, "changes"))
		}
	})
}

// Pages, blocks of bits and the map of those that joined have their edges beyond
// what the laws above reach.
func TestView_WithAnswersAsNewViewBeyondAPage(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128, 200} {
		list := named(n)
		v := view(t, list...)
		for step := range 12 {
			var changes []poise.Sample
			for k := range 1 + 7*(step%5) {
				s := poise.Sample{ID: fmt.Sprintf("backend-%04d", (step*37+k*29)%(n+60)), Incarnation: uint64(step)}
				if (step+k)%3 == 0 {
					s.Status = poise.Unavailable
				}
				if len(applied(changes, []poise.Sample{s})) > len(changes) {
					changes = append(changes, s)
				}
			}
			v, list = requireWith(t, v, list, changes)
		}
	}
}

func TestView_WithOfAScopeIsThatOfItsView(t *testing.T) {
	list := named(4)
	v := view(t, list...)
	s := scope(t, v, 1, 3)
	requireSameView(t, with(t, s), list)
	down := poise.Sample{ID: list[3].ID, Status: poise.Draining}
	next := with(t, s, down)
	requireSameView(t, next, applied(list, []poise.Sample{down}))
	if next.IsScope() || !s.IsScope() {
		t.Error("With of a scope is a scope, or the scope is none any more")
	}
	if got := eligibleOf(s); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("the scope has %v now", got)
	}
}

func TestView_WithNothingIsTheViewItself(t *testing.T) {
	if v := view(t, named(2)...); with(t, v) != v {
		t.Error("it is another View")
	}
}

func TestView_WithMayBeginAtTheZeroValue(t *testing.T) {
	v := with(t, new(poise.View), named(3)...)
	requireSameView(t, v, named(3))
	if _, known := with(t, v, poise.Sample{ID: "late"}).ChangedSince(v); !known {
		t.Error("the next View is not known to come from it")
	}
}

func TestView_WithRefusesBadInputNamingFieldAndValue(t *testing.T) {
	two := mustWeight(t, 2)
	load := poise.NewInFlight(0)
	v := view(t,
		poise.Sample{ID: "a", Locality: "x", Load: load},
		poise.Sample{ID: "b", Locality: "x", Load: load},
	)
	for _, row := range []struct {
		name    string
		samples []poise.Sample
		field   string
		value   any
		err     error
	}{
		{"empty identity", []poise.Sample{{ID: "a"}, {}}, "samples[1].ID", "", poise.ErrEmptyIdentity},
		{"identity given twice", []poise.Sample{{ID: "a"}, {ID: "b"}, {ID: "a"}}, "samples[2].ID", "a", poise.ErrDuplicateIdentity},
		{"newcomer given twice", []poise.Sample{{ID: "c"}, {ID: "c"}}, "samples[1].ID", "c", poise.ErrDuplicateIdentity},
		{"unknown status", []poise.Sample{{ID: "a", Status: 3}}, "samples[0].Status", poise.Status(3), poise.ErrInvalidStatus},
		{
			"unknown reason", []poise.Sample{{ID: "a", Excluded: poise.ExcludedOutOfScope + 1}},
			"samples[0].Excluded", poise.ExcludedOutOfScope + 1, poise.ErrInvalidReason,
		},
		{"another unit", []poise.Sample{{ID: "a", Locality: "x", Load: cost(1)}}, "samples[0].Load.Unit()", "nanoseconds", poise.ErrMixedLoad},
		{
			"nil tracker", []poise.Sample{{ID: "a", Locality: "x", Load: (*poise.PeakEWMA)(nil)}},
			"samples[0].Load", (*poise.PeakEWMA)(nil), poise.ErrNilTracker,
		},
		{
			"another weight of a locality", []poise.Sample{{ID: "c", Locality: "x", LocalityWeight: two}},
			"samples[0].LocalityWeight", uint32(2), poise.ErrInconsistentTopology,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			next, err := v.With(row.samples...)
			if next != nil {
				t.Error("there is a View beside the error")
			}
			requireFieldError(t, err, row.field, row.value, row.err)
			if v.Len() != 2 || v.EligibleLen() != 2 {
				t.Error("the View has changed")
			}
		})
	}
	_, err := (*poise.View)(nil).With(poise.Sample{ID: "a"})
	requireFieldError(t, err, "view", nil, poise.ErrNilView)
}

func TestView_WithChangesAllOfALocalityOrAllUnitsAtOnce(t *testing.T) {
	two := mustWeight(t, 2)
	v := view(t, poise.Sample{ID: "a", Load: poise.NewInFlight(0)}, poise.Sample{ID: "b", Load: poise.NewInFlight(0)})
	list := []poise.Sample{{ID: "a", LocalityWeight: two, Load: cost(1)}, {ID: "b", LocalityWeight: two, Load: cost(2)}}
	requireSameView(t, with(t, v, list...), list)
}

func TestView_ChangedSinceDoesNotKnowStrangers(t *testing.T) {
	v := view(t, named(2)...)
	later := with(t, v, poise.Sample{ID: "late"})
	for name, pair := range map[string][2]*poise.View{
		"made apart":   {v, view(t, named(2)...)},
		"fewer":        {v, later},
		"nil":          {v, nil},
		"nil receiver": {nil, v},
	} {
		if list, known := pair[0].ChangedSince(pair[1]); known || list != nil {
			t.Errorf("%s: %v, %t", name, list, known)
		}
	}
}

func TestView_ChangedSinceSeesWhatAScopeLeavesOut(t *testing.T) {
	v := view(t, named(70)...)
	if got, known := scope(t, v, 1, 68).ChangedSince(scope(t, v, 1, 2)); !known || !slices.Equal(got, []int{2, 68}) {
		t.Errorf("changed are %v, %t", got, known)
	}
	if got, known := v.ChangedSince(v); !known || got != nil {
		t.Errorf("changed are %v, %t", got, known)
	}
}

// uncomparable is a load tracker that would panic if it were compared.
type uncomparable struct {
	cost
	_ []int
}

func TestView_WithComparesNoTracker(t *testing.T) {
	s := poise.Sample{ID: "a", Load: uncomparable{cost: 1}}
	v := view(t, s)
	next := with(t, v, s)
	if got, known := next.ChangedSince(v); !known || !slices.Equal(got, []int{0}) {
		t.Errorf("changed are %v, %t", got, known)
	}
}

// A change costs what it changes: what a flip allocates is the list of the eligible
// and little more, and grows by no other column.
func TestView_WithAllocatesWhatChanged(t *testing.T) {
	const n, rounds = 10_000, 50
	samples := named(n)
	for i := range samples {
		samples[i].Load = poise.NewInFlight(0)
	}
	v := view(t, samples...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for k := range rounds {
		s := samples[k*199]
		s.Excluded = poise.ExcludedUnhealthy
		v = with(t, v, s)
	}
	runtime.ReadMemStats(&after)
	if flip := (after.TotalAlloc - before.TotalAlloc) / rounds; flip > 64<<10 {
		t.Errorf("a flip allocates %d bytes", flip)
	}
	if v.EligibleLen() != n-rounds {
		t.Errorf("%d are eligible", v.EligibleLen())
	}
}
