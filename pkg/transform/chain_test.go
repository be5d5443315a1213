package transform_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
	"pgregory.net/rapid"
)

// spy is a transform that tells what it finds, and edits by a function.
type spy struct {
	edit    func(d *transform.Draft)
	again   time.Time
	err     error
	changed []string // identities
	was     []string // of the changed: what was found before, "" for nothing
	left    []string
	moved   bool
	runs    int
}

func (s *spy) Edit(d *transform.Draft, _ time.Time) (time.Time, error) {
	s.runs++
	s.changed, s.was, s.left, s.moved = nil, nil, nil, d.Moved()
	for _, i := range d.Changed() {
		s.changed = append(s.changed, brief(d.Before(i)))
		was, found := d.Was(i)
		if !found {
			was = poise.Sample{}
		}
		s.was = append(s.was, brief(was))
	}
	for _, sample := range d.Left() {
		s.left = append(s.left, brief(sample))
	}
	if s.edit != nil {
		s.edit(d)
	}
	return s.again, s.err
}

// brief is an identity and what of the sample the tests change.
func brief(s poise.Sample) string {
	if s.ID == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d w%d p%d", s.ID, s.Incarnation, s.Weight.Value(), s.Priority)
}

// heavier multiplies the weights of the members of a priority by ten.
func heavier(t reporter, priority uint32) func(d *transform.Draft) {
	return func(d *transform.Draft) {
		for i := range d.Len() {
			if s := d.Sample(i); s.Priority == priority {
				d.SetWeight(i, weightOf(t, 10*s.Weight.Value()))
			}
		}
	}
}

// Claim: A Chain calls Edit once in each Run that reaches the transform, one call at a time.
// Code: Chain.Run
// Claim: Each Edit starts from the samples as the transform before it left them, so an edit that is not made again is undone.
// Code: Chain.Run
// Claim: After a Run, Sample returns what the last transform left.
// Claim: Changed lists, in ascending order, the members whose sample differs from the Run before that succeeded, those that joined included.
func TestChain_RunsTransformsInOrder(t *testing.T) {
	first, second := &spy{edit: heavier(t, 0)}, &spy{}
	second.edit = func(d *transform.Draft) {
		for i := range d.Len() {
			if s := d.Sample(i); s.Weight.Value() > 10 {
				s.Priority = 5
				d.Set(i, s)
			}
		}
	}
	c := newChain(t, first, second)
	run(t, c, weighing(t, 1, 2), seconds(0))
	check := func(what string, samples, changed []string, indices []int) {
		t.Helper()
		var got []string
		for i := range c.Len() {
			got = append(got, brief(c.Sample(i)))
		}
		if !slices.Equal(got, samples) || !slices.Equal(second.changed, changed) || !slices.Equal(c.Changed(), indices) {
			t.Errorf("%s: samples %v, the second found changed %v, the chain %v", what, got, second.changed, c.Changed())
		}
	}
	check("the first run", []string{"a.0 w10 p0", "b.0 w20 p5"}, []string{"a.0 w10 p0", "b.0 w20 p0"}, []int{0, 1})
	again := func() {
		t.Helper()
		if _, err := c.Run(seconds(1)); err != nil {
			t.Fatal(err)
		}
	}
	again()
	check("nothing changed", []string{"a.0 w10 p0", "b.0 w20 p5"}, nil, nil)
	if err := c.Change(1, poise.Sample{ID: "b", Priority: 1, Weight: weightOf(t, 7)}); err != nil {
		t.Fatal(err)
	}
	again()
	check("one changed", []string{"a.0 w10 p0", "b.0 w7 p1"}, []string{"b.0 w7 p1"}, []int{1})
	first.edit = nil
	again()
	check("an edit is not made again", []string{"a.0 w1 p0", "b.0 w7 p1"}, []string{"a.0 w1 p0"}, []int{0})
	if first.runs != 4 || second.runs != 4 {
		t.Errorf("%d and %d edits in four runs", first.runs, second.runs)
	}
}

// Claim: Changed lists, in ascending order, the members whose sample differs from what the last Edit of the transform found, those that joined included.
// Code: Draft.Changed, Draft.find
// Claim: Was returns the sample that the last Edit found, and nothing for a member that joined since.
// Code: Draft.Was
// Claim: Left lists the members that the last Edit found and that are gone; another incarnation is another member.
// Code: Draft.Left, Draft.find
// Claim: Moved is true if an index may stand for another member than in the last Edit.
// Code: Draft.Moved
func TestDraft_TellsWhatIsDifferent(t *testing.T) {
	before, after := &spy{edit: heavier(t, 1)}, &spy{}
	c := newChain(t, before, after)
	check := func(what string, changed, was, left []string, moved bool) {
		t.Helper()
		if !slices.Equal(after.changed, changed) || !slices.Equal(after.was, was) || !slices.Equal(after.left, left) || after.moved != moved {
			t.Errorf("%s: changed %v, was %v, left %v, moved %v", what, after.changed, after.was, after.left, after.moved)
		}
	}
	samples := weighing(t, 1, 2, 3)
	run(t, c, samples, seconds(0))
	check("the first", []string{"a.0 w1 p0", "b.0 w2 p0", "c.0 w3 p0"}, []string{"", "", ""}, nil, true)
	run(t, c, samples, seconds(0))
	check("the same list", nil, nil, nil, false)
	samples[2].Priority = 1
	run(t, c, samples, seconds(0))
	check("edited before", []string{"c.0 w30 p1"}, []string{"c.0 w3 p0"}, nil, false)
	samples[0], samples[1] = samples[1], samples[0]
	run(t, c, samples, seconds(0))
	check("another order", nil, nil, nil, true)
	samples[1].Incarnation = 4
	run(t, c, samples, seconds(0))
	check("another incarnation", []string{"a.4 w1 p0"}, []string{""}, []string{"a.0 w1 p0"}, true)
	run(t, c, samples[2:], seconds(0))
	check("two left", nil, nil, []string{"b.0 w2 p0", "a.4 w1 p0"}, true)
	run(t, c, samples, seconds(0))
	check("and came back", []string{"b.0 w2 p0", "a.4 w1 p0"}, []string{"", ""}, nil, true)
	var out transform.Draft
	if s, found := out.Was(0); found || s != out.Sample(0) || s != out.Before(-1) {
		t.Error("there is something in the zero Draft")
	}
}

// Claim: Sample returns the sample as this Edit has left it so far, and Before as the Edit found it.
// Code: Draft.Sample, Draft.Before
func TestDraft_SampleFollowsTheEdit(t *testing.T) {
	s := &spy{edit: func(d *transform.Draft) {
		d.Exclude(0, poise.ExcludedByUser)
		d.SetWeight(0, weightOf(t, 9))
		if got := d.Sample(0); got.Excluded != poise.ExcludedByUser || got.Weight.Value() != 9 {
			t.Errorf("edited: %+v", got)
		}
		if got, out := d.Before(0), d.Before(1); got != (poise.Sample{ID: "a"}) || out != (poise.Sample{}) || d.Sample(1) != out {
			t.Errorf("before: %+v, out of range: %+v", got, out)
		}
	}}
	run(t, newChain(t, s), []poise.Sample{{ID: "a"}}, seconds(0))
}

// Claim: Set out of range, or with another identity or incarnation, fails the Run with a FieldError.
// Code: Draft.Set
// Claim: The error of an Edit ends the Run, and the samples of the last Run stand.
// Code: Chain.Run
// Claim: After a Run that failed, Samples are those of the Run before, and what was to change counts as changed in the next one that succeeds.
func TestChain_ARunThatFailsChangesNothing(t *testing.T) {
	var bad func(d *transform.Draft)
	first, last := &spy{edit: heavier(t, 0)}, &spy{}
	broken := &spy{edit: func(d *transform.Draft) {
		if bad != nil {
			bad(d)
		}
	}}
	c := newChain(t, first, broken, last)
	run(t, c, weighing(t, 1, 2), seconds(0))
	failure := errors.New("broken")
	for _, row := range []struct {
		field string
		err   error
		edit  func(d *transform.Draft)
	}{
		{"index", poise.ErrOutOfRange, func(d *transform.Draft) { d.Set(2, poise.Sample{}) }},
		{"index", poise.ErrOutOfRange, func(d *transform.Draft) { d.LeaveOut(-1) }},
		{"samples[1].ID", transform.ErrOtherMember, func(d *transform.Draft) { d.Set(1, poise.Sample{ID: "x"}); d.Set(9, poise.Sample{}) }},
		{"samples[0].Incarnation", transform.ErrOtherMember, func(d *transform.Draft) { d.Set(0, poise.Sample{ID: "a", Incarnation: 1}) }},
		{"", failure, func(d *transform.Draft) { d.SetWeight(0, weightOf(t, 77)); broken.err = failure }},
	} {
		before, runs := slices.Clone(c.Samples()), last.runs
		w := weightOf(t, c.Base(1).Weight.Value()+1)
		if err := c.Change(1, poise.Sample{ID: "b", Weight: w}); err != nil {
			t.Fatal(err)
		}
		bad = row.edit
		again, err := c.Run(seconds(1))
		if row.field != "" {
			checkFieldError(t, row.field, err, row.field, row.err)
		} else if !errors.Is(err, row.err) {
			t.Errorf("error is %v", err)
		}
		if !again.IsZero() || !slices.Equal(c.Samples(), before) || last.runs != runs {
			t.Errorf("%s: samples %+v, before %+v", row.field, c.Samples(), before)
		}
		bad, broken.err = nil, nil
		if _, err := c.Run(seconds(2)); err != nil {
			t.Fatal(err)
		}
		if got := c.Sample(1).Weight.Value(); got != 10*w.Value() || c.Sample(0) != before[0] || !slices.Equal(c.Changed(), []int{1}) {
			t.Errorf("%s: afterwards %+v, changed %v", row.field, c.Samples(), c.Changed())
		}
		if want := []string{brief(c.Sample(1))}; !slices.Equal(last.changed, want) || last.was[0] != brief(before[1]) {
			t.Errorf("%s: the last transform found %v, was %v", row.field, last.changed, last.was)
		}
	}
}

// Claim: Run returns the earliest instant at which a transform wants to run again.
func TestChain_AsksForTheEarliestInstant(t *testing.T) {
	for _, row := range []struct{ first, second, want float64 }{{0, 0, 0}, {3, 0, 3}, {0, 4, 4}, {3, 4, 3}, {4, 3, 3}} {
		instant := func(s float64) time.Time {
			if s == 0 {
				return time.Time{}
			}
			return seconds(s)
		}
		c := newChain(t, &spy{again: instant(row.first)}, &spy{again: instant(row.second)})
		if again := run(t, c, backends(1), seconds(0)); !again.Equal(instant(row.want)) {
			t.Errorf("%+v: asks for %v", row, again)
		}
	}
}

// Claim: Reset refuses an empty and a duplicate identity, Change another identity or incarnation and an index out of range, each with a FieldError; nothing has changed.
func TestChain_RefusalsChangeNothing(t *testing.T) {
	if c, err := transform.NewChain(&spy{}, nil); c != nil {
		t.Error("a Chain came with the error")
	} else {
		checkFieldError(t, "NewChain", err, "transforms[1]", transform.ErrNilTransform)
	}
	s := &spy{}
	fresh, c := newChain(t), newChain(t, s)
	run(t, c, weighing(t, 1, 2), seconds(0))
	for _, c := range []*transform.Chain{fresh, new(transform.Chain), c} {
		before := slices.Clone(c.Samples())
		check := func(field string, err, want error) {
			t.Helper()
			checkFieldError(t, field, err, field, want)
		}
		check("samples[0].ID", c.Reset([]poise.Sample{{}, {ID: "z"}}), poise.ErrEmptyIdentity)
		check("samples[2].ID", c.Reset([]poise.Sample{{ID: "z"}, {ID: "y"}, {ID: "z"}}), poise.ErrDuplicateIdentity)
		check("index", c.Change(c.Len(), poise.Sample{}), poise.ErrOutOfRange)
		check("index", c.Change(-1, poise.Sample{}), poise.ErrOutOfRange)
		if c.Len() > 0 {
			check("sample.ID", c.Change(0, poise.Sample{ID: "b"}), transform.ErrOtherMember)
			check("sample.Incarnation", c.Change(1, poise.Sample{ID: "b", Incarnation: 1}), transform.ErrOtherMember)
		}
		if _, err := c.Run(seconds(1)); err != nil || len(c.Changed()) != 0 || !slices.Equal(c.Samples(), before) || c.Len() != len(before) {
			t.Errorf("after the refusals: %v, changed %v, samples %+v", err, c.Changed(), c.Samples())
		}
	}
	if s.runs != 2 || s.changed != nil || s.left != nil || s.moved {
		t.Errorf("the transform noticed: %+v", s)
	}
}

// uncomparable is a load tracker that == panics on.
type uncomparable struct{ _ []uint64 }

func (u uncomparable) Load(time.Time) (uint64, error) { return 0, nil }
func (u uncomparable) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

func TestChain_ComparesLoadTrackers(t *testing.T) {
	c := newChain(t)
	ewma := func() *poise.PeakEWMA {
		e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{HalfLife: time.Second, Initial: time.Second}, seconds(0))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	inFlight, peak := poise.NewInFlight(0), ewma()
	trackers := []poise.LoadTracker{nil, inFlight, poise.NewInFlight(0), peak, ewma(), fixed(1), fixed(2), uncomparable{}}
	last := -1
	for _, k := range []int{0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 5, 3, 1, 7, 0} {
		run(t, c, []poise.Sample{{ID: "a", Load: trackers[k]}}, seconds(0))
		if want := k != last || k == 7; (len(c.Changed()) == 1) != want {
			t.Errorf("tracker %d after %d: changed is %v", k, last, !want)
		}
		last = k
	}
}

// Claim: Any sequence of Reset, Change and Run leaves the samples that a Reset to the same samples and one Run would leave, where the transforms have no state.
func TestChain_FollowsLikeAFreshOne_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var failing bool
		fresh := func() *transform.Chain {
			return newChain(t,
				transform.Func(func(d *transform.Draft, _ time.Time) error { heavier(t, 1)(d); return nil }),
				transform.Func(func(d *transform.Draft, _ time.Time) error {
					if failing {
						return errors.New("fails")
					}
					return nil
				}),
				newSubset(t, transform.SubsetConfig{Size: 3}),
				transform.Func(func(d *transform.Draft, _ time.Time) error {
					for i := range d.Len() {
						if s := d.Sample(i); s.Weight.Value() == 30 {
							d.Exclude(i, poise.ExcludedByUser)
						}
					}
					return nil
				}))
		}
		c := fresh()
		var list, last []poise.Sample
		draw := func(id string) poise.Sample {
			return poise.Sample{
				ID: id, Weight: weightOf(t, rapid.Uint32Range(1, 4).Draw(t, "weight")), Priority: rapid.Uint32Range(0, 1).Draw(t, "priority"),
				Status: poise.Status(rapid.IntRange(0, 2).Draw(t, "status")),
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"reset": func(t *rapid.T) {
				list = nil
				for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}), 0, 7, rapid.ID).Draw(t, "ids") {
					s := draw(id)
					s.Incarnation = rapid.Uint64Range(0, 1).Draw(t, "incarnation")
					list = append(list, s)
				}
				if err := c.Reset(list); err != nil {
					t.Fatal(err)
				}
			},
			"change": func(t *rapid.T) {
				if len(list) == 0 {
					return
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "index")
				s := draw(list[i].ID)
				s.Incarnation = list[i].Incarnation
				list[i] = s
				if err := c.Change(i, s); err != nil {
					t.Fatal(err)
				}
			},
			"fail": func(t *rapid.T) {
				failing = true
				if _, err := c.Run(seconds(0)); err == nil {
					t.Fatal("the run did not fail")
				}
				failing = false
			},
			"run": func(t *rapid.T) {
				if _, err := c.Run(seconds(0)); err != nil {
					t.Fatal(err)
				}
				other := fresh()
				run(t, other, list, seconds(0))
				if !slices.Equal(c.Samples(), other.Samples()) {
					t.Fatalf("followed: %+v\nafresh: %+v", c.Samples(), other.Samples())
				}
				var changed []int
				for i, s := range c.Samples() {
					before := slices.IndexFunc(last, func(l poise.Sample) bool { return l.ID == s.ID && l.Incarnation == s.Incarnation })
					if before < 0 || last[before] != s {
						changed = append(changed, i)
					}
				}
				// A member that left and came back between two runs counts as joined.
				for _, i := range changed {
					if !slices.Contains(c.Changed(), i) {
						t.Fatalf("%d changed, and Changed is %v", i, c.Changed())
					}
				}
				if !slices.IsSorted(c.Changed()) {
					t.Fatalf("Changed is %v", c.Changed())
				}
				last = slices.Clone(c.Samples())
			},
		})
	})
}

// Claim: Was returns the sample that the last Edit found, and nothing for a member that joined since.
func TestDraft_WasOfOneThatDidNotChange(t *testing.T) {
	var was poise.Sample
	var found bool
	s := &spy{edit: func(d *transform.Draft) { was, found = d.Was(1) }}
	c := newChain(t, s)
	samples := weighing(t, 1, 2)
	if run(t, c, samples, seconds(0)); found || was != (poise.Sample{}) {
		t.Errorf("it joins: %+v, %v", was, found)
	}
	if run(t, c, samples, seconds(0)); !found || was != samples[1] {
		t.Errorf("it stays: %+v, %v", was, found)
	}
}

// Claim: Changed lists, in ascending order, the members whose sample differs from what the last Edit of the transform found, those that joined included.
func TestChain_ChangesMayComeInAnyOrder(t *testing.T) {
	s := &spy{}
	c := newChain(t, s)
	samples := weighing(t, 1, 1, 1)
	run(t, c, samples, seconds(0))
	for _, i := range []int{2, 0, 1, 2} {
		samples[i].Weight = weightOf(t, samples[i].Weight.Value()+1)
		if err := c.Change(i, samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Run(seconds(0)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.0 w2 p0", "b.0 w2 p0", "c.0 w3 p0"}; !slices.Equal(s.changed, want) {
		t.Errorf("changed are %v", s.changed)
	}
	if want := []string{"a.0 w1 p0", "b.0 w1 p0", "c.0 w1 p0"}; !slices.Equal(s.was, want) || !slices.Equal(c.Changed(), []int{0, 1, 2}) {
		t.Errorf("they were %v, and %v changed", s.was, c.Changed())
	}
}

// Claim: Each Edit starts from the samples as the transform before it left them, so an edit that is not made again is undone.
func TestChain_UndoesWhatWasSetTwice(t *testing.T) {
	s := &spy{}
	c := newChain(t, s)
	samples := weighing(t, 1, 2)
	s.edit = func(d *transform.Draft) {
		d.SetWeight(1, weightOf(t, 8))
		d.Exclude(1, poise.ExcludedByUser)
	}
	run(t, c, samples, seconds(0))
	s.edit = nil
	if _, err := c.Run(seconds(0)); err != nil {
		t.Fatal(err)
	}
	if c.Sample(1) != samples[1] || !slices.Equal(c.Changed(), []int{1}) {
		t.Errorf("it is %+v, and %v changed", c.Sample(1), c.Changed())
	}
}

// Claim: Each Edit starts from the samples as the transform before it left them, so an edit that is not made again is undone.
// Claim: Left lists the members that the last Edit found and that are gone; another incarnation is another member.
func TestChain_ResetsWithoutARunBetween(t *testing.T) {
	s := &spy{edit: func(d *transform.Draft) { d.SetWeight(0, weightOf(t, 9)) }}
	c := newChain(t, s)
	samples := weighing(t, 1, 2)
	run(t, c, samples, seconds(0))
	s.edit = nil
	reset := func(list ...poise.Sample) {
		t.Helper()
		if err := c.Reset(list); err != nil {
			t.Fatal(err)
		}
	}
	reset(samples[1], samples[0])
	reset(samples...)
	if _, err := c.Run(seconds(0)); err != nil {
		t.Fatal(err)
	}
	if c.Sample(0) != samples[0] || !slices.Equal(c.Changed(), []int{0}) {
		t.Errorf("moved there and back: %+v, and %v changed", c.Sample(0), c.Changed())
	}
	reset(samples[0], samples[1], poise.Sample{ID: "c"})
	reset(samples...)
	if _, err := c.Run(seconds(0)); err != nil {
		t.Fatal(err)
	}
	if s.left != nil || s.changed != nil {
		t.Errorf("one came and left between two Runs: left %v, changed %v", s.left, s.changed)
	}
}

// A Run that edits as the last one did allocates nothing, however often.
func TestChain_RunsAllocateNothing(t *testing.T) {
	weight := weightOf(t, 9)
	c := newChain(t, transform.Func(func(d *transform.Draft, _ time.Time) error {
		d.SetWeight(0, weight)
		return nil
	}))
	run(t, c, weighing(t, 1, 2), seconds(0))
	now := seconds(1)
	if n := testing.AllocsPerRun(1, func() {
		for range 500 {
			_, _ = c.Run(now)
		}
	}); n != 0 {
		t.Errorf("500 runs allocate %v times", n)
	}
}

// Claim: A member that is left out gets no call, also not in a panic, and its priority and locality do not count it.
// Code: Draft.LeaveOut
func TestDraft_WhoIsLeftOutDoesNotExist(t *testing.T) {
	samples := backends(4)
	samples[0].Status = poise.Unavailable
	s := &spy{edit: func(d *transform.Draft) { d.LeaveOut(2); d.LeaveOut(3) }}
	c := newChain(t, s)
	run(t, c, samples, seconds(0))
	got := c.Samples()
	for i := range got[:2] {
		if got[i] != samples[i] {
			t.Errorf("%d became %+v", i, got[i])
		}
	}
	for _, left := range got[2:] {
		if left.Excluded != poise.ExcludedOutOfScope || !left.PanicOptOut {
			t.Errorf("left out: %+v", left)
		}
	}
	checkCountsAlike(t, got, got[:2])
}
