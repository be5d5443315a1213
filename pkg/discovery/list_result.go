package discovery

// ListResult is the answer to a whole list.
type ListResult struct {
	// Revision is that of the directory afterwards.
	Revision uint64

	counts [effects]int
}

// Count returns how many changes had the effect.
func (r ListResult) Count(e Effect) int {
	if e >= effects {
		return 0
	}
	return r.counts[e]
}

// Changed reports whether anything has changed that costs a revision.
func (r ListResult) Changed() bool {
	for e, n := range r.counts {
		if n > 0 && Effect(e).Changed() {
			return true
		}
	}
	return false
}
