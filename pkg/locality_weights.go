package poise

import (
	"maps"
	"slices"
)

// localityWeights counts the candidates of each locality of each priority, whatever
// priority will be chosen, and sees to it that they agree on its weight. The zero
// value has none.
type localityWeights struct {
	known []localityWeight
	// at finds those of known. It is nil while they are few: most Views have few
	// localities, and comparing with them is several times faster than hashing.
	at map[localityKey]int
}

// fewLocalities is how many are found without a map.
const fewLocalities = 8

type localityKey struct {
	priority uint32
	locality string
}

type localityWeight struct {
	localityKey
	weight Weight
	count  int // of candidates; 0: the weight is nobody's
}

// find returns the position of a sample's locality, or -1.
func (w *localityWeights) find(s *Sample) int {
	key := localityKey{s.Priority, s.Locality}
	if w.at == nil {
		for k := range w.known {
			if w.known[k].localityKey == key {
				return k
			}
		}
		return -1
	}
	if k, found := w.at[key]; found {
		return k
	}
	return -1
}

// add counts a sample. It reports whether the sample's weight is the locality's;
// if not, nothing is counted.
func (w *localityWeights) add(s *Sample) bool {
	k := w.find(s)
	if k < 0 {
		w.append(localityWeight{localityKey{s.Priority, s.Locality}, s.LocalityWeight, 1})
		return true
	}
	of := &w.known[k]
	if of.count == 0 {
		of.weight = s.LocalityWeight
	}
	if of.weight != s.LocalityWeight {
		return false
	}
	of.count++
	return true
}

// remove takes back a sample that was added.
func (w *localityWeights) remove(s *Sample) { w.known[w.find(s)].count-- }

func (w *localityWeights) append(l localityWeight) {
	w.known = append(w.known, l)
	switch {
	case w.at != nil:
		w.at[l.localityKey] = len(w.known) - 1
	case len(w.known) > fewLocalities:
		w.at = make(map[localityKey]int, 2*len(w.known))
		for k := range w.known {
			w.at[w.known[k].localityKey] = k
		}
	}
}

// clone returns a copy that can be changed, without the localities of nobody.
func (w *localityWeights) clone() localityWeights {
	if !slices.ContainsFunc(w.known, func(l localityWeight) bool { return l.count == 0 }) {
		return localityWeights{slices.Clone(w.known), maps.Clone(w.at)}
	}
	var next localityWeights
	for _, l := range w.known {
		if l.count > 0 {
			next.append(l)
		}
	}
	return next
}

// inconsistent is the error of a sample whose locality has another weight.
func inconsistent(s *Sample) *FieldError {
	return &FieldError{Field: "LocalityWeight", Value: s.LocalityWeight.Value(), Err: ErrInconsistentTopology}
}
