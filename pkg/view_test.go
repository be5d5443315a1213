package poise_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// refusals are candidate lists that NewView refuses, each for one reason.
func refusals(t *testing.T) []struct {
	name       string
	candidates []poise.Candidate
	field      string
	value      any
	err        error
} {
	two := mustWeight(t, 2)
	ok := poise.Sample{ID: "ok"}
	zones := []poise.Sample{ok}
	for i := range 12 {
		zones = append(zones, poise.Sample{ID: strconv.Itoa(i), Locality: strconv.Itoa(i)})
	}
	zones = append(zones, poise.Sample{ID: "other", Locality: "11", LocalityWeight: two})
	return []struct {
		name       string
		candidates []poise.Candidate
		field      string
		value      any
		err        error
	}{
		{"nil candidate", []poise.Candidate{ok, nil}, "candidates[1]", nil, poise.ErrNilCandidate},
		{"empty identity", []poise.Candidate{ok, poise.Sample{}}, "candidates[1].ID", "", poise.ErrEmptyIdentity},
		{"identity given twice", []poise.Candidate{ok, poise.Sample{ID: "b"}, ok}, "candidates[2].ID", "ok", poise.ErrDuplicateIdentity},
		{
			"identity given twice by incarnations", []poise.Candidate{ok, poise.Sample{ID: "ok", Incarnation: 1}},
			"candidates[1].ID", "ok", poise.ErrDuplicateIdentity,
		},
		{
			"identity given twice by one that drains", []poise.Candidate{ok, poise.Sample{ID: "ok", Status: poise.Draining}},
			"candidates[1].ID", "ok", poise.ErrDuplicateIdentity,
		},
		{
			"unknown status", []poise.Candidate{ok, poise.Sample{ID: "b", Status: poise.Unavailable + 1}},
			"candidates[1].Status", poise.Unavailable + 1, poise.ErrInvalidStatus,
		},
		{
			"unknown reason", []poise.Candidate{poise.Sample{ID: "b", Excluded: poise.ExcludedOutOfScope + 1}},
			"candidates[0].Excluded", poise.ExcludedOutOfScope + 1, poise.ErrInvalidReason,
		},
		{
			"mixed load units", []poise.Candidate{
				poise.Sample{ID: "a", Load: poise.NewInFlight(0)}, ok, poise.Sample{ID: "b", Load: cost(1)},
			},
			"candidates[2].Load.Unit()", "nanoseconds", poise.ErrMixedLoad,
		},
		{
			"load tracker that is a nil InFlight", []poise.Candidate{ok, poise.Sample{ID: "b", Load: (*poise.InFlight)(nil)}},
			"candidates[1].Load", (*poise.InFlight)(nil), poise.ErrNilTracker,
		},
		{
			"two weights for one locality", []poise.Candidate{
				poise.Sample{ID: "a", Locality: "x"}, ok, poise.Sample{ID: "b", Locality: "x", LocalityWeight: two},
			},
			"candidates[2].LocalityWeight", uint32(2), poise.ErrInconsistentTopology,
		},
		{
			"two weights for one locality of a later priority", []poise.Candidate{
				ok, poise.Sample{ID: "a", Priority: 7, LocalityWeight: two},
				poise.Sample{ID: "b", Priority: 7, LocalityWeight: two}, poise.Sample{ID: "c", Priority: 7},
			},
			"candidates[3].LocalityWeight", uint32(1), poise.ErrInconsistentTopology,
		},
		{
			"two weights for one of many localities", candidatesOf(zones),
			"candidates[13].LocalityWeight", uint32(2), poise.ErrInconsistentTopology,
		},
		{
			"two weights for a locality of nobody eligible", []poise.Candidate{
				poise.Sample{ID: "a", Status: poise.Draining}, poise.Sample{ID: "b", Status: poise.Draining, LocalityWeight: two},
			},
			"candidates[1].LocalityWeight", uint32(2), poise.ErrInconsistentTopology,
		},
	}
}

// Claim: NewView refuses an empty identity, a duplicate identity, a nil
// candidate, an unknown status or reason, mixed load units and two weights for one
// locality of one priority, each with a FieldError.
// Code: NewView
//
// Cases: B42, G3, G21.
func TestNewView_RefusesBadInputNamingFieldAndValue(t *testing.T) {
	for _, row := range refusals(t) {
		t.Run(row.name, func(t *testing.T) {
			v, err := poise.NewView(row.candidates)
			if v != nil {
				t.Error("there is a View beside the error")
			}
			requireFieldError(t, err, row.field, row.value, row.err)
		})
	}
}

func TestNewView_RefusesADuplicateIdentityNamingIt(t *testing.T) {
	_, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "a"}})
	const want = `poise: identity occurs twice: candidates[1].ID is "a"`
	if err == nil || err.Error() != want {
		t.Errorf("the error reads %v, want %s", err, want)
	}
}

func TestNewView_AcceptsSharedLocalitiesOfDifferentPriorities(t *testing.T) {
	two := mustWeight(t, 2)
	var samples []poise.Sample
	for i := range 40 {
		// Twenty zones, interleaved: more than are compared one by one.
		priority, zone := uint32(i%2), strconv.Itoa(i%20/2)
		s := poise.Sample{ID: strconv.Itoa(i), Priority: priority, Locality: zone}
		if priority == 1 {
			s.LocalityWeight = two
		}
		samples = append(samples, s)
	}
	if v := view(t, samples...); v.EligibleLen() != 40 {
		t.Errorf("%d are eligible", v.EligibleLen())
	}
}

func TestNewView_AcceptsOneUnitWithGaps(t *testing.T) {
	v := view(t,
		poise.Sample{ID: "a"},
		poise.Sample{ID: "b", Load: cost(5)},
		poise.Sample{ID: "c"},
		poise.Sample{ID: "d", Load: cost(6)},
	)
	if load, err := v.Load(3, time.Time{}); load != 6 || err != nil {
		t.Errorf("load is %d, %v", load, err)
	}
}

func TestNewView_RefusesMoreCandidatesThanAnIndexCanName(t *testing.T) {
	if strconv.IntSize < 64 {
		return // no slice is that long
	}
	many := uint64(math.MaxUint32)
	n := int(many + 1)
	// A slice of no memory: its length alone is looked at.
	header := struct {
		data          unsafe.Pointer
		length, limit int
	}{nil, n, n}
	v, err := poise.NewView(*(*[]poise.Candidate)(unsafe.Pointer(&header)))
	if v != nil {
		t.Error("there is a View beside the error")
	}
	requireFieldError(t, err, "candidates", n, poise.ErrTooMany)
}

// Claim: NewView asks each Candidate for its Sample exactly once, or at most once
// if it refuses.
// Code: NewView
//
// Cases: G1, G2, G3.
func TestNewView_SamplesACandidateWhoseAnswersChangeExactlyOnce(t *testing.T) {
	moodies := make([]*moody, 64)
	candidates := make([]poise.Candidate, len(moodies))
	for i := range moodies {
		moodies[i] = &moody{id: strconv.Itoa(i)}
		candidates[i] = moodies[i]
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	// Everything a View can be asked, each answered by the one sample.
	for i := range v.Len() {
		selection, err := v.Select(i)
		if err != nil {
			t.Fatal(err)
		}
		if index, err := v.Index(selection); index != i || err != nil {
			t.Errorf("Index is %d, %v", index, err)
		}
		if reason := v.Reason(i); reason != poise.NotExcluded {
			t.Errorf("Reason is %v", reason)
		}
	}
	scope(t, v, 1, 2).Untried(new(poise.Tried))
	for _, m := range moodies {
		if m.reads != 1 {
			t.Errorf("%s was sampled %d times", m.id, m.reads)
		}
	}

	// A second View fails at the first of them and asks none twice.
	if _, err := poise.NewView(candidates); !errors.Is(err, poise.ErrEmptyIdentity) {
		t.Errorf("the second View: %v", err)
	}
	for _, m := range moodies {
		if m.reads > 2 {
			t.Errorf("%s was sampled %d times by the View that was refused", m.id, m.reads-1)
		}
	}
}

// Claim: A View never changes.
// Code: NewView, View.Sample, View.Eligible
//
// Cases: E18.
func TestView_StaysWhenEverythingItWasMadeFromChanges(t *testing.T) {
	load := poise.NewInFlight(0)
	candidates := []poise.Candidate{
		&moody{id: "a"},
		poise.Sample{ID: "b", Load: load},
		poise.Sample{ID: "c", Status: poise.Draining},
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	picture := func() string {
		return fmt.Sprint(v.Len(), eligibleOf(v), v.Check(), samplesOf(v), v.NextEligible(2), v.Reason(2), v.InFlight(1) == load)
	}
	before := picture()

	members := []int{1}
	s := scope(t, v, members...)
	members[0] = 0
	candidates[0] = poise.Sample{ID: "changed"}
	if _, err := load.Acquire(); err != nil {
		t.Fatal(err)
	}
	sample, err := v.Sample(1)
	if err != nil {
		t.Fatal(err)
	}
	sample.ID = "changed"
	for _, sample := range v.All() {
		sample.Status = poise.Unavailable
	}
	if _, err := v.Scope([]int{2}); err == nil {
		t.Error("a draining candidate came into a scope")
	}
	if after := picture(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if got := eligibleOf(s); !slices.Equal(got, []int{1}) {
		t.Errorf("the scope has %v", got)
	}
}

func samplesOf(v *poise.View) []poise.Sample {
	var samples []poise.Sample
	for _, s := range v.All() {
		s.Load = nil
		samples = append(samples, s)
	}
	return samples
}

// Claim: A candidate is eligible exactly if its status is Ready and it is not
// excluded.
// Code: View.ready
func TestView_HasExactlyTheReadyAndNotExcludedEligible(t *testing.T) {
	var samples []poise.Sample
	var want []int
	for status := poise.Ready; status <= poise.Unavailable; status++ {
		for reason := poise.NotExcluded; reason <= poise.ExcludedOutOfScope; reason++ {
			if status == poise.Ready && reason == poise.NotExcluded {
				want = append(want, len(samples))
			}
			samples = append(samples, poise.Sample{ID: strconv.Itoa(len(samples)), Status: status, Excluded: reason})
		}
	}
	v := view(t, samples...)
	if got := eligibleOf(v); !slices.Equal(got, want) {
		t.Errorf("eligible are %v, want %v", got, want)
	}
	for i, s := range samples {
		reason := s.Excluded
		switch s.Status {
		case poise.Draining:
			reason = poise.ExcludedDraining
		case poise.Unavailable:
			reason = poise.ExcludedUnavailable
		}
		if s.Excluded == poise.ExcludedDraining {
			reason = poise.ExcludedDraining
		}
		if got := v.Reason(i); got != reason {
			t.Errorf("%v and %v: the reason is %v, want %v", s.Status, s.Excluded, got, reason)
		}
	}
}

// Cases: B07.
func TestView_CheckTellsAnEmptyViewFromOneWithNobodyEligible(t *testing.T) {
	for _, row := range []struct {
		name    string
		samples []poise.Sample
		want    error
	}{
		{"no candidates", nil, poise.ErrEmpty},
		{"all draining", []poise.Sample{{ID: "a", Status: poise.Draining}}, poise.ErrNoEligible},
		{"all excluded", []poise.Sample{{ID: "a", Excluded: poise.ExcludedByUser}}, poise.ErrNoEligible},
		{"one ready", []poise.Sample{{ID: "a", Status: poise.Draining}, {ID: "b"}}, nil},
	} {
		if got := view(t, row.samples...).Check(); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	if got := scope(t, view(t, named(2)...)).Check(); got != poise.ErrNoEligible {
		t.Errorf("a scope of nobody: %v", got)
	}
	if got := new(poise.View).Check(); got != poise.ErrEmpty {
		t.Errorf("the zero View: %v", got)
	}
}

// Claim: Select refuses an index out of range with ErrOutOfRange and one that is
// not eligible with ErrNotEligible.
// Code: View.Select, View.refuse
//
// Cases: G28.
func TestView_SelectRefusesWhatMustNotBeChosen(t *testing.T) {
	v := view(t, poise.Sample{ID: "a"}, poise.Sample{ID: "b", Status: poise.Draining}, poise.Sample{ID: "c"})
	s := scope(t, v, 2)
	for _, row := range []struct {
		name  string
		view  *poise.View
		index int
		want  error
	}{
		{"eligible", v, 0, nil},
		{"draining", v, 1, poise.ErrNotEligible},
		{"last", v, 2, nil},
		{"after the last", v, 3, poise.ErrOutOfRange},
		{"negative", v, -1, poise.ErrOutOfRange},
		{"smallest", v, math.MinInt, poise.ErrOutOfRange},
		{"greatest", v, math.MaxInt, poise.ErrOutOfRange},
		{"not a member of the scope", s, 0, poise.ErrNotEligible},
		{"a member of the scope", s, 2, nil},
		{"after the last of the scope", s, 3, poise.ErrOutOfRange},
		{"of no candidates", new(poise.View), 0, poise.ErrOutOfRange},
	} {
		selection, err := row.view.Select(row.index)
		if err != row.want {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if (selection == poise.Selection{}) != (err != nil) {
			t.Errorf("%s: the Selection is %v and the error %v", row.name, selection, err)
		}
	}
}

// Claim: Index of a Selection made on another View answers ErrForeignSelection.
// Code: View.Index
func TestView_IndexRefusesASelectionOfAnotherView(t *testing.T) {
	mine, other := view(t, named(3)...), view(t, named(3)...)
	foreign, err := other.Select(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name      string
		view      *poise.View
		selection poise.Selection
	}{
		{"of an equal View", mine, foreign},
		{"of an equal View, on a scope", scope(t, mine, 1), foreign},
		{"zero", mine, poise.Selection{}},
		{"zero, on the zero View", new(poise.View), poise.Selection{}},
	} {
		index, err := row.view.Index(row.selection)
		if index != -1 || err != poise.ErrForeignSelection {
			t.Errorf("%s: %d, %v", row.name, index, err)
		}
	}
}

// Claim: A Selection made on a scope resolves on the View the scope came from.
// Code: View.Index
func TestView_IndexResolvesTheSelectionsOfItsScopes(t *testing.T) {
	v := view(t, named(5)...)
	s := scope(t, v, 1, 3, 4)
	inner := scope(t, s, 3)
	for _, from := range []*poise.View{v, s, inner} {
		selection, err := from.Select(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range []*poise.View{v, s, inner} {
			if index, err := on.Index(selection); index != 3 || err != nil {
				t.Errorf("Index is %d, %v", index, err)
			}
		}
	}
}

// Claim: A scope has exactly the given members eligible, and refuses a draining
// member and an ineligible one that opted out of panic.
// Code: View.Scope
func TestScope_HasExactlyItsMembersEligible(t *testing.T) {
	v := view(t,
		poise.Sample{ID: "ready"},
		poise.Sample{ID: "draining", Status: poise.Draining},
		poise.Sample{ID: "unavailable", Status: poise.Unavailable},
		poise.Sample{ID: "open", Excluded: poise.ExcludedCircuitOpen},
		poise.Sample{ID: "open, opted out", Excluded: poise.ExcludedCircuitOpen, PanicOptOut: true},
		poise.Sample{ID: "ready, opted out", PanicOptOut: true},
		poise.Sample{ID: "unavailable, opted out", Status: poise.Unavailable, PanicOptOut: true},
		poise.Sample{ID: "draining, excluded", Status: poise.Draining, Excluded: poise.ExcludedOutlier},
		poise.Sample{ID: "excluded as draining", Excluded: poise.ExcludedDraining},
		poise.Sample{ID: "unavailable, excluded as draining", Status: poise.Unavailable, Excluded: poise.ExcludedDraining},
	)
	s := scope(t, v, 2, 3, 5)
	if got := eligibleOf(s); !slices.Equal(got, []int{2, 3, 5}) {
		t.Errorf("eligible are %v", got)
	}
	want := []poise.Reason{
		poise.ExcludedOutOfScope, poise.ExcludedDraining, poise.NotExcluded, poise.NotExcluded,
		poise.ExcludedCircuitOpen, poise.NotExcluded, poise.ExcludedUnavailable, poise.ExcludedDraining,
		poise.ExcludedDraining, poise.ExcludedDraining,
	}
	for i := range want {
		if got := s.Reason(i); got != want[i] {
			t.Errorf("the reason of %d is %v, want %v", i, got, want[i])
		}
	}
	if got := eligibleOf(v); !slices.Equal(got, []int{0, 5}) {
		t.Errorf("the View has %v now", got)
	}

	for _, row := range []struct {
		name    string
		members []int
		field   string
		value   int
		err     error
	}{
		{"draining", []int{0, 1}, "members[1]", 1, poise.ErrNotEligible},
		{"draining and excluded", []int{7}, "members[0]", 7, poise.ErrNotEligible},
		{"excluded, opted out", []int{4}, "members[0]", 4, poise.ErrNotEligible},
		{"unavailable, opted out", []int{0, 2, 6}, "members[2]", 6, poise.ErrNotEligible},
		{"excluded as draining", []int{8}, "members[0]", 8, poise.ErrNotEligible},
		{"unavailable and excluded as draining", []int{9}, "members[0]", 9, poise.ErrNotEligible},
		{"after the last", []int{0, 10}, "members[1]", 10, poise.ErrOutOfRange},
		{"negative", []int{-1}, "members[0]", -1, poise.ErrOutOfRange},
		{"twice", []int{3, 3}, "members[1]", 3, poise.ErrNotAscending},
		{"descending", []int{3, 2}, "members[1]", 2, poise.ErrNotAscending},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := v.Scope(row.members)
			if s != nil {
				t.Error("there is a scope beside the error")
			}
			requireFieldError(t, err, row.field, row.value, row.err)
		})
	}
}

func TestScope_OfAScopeMayReachBeyondIt(t *testing.T) {
	v := view(t, named(4)...)
	if got := eligibleOf(scope(t, scope(t, v, 1), 0, 2)); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("eligible are %v", got)
	}
	if got := eligibleOf(scope(t, scope(t, v, 1), 0, 1, 2, 3)); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("eligible are %v", got)
	}
}

// Claim: NextEligible gives the position of the first eligible candidate at or after an index,
// going round.
// Code: View.NextEligible
func TestView_NextEligibleGoesRound(t *testing.T) {
	v := view(t, named(6)...)
	for _, row := range []struct {
		name string
		view *poise.View
		want []int // by index from -1 to 6
	}{
		{"all", v, []int{-1, 0, 1, 2, 3, 4, 5, -1}},
		{"some", scope(t, v, 1, 4), []int{-1, 0, 0, 1, 1, 1, 0, -1}},
		{"the last", scope(t, v, 5), []int{-1, 0, 0, 0, 0, 0, 0, -1}},
		{"none", scope(t, v), []int{-1, -1, -1, -1, -1, -1, -1, -1}},
	} {
		for k, want := range row.want {
			if got := row.view.NextEligible(k - 1); got != want {
				t.Errorf("%s: from %d the position is %d, want %d", row.name, k-1, got, want)
			}
		}
	}
}

func TestView_AnswersAboutIndicesOutOfRangeWithoutPanic(t *testing.T) {
	empty := view(t)
	v := view(t, poise.Sample{ID: "a", Load: poise.NewInFlight(0)})
	for _, v := range []*poise.View{empty, v, new(poise.View)} {
		for _, index := range []int{-1, v.Len(), v.Len() + 1, math.MinInt, math.MaxInt} {
			if sample, err := v.Sample(index); sample.ID != "" || err != poise.ErrOutOfRange {
				t.Errorf("Sample(%d) is %v, %v", index, sample, err)
			}
			if load, err := v.Load(index, time.Time{}); load != 0 || err != poise.ErrOutOfRange {
				t.Errorf("Load(%d) is %d, %v", index, load, err)
			}
			if reason := v.Reason(index); reason != poise.ExcludedOutOfScope {
				t.Errorf("Reason(%d) is %v", index, reason)
			}
			if got := v.Eligible(index); got != -1 {
				t.Errorf("Eligible(%d) is %d", index, got)
			}
			if got := v.InFlight(index); got != nil {
				t.Errorf("InFlight(%d) is %v", index, got)
			}
		}
	}
}

func TestView_LookupFindsEveryIdentityAndNoOther(t *testing.T) {
	v := view(t, poise.Sample{ID: "a"}, poise.Sample{ID: "b", Status: poise.Draining})
	if index, found := v.Lookup("b"); index != 1 || !found {
		t.Errorf("b: %d, %t", index, found)
	}
	if _, found := v.Lookup("c"); found {
		t.Error("found c")
	}
}

func TestView_AllWalksInOrderAndStopsWhenTold(t *testing.T) {
	v := view(t, named(4)...)
	var seen []int
	for i, s := range v.All() {
		if s.ID != named(4)[i].ID {
			t.Errorf("candidate %d is %s", i, s.ID)
		}
		seen = append(seen, i)
		if i == 2 {
			break
		}
	}
	if !slices.Equal(seen, []int{0, 1, 2}) {
		t.Errorf("walked %v", seen)
	}
}

func TestView_LoadReadsTheTrackerAtTheInstant(t *testing.T) {
	inFlight := poise.NewInFlight(0)
	lease, err := inFlight.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	mine := &meter{load: 7}
	lost := &meter{load: 9, err: errors.New("lost")}
	v := view(t,
		poise.Sample{ID: "in flight", Load: inFlight},
		poise.Sample{ID: "my own", Load: mine},
		poise.Sample{ID: "lost", Load: lost},
		poise.Sample{ID: "none"},
	)
	now := time.Unix(1, 2)
	for i, want := range []struct {
		load uint64
		err  error
	}{{1, nil}, {7, nil}, {0, poise.ErrLoadOverflow}, {0, poise.ErrNilTracker}} {
		if load, err := v.Load(i, now); load != want.load || !errors.Is(err, want.err) {
			t.Errorf("Load(%d) is %d, %v, want %d, %v", i, load, err, want.load, want.err)
		}
	}
	if mine.reads != 1 || !mine.now.Equal(now) {
		t.Errorf("it was read %d times, last at %v", mine.reads, mine.now)
	}
	if v.InFlight(0) != inFlight || v.InFlight(1) != nil || v.InFlight(3) != nil {
		t.Error("InFlight does not tell InFlights from other trackers")
	}
}

func TestView_CheckLoadNamesTheFirstWithoutATracker(t *testing.T) {
	load := poise.NewInFlight(0)
	if err := view(t, poise.Sample{ID: "a", Load: load}).CheckLoad(); err != nil {
		t.Error(err)
	}
	if err := view(t).CheckLoad(); err != nil {
		t.Error(err)
	}
	err := view(t, poise.Sample{ID: "a", Load: load}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"}).CheckLoad()
	requireFieldError(t, err, "candidates[1].Load", nil, poise.ErrNilTracker)
}

func TestView_ServesManyGoroutinesAtOnce(t *testing.T) {
	v := view(t, named(16)...)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			s, err := v.Scope([]int{g, 8 + g})
			if err != nil {
				t.Error(err)
				return
			}
			selection, err := s.Select(8 + g)
			if err != nil {
				t.Error(err)
			}
			if index, err := v.Index(selection); index != 8+g || err != nil {
				t.Errorf("Index is %d, %v", index, err)
			}
		})
	}
	wg.Wait()
}

func TestNewView_GivesViewsMadeTogetherDifferentSelections(t *testing.T) {
	var selections [2]poise.Selection
	together(2, 2_000, func(goroutine int) {
		v, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}})
		if err != nil {
			t.Error(err)
			return
		}
		if selections[goroutine], err = v.Select(0); err != nil {
			t.Error(err)
		}
	}, func(round int) bool {
		if round > 0 && selections[0] == selections[1] {
			t.Errorf("round %d: two Views share a Selection", round)
			return false
		}
		return true
	})
}

func TestSample_IsACandidateThatAnswersItself(t *testing.T) {
	s := poise.Sample{ID: "a", Incarnation: 3, Priority: 4, Locality: "x", Load: cost(1)}
	if got := s.Sample(); !reflect.DeepEqual(got, s) {
		t.Errorf("it answers %v", got)
	}
}
