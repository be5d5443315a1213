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
// A View is made by NewView, or from another by With or Scope. The zero value has
// no candidates. A nil *View is refused where one is taken.
//
// # Contract
//
//   - NewView refuses an empty identity, a duplicate identity, a nil candidate, an unknown status or reason, mixed load units and two weights for one locality of one priority, each with a FieldError.
//   - A View never changes.
//   - A candidate is eligible exactly if its status is Ready and it is not excluded.
//   - A View made by With answers as one that NewView makes of the same samples in the same order.
//   - Select refuses an index out of range with ErrOutOfRange and one that is not eligible with ErrNotEligible.
//   - Index of a Selection made on another View answers ErrForeignSelection.
//   - A Selection made on a scope resolves on the View the scope came from.
//   - IsScope is true exactly of what Scope returned.
//   - A scope has exactly the given members eligible, and refuses a draining member and an ineligible one that opted out of panic.
//   - NextEligible gives the position of the first eligible candidate at or after an index, going round.
//
// # Cost
//
// NewView is O(n) time and memory. With is O(changes), but for the list of the
// eligible candidates, of which it copies four bytes each: at 10,000 candidates a
// few microseconds and 60 KB. What did not change is shared between the Views. Every
// other method is O(1) and allocates nothing, but for Scope, which is O(members),
// Untried, which is O(tried), and ChangedSince.
//
// # Concurrency
//
// A View is safe for concurrent use, as anything that never changes is.
type View struct {
	number uint64 // process-wide, from 1; shared with scopes; never shown
	// lineage is the number of the View that NewView made, from which With led here.
	// In Views of one lineage an index that both have means the same identity, unless
	// it joined later.
	lineage uint64
	n       int // candidates

	// The columns are shared by Views; what another View may hold is never written.
	samples samplePages
	ids     *identities
	// inFlight holds the samples' trackers that are InFlights, nil for others: one
	// type switch per View instead of an interface call per compared candidate.
	inFlight []*InFlight

	// What NewView and With check, kept so that With need not look at everybody.
	localities localityWeights
	loads      loadUnits

	eligible eligibleSet
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
		n:        n,
		samples:  newSamplePages(n),
		ids:      newIdentities(n),
		inFlight: make([]*InFlight, n),
	}
	for i, candidate := range candidates {
		if candidate == nil {
			return nil, within("candidates", i, &FieldError{Err: ErrNilCandidate})
		}
		s := v.samples.at(i)
		*s = candidate.Sample()
		if err := s.check(); err != nil {
			return nil, within("candidates", i, err)
		}
		if !v.ids.add(s.ID, i) {
			return nil, within("candidates", i, &FieldError{Field: "ID", Value: s.ID, Err: ErrDuplicateIdentity})
		}
	}
	for i := range n {
		if s := v.samples.at(i); !v.localities.add(s) {
			return nil, within("candidates", i, inconsistent(s))
		}
	}
	for i := range n {
		s := v.samples.at(i)
		if err := v.loads.add(s.Load); err != nil {
			return nil, within("candidates", i, err)
		}
		v.inFlight[i], _ = s.Load.(*InFlight)
	}
	v.eligible = newEligibleSet(n, v.ready())
	v.number = views.Add(1)
	v.lineage = v.number
	return v, nil
}

// ready lists the candidates that are eligible by their samples, ascending.
func (v *View) ready() []uint32 {
	list := make([]uint32, 0, v.Len())
	for i := range v.n {
		if v.samples.at(i).reason() == NotExcluded {
			list = append(list, uint32(i))
		}
	}
	return list
}

// within puts the path of element i of a list before the field of an error.
func within(list string, i int, err *FieldError) error {
	path := fmt.Sprintf("%s[%d]", list, i)
	if err.Field != "" {
		path += "." + err.Field
	}
	return &FieldError{Field: path, Value: err.Value, Err: err.Err}
}

// Len returns how many candidates there are, eligible or not.
func (v *View) Len() int { return v.n }

// EligibleLen returns how many candidates are eligible.
func (v *View) EligibleLen() int { return len(v.eligible.list) }

// Eligible returns the index of the eligible candidate at a position from 0 to
// EligibleLen()-1, in the order of the candidates; -1 outside of that.
func (v *View) Eligible(position int) int {
	if uint(position) >= uint(len(v.eligible.list)) {
		return -1
	}
	return int(v.eligible.list[position])
}

// NextEligible returns the position of the first eligible candidate at or after
// the index, going round at the end; -1 where no candidate is eligible or the
// index is out of range.
func (v *View) NextEligible(index int) int {
	if uint(index) >= uint(v.n) || len(v.eligible.list) == 0 {
		return -1
	}
	position := v.eligible.before(index)
	if position == len(v.eligible.list) {
		return 0
	}
	return position
}

// Check returns why nothing can be picked: ErrEmpty, ErrNoEligible, or nil.
func (v *View) Check() error {
	if len(v.eligible.list) > 0 {
		return nil
	}
	if v.Len() == 0 {
		return ErrEmpty
	}
	return ErrNoEligible
}

// Sample returns the sample of the candidate at the index, or ErrOutOfRange.
func (v *View) Sample(index int) (Sample, error) {
	if uint(index) >= uint(v.n) {
		return Sample{}, ErrOutOfRange
	}
	return *v.samples.at(index), nil
}

// IsScope reports whether the View is a scope of another. To a scope, whoever is
// not eligible in it does not exist.
func (v *View) IsScope() bool { return v.scope }

// All returns an iterator over the indices and samples, in the order of the
// candidates.
func (v *View) All() iter.Seq2[int, Sample] {
	return func(yield func(int, Sample) bool) {
		for i := range v.n {
			if !yield(i, *v.samples.at(i)) {
				return
			}
		}
	}
}

// Reason returns why the candidate at the index is not eligible; NotExcluded if
// it is. An index out of range is out of scope.
func (v *View) Reason(index int) Reason {
	if uint(index) >= uint(v.n) {
		return ExcludedOutOfScope
	}
	if v.eligible.has(index) {
		return NotExcluded
	}
	if reason := v.samples.at(index).reason(); reason != NotExcluded {
		return reason
	}
	return ExcludedOutOfScope
}

// Lookup returns the index of the candidate with the identity.
func (v *View) Lookup(id string) (index int, found bool) {
	return v.ids.find(id)
}

// Load reads the load of the candidate at the index, at the instant now.
func (v *View) Load(index int, now time.Time) (uint64, error) {
	if uint(index) >= uint(v.n) {
		return 0, ErrOutOfRange
	}
	if f := v.inFlight[index]; f != nil {
		return f.Current(), nil
	}
	tracker := v.samples.at(index).Load
	if tracker == nil {
		return 0, ErrNilTracker
	}
	load, err := tracker.Load(now)
	if err != nil {
		return 0, fmt.Errorf("%w: %q: %w", ErrLoadOverflow, v.samples.at(index).ID, err)
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
	if v.loads.count == v.n {
		return nil
	}
	for i := range v.n {
		if v.samples.at(i).Load == nil {
			return within("candidates", i, &FieldError{Field: "Load", Err: ErrNilTracker})
		}
	}
	return nil
}

// Select returns the Selection of the candidate at the index.
func (v *View) Select(index int) (Selection, error) {
	if !v.eligible.has(index) {
		return Selection{}, v.refuse(index)
	}
	return Selection{view: v.number, index: uint32(index)}, nil
}

func (v *View) refuse(index int) error {
	if uint(index) >= uint(v.n) {
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
		if uint(i) >= uint(v.n) {
			return nil, field(ErrOutOfRange)
		}
		if i <= last {
			return nil, field(ErrNotAscending)
		}
		s := v.samples.at(i)
		reason := s.reason()
		if reason == ExcludedDraining || s.PanicOptOut && reason != NotExcluded {
			return nil, field(ErrNotEligible)
		}
		eligible[k], last = uint32(i), i
	}
	scope := *v
	scope.eligible, scope.scope = newEligibleSet(v.Len(), eligible), true
	return &scope, nil
}
