package poise

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// View is an immutable reading of a candidate set: each candidate was sampled
// once, and every pick on the View decides by that sample. Load alone is read at
// pick time, through the sample's tracker.
//
// A View is made by NewView, or from another by Scope. A nil *View is refused
// where one is taken.
//
// # Contract
//
//   - NewView refuses an empty identity, a duplicate identity, a nil candidate, an unknown status or reason, mixed load units and two weights for one locality of one priority, each with a FieldError.
//   - A View never changes.
//   - A candidate is eligible exactly if its status is Ready and it is not excluded.
//   - Select refuses an index out of range with ErrOutOfRange and one that is not eligible with ErrNotEligible.
//   - Index of a Selection made on another View answers ErrForeignSelection.
//   - A Selection made on a scope resolves on the View the scope came from.
//   - IsScope is true exactly of what Scope returned.
//   - A scope has exactly the given members eligible, and refuses a draining member and an ineligible one that opted out of panic.
//   - NextEligible gives the position of the first eligible candidate at or after an index, going round.
//
// # Cost
//
// NewView is O(n) time and memory. It allocates each column once, whatever n is,
// and a map of identities that grows by less than one allocation per 256
// candidates. Every other method is O(1) and allocates nothing, but for Scope and
// CheckLoad, which are O(n), and Untried, which is O(tried).
//
// # Concurrency
//
// A View is safe for concurrent use, as anything that never changes is.
type View struct {
	number  uint64 // process-wide, from 1; shared with scopes; never shown
	samples []Sample
	index   map[string]uint32 // identity to index

	// inFlight holds the samples' trackers that are InFlights, nil for others: one
	// type switch per View instead of an interface call per compared candidate.
	inFlight []*InFlight

	// The eligible list of this View or scope, in three forms.
	eligible []uint32 // ascending
	ok       []bool   // by index
	// next[i] is the position in eligible of the first one at or after index i,
	// going round; nil where all are eligible, when that is i.
	next []uint32
	// scope is true if another View's Scope made this one.
	scope bool
}

// views numbers the Views of the process.
var views syncx.Uint64

// NewView samples the candidates into a View. On an error there is no View and
// nothing has changed; the error is a [FieldError] that names the candidate.
func NewView(candidates []Candidate) (*View, error) {
	n := len(candidates)
	if uint64(n) > math.MaxUint32 {
		return nil, &FieldError{Field: "candidates", Value: n, Err: ErrTooMany}
	}
	v := &View{
		samples:  make([]Sample, n),
		index:    make(map[string]uint32, n),
		inFlight: make([]*InFlight, n),
	}
	for i, candidate := range candidates {
		if candidate == nil {
			return nil, fieldError(i, "", nil, ErrNilCandidate)
		}
		v.samples[i] = candidate.Sample()
		if err := v.admit(i); err != nil {
			return nil, err
		}
	}
	if err := checkLocalities(v.samples); err != nil {
		return nil, err
	}
	if err := v.resolveLoad(); err != nil {
		return nil, err
	}
	members := make([]uint32, 0, n)
	for i := range v.samples {
		if v.samples[i].reason() == NotExcluded {
			members = append(members, uint32(i))
		}
	}
	v.setEligible(members)
	v.number = views.Add(1)
	return v, nil
}

// fieldError returns the FieldError of a field of candidate i; an empty field
// means the candidate as a whole.
func fieldError(i int, field string, value any, err error) error {
	path := fmt.Sprintf("candidates[%d]", i)
	if field != "" {
		path += "." + field
	}
	return &FieldError{Field: path, Value: value, Err: err}
}

// admit checks sample i by itself and enters its identity.
func (v *View) admit(i int) error {
	s := &v.samples[i]
	if s.ID == "" {
		return fieldError(i, "ID", s.ID, ErrEmptyIdentity)
	}
	if s.Status > Unavailable {
		return fieldError(i, "Status", s.Status, ErrInvalidStatus)
	}
	if s.Excluded >= reasons {
		return fieldError(i, "Excluded", s.Excluded, ErrInvalidReason)
	}
	v.index[s.ID] = uint32(i)
	if len(v.index) != i+1 {
		return fieldError(i, "ID", s.ID, ErrDuplicateIdentity)
	}
	return nil
}

// checkLocalities refuses two weights for one locality of one priority. It looks
// at every priority, whichever will be chosen.
func checkLocalities(samples []Sample) error {
	type zone struct {
		priority uint32
		locality string
	}
	// The first candidates of the first zones: most Views have few zones, and
	// comparing with them is several times faster than hashing.
	var few [8]*Sample
	known := 0
	more := map[zone]Weight{}
next:
	for i := range samples {
		s := &samples[i]
		for _, first := range few[:known] {
			if first.Priority == s.Priority && first.Locality == s.Locality {
				if first.LocalityWeight != s.LocalityWeight {
					return fieldError(i, "LocalityWeight", s.LocalityWeight.Value(), ErrInconsistentTopology)
				}
				continue next
			}
		}
		if known < len(few) {
			few[known] = s
			known++
			continue
		}
		at := zone{s.Priority, s.Locality}
		weight, seen := more[at]
		if !seen {
			more[at] = s.LocalityWeight
		} else if weight != s.LocalityWeight {
			return fieldError(i, "LocalityWeight", s.LocalityWeight.Value(), ErrInconsistentTopology)
		}
	}
	return nil
}

// resolveLoad fills the column of InFlights and refuses mixed units.
func (v *View) resolveLoad() error {
	var unit LoadUnit
	known := false
	for i := range v.samples {
		tracker := v.samples[i].Load
		if tracker == nil {
			continue
		}
		switch of := tracker.(type) {
		case *InFlight:
			if of == nil {
				return fieldError(i, "Load", of, ErrNilTracker)
			}
			v.inFlight[i] = of
		case *PeakEWMA:
			if of == nil {
				return fieldError(i, "Load", of, ErrNilTracker)
			}
		}
		if known && tracker.Unit() != unit {
			return fieldError(i, "Load.Unit()", tracker.Unit().String(), ErrMixedLoad)
		}
		unit, known = tracker.Unit(), true
	}
	return nil
}

// setEligible fills the three forms of the eligible list from an ascending list.
func (v *View) setEligible(members []uint32) {
	n := len(v.samples)
	v.eligible = members
	v.ok = make([]bool, n)
	for _, i := range members {
		v.ok[i] = true
	}
	if len(members) == n || len(members) == 0 {
		return
	}
	v.next = make([]uint32, n)
	position := 0
	for i := range v.next {
		for position < len(members) && int(members[position]) < i {
			position++
		}
		v.next[i] = uint32(position % len(members))
	}
}

// Len returns how many candidates there are, eligible or not.
func (v *View) Len() int { return len(v.samples) }

// EligibleLen returns how many candidates are eligible.
func (v *View) EligibleLen() int { return len(v.eligible) }

// Eligible returns the index of the eligible candidate at a position from 0 to
// EligibleLen()-1, in the order of the candidates; -1 outside of that.
func (v *View) Eligible(position int) int {
	if uint(position) >= uint(len(v.eligible)) {
		return -1
	}
	return int(v.eligible[position])
}

// NextEligible returns the position of the first eligible candidate at or after
// the index, going round at the end; -1 where no candidate is eligible or the
// index is out of range.
func (v *View) NextEligible(index int) int {
	if uint(index) >= uint(len(v.samples)) || len(v.eligible) == 0 {
		return -1
	}
	if v.next == nil {
		return index
	}
	return int(v.next[index])
}

// Check returns why nothing can be picked: ErrEmpty, ErrNoEligible, or nil.
func (v *View) Check() error {
	if len(v.eligible) > 0 {
		return nil
	}
	if len(v.samples) == 0 {
		return ErrEmpty
	}
	return ErrNoEligible
}

// Sample returns the sample of the candidate at the index, or ErrOutOfRange.
func (v *View) Sample(index int) (Sample, error) {
	if uint(index) >= uint(len(v.samples)) {
		return Sample{}, ErrOutOfRange
	}
	return v.samples[index], nil
}

// IsScope reports whether the View is a scope of another. To a scope, whoever is
// not eligible in it does not exist.
func (v *View) IsScope() bool { return v.scope }

// All returns an iterator over the indices and samples, in the order of the
// candidates.
func (v *View) All() iter.Seq2[int, Sample] {
	return func(yield func(int, Sample) bool) {
		for i := range v.samples {
			if !yield(i, v.samples[i]) {
				return
			}
		}
	}
}

// Reason returns why the candidate at the index is not eligible; NotExcluded if
// it is. An index out of range is out of scope.
func (v *View) Reason(index int) Reason {
	if uint(index) >= uint(len(v.samples)) {
		return ExcludedOutOfScope
	}
	if v.ok[index] {
		return NotExcluded
	}
	if reason := v.samples[index].reason(); reason != NotExcluded {
		return reason
	}
	return ExcludedOutOfScope
}

// Lookup returns the index of the candidate with the identity.
func (v *View) Lookup(id string) (index int, found bool) {
	i, found := v.index[id]
	return int(i), found
}

// Load reads the load of the candidate at the index, at the instant now.
func (v *View) Load(index int, now time.Time) (uint64, error) {
	if uint(index) >= uint(len(v.samples)) {
		return 0, ErrOutOfRange
	}
	if f := v.inFlight[index]; f != nil {
		return f.Current(), nil
	}
	tracker := v.samples[index].Load
	if tracker == nil {
		return 0, ErrNilTracker
	}
	load, err := tracker.Load(now)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrLoadOverflow, v.samples[index].ID, err)
	}
	return load, nil
}

// InFlight returns the load tracker of the candidate at the index if it is an
// InFlight, else nil.
func (v *View) InFlight(index int) *InFlight {
	if uint(index) >= uint(len(v.inFlight)) {
		return nil
	}
	return v.inFlight[index]
}

// CheckLoad returns a [FieldError] of ErrNilTracker that names the first
// candidate without a load tracker, or nil. A load-aware policy calls it in
// Prepare.
func (v *View) CheckLoad() error {
	for i := range v.samples {
		if v.samples[i].Load == nil {
			return fieldError(i, "Load", nil, ErrNilTracker)
		}
	}
	return nil
}

// Select returns the Selection of the candidate at the index.
func (v *View) Select(index int) (Selection, error) {
	if uint(index) >= uint(len(v.ok)) || !v.ok[index] {
		return Selection{}, v.refuse(index)
	}
	return Selection{view: v.number, index: uint32(index)}, nil
}

func (v *View) refuse(index int) error {
	if uint(index) >= uint(len(v.ok)) {
		return ErrOutOfRange
	}
	return ErrNotEligible
}

// Index returns the index of the selected candidate, or ErrForeignSelection.
func (v *View) Index(s Selection) (int, error) {
	if s.view != v.number || s.view == 0 {
		return -1, ErrForeignSelection
	}
	return int(s.index), nil
}

// Scope returns a View of the same candidates in which exactly the given members
// are eligible, such as one priority, one locality, or everybody in a panic. The
// members are indices, strictly ascending. A member that is not eligible in the
// samples may be in a scope, unless it is draining or opted out of panic.
func (v *View) Scope(members []int) (*View, error) {
	eligible := make([]uint32, len(members))
	last := -1
	for k, i := range members {
		field := func(err error) error {
			return &FieldError{Field: fmt.Sprintf("members[%d]", k), Value: i, Err: err}
		}
		if uint(i) >= uint(len(v.samples)) {
			return nil, field(ErrOutOfRange)
		}
		if i <= last {
			return nil, field(ErrNotAscending)
		}
		s := &v.samples[i]
		reason := s.reason()
		if reason == ExcludedDraining || s.PanicOptOut && reason != NotExcluded {
			return nil, field(ErrNotEligible)
		}
		eligible[k], last = uint32(i), i
	}
	scope := *v
	scope.next, scope.scope = nil, true
	scope.setEligible(eligible)
	return &scope, nil
}
