package poise

// loadUnits counts load trackers, and sees to it that they share one unit.
type loadUnits struct {
	count int
	unit  LoadUnit // of all of them
}

// add counts a tracker, which may be nil, or says why it may not be in the View.
func (l *loadUnits) add(tracker LoadTracker) *FieldError {
	if tracker == nil {
		return nil
	}
	switch of := tracker.(type) {
	case *InFlight:
		if of == nil {
			return &FieldError{Field: "Load", Value: of, Err: ErrNilTracker}
		}
	case *PeakEWMA:
		if of == nil {
			return &FieldError{Field: "Load", Value: of, Err: ErrNilTracker}
		}
	}
	unit := tracker.Unit()
	if l.count > 0 && unit != l.unit {
		return &FieldError{Field: "Load.Unit()", Value: unit.String(), Err: ErrMixedLoad}
	}
	l.unit = unit
	l.count++
	return nil
}

// remove takes back a tracker that was added.
func (l *loadUnits) remove(tracker LoadTracker) {
	if tracker != nil {
		l.count--
	}
}
