package policy

// weightedList is a list of things with weights, from which a ticket chooses. Each thing
// has the tickets from where the one before it ends to its own end.
type weightedList[T any] struct {
	ends   []uint64 // ascending: the first ticket that is no more this thing's
	things []T
	total  uint64
}

// add appends a thing. The sum of the weights fits 64 bits.
func (w *weightedList[T]) add(weight uint64, thing T) {
	w.total += weight
	w.ends = append(w.ends, w.total)
	w.things = append(w.things, thing)
}

// at returns the thing of a ticket below total.
func (w *weightedList[T]) at(ticket uint64) T {
	low, high := 0, len(w.ends)-1 // the thing is among these, both included
	for low < high {
		if middle := (low + high) / 2; ticket < w.ends[middle] {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return w.things[low]
}

// draw returns a thing with a chance in proportion to its weight. With only one
// thing there is nothing to draw.
func (w *weightedList[T]) draw(d *draws) T {
	if len(w.things) == 1 {
		return w.things[0]
	}
	return w.at(d.below(w.total))
}

// some reports whether there is a thing that fits.
func (w *weightedList[T]) some(fits func(T) bool) bool {
	for _, thing := range w.things {
		if fits(thing) {
			return true
		}
	}
	return false
}

// drawIf draws among the things that fit, as draw does among all.
func (w *weightedList[T]) drawIf(d *draws, fits func(T) bool) (thing T, found bool) {
	count, total := 0, uint64(0)
	for i, candidate := range w.things {
		if fits(candidate) {
			count++
			total += w.weight(i)
			thing = candidate
		}
	}
	if count < 2 {
		return thing, count == 1
	}
	ticket := d.below(total)
	for i, candidate := range w.things {
		if !fits(candidate) {
			continue
		}
		if ticket < w.weight(i) {
			return candidate, true
		}
		ticket -= w.weight(i)
	}
	panic("poise: invariant: a ticket is below the sum of the weights")
}

func (w *weightedList[T]) weight(i int) uint64 {
	if i == 0 {
		return w.ends[0]
	}
	return w.ends[i] - w.ends[i-1]
}
