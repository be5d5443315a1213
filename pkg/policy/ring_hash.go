// Explorable.

package policy

import (
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// RingHashConfig are the settings of a RingHash.
type RingHashConfig struct {
	_ struct{}
	// PointsPerWeight is how many points a candidate of the smallest unit of weight
	// has. 0 is 128. The shares of equal candidates differ by about one part in the
	// square root of it.
	PointsPerWeight uint32
	// MaxPoints is the most points a ring may have. 0 is 1,048,576. A View whose
	// weights ask for more is refused.
	MaxPoints uint32
	// Hash replaces the default hash where keys are hostile: a keyed hash of the
	// whole byte stream, safe for concurrent use, that does not keep the slice. nil
	// is the default, FNV-1a, which agrees with every other process.
	Hash func(stream []byte) uint64
	// NoKey chooses for queries without a key. nil answers ErrNoKey.
	NoKey poise.Policy
}

// What the zero values of a RingHashConfig stand for.
const (
	DefaultPointsPerWeight = 128
	DefaultMaxPoints       = 1 << 20
)

// RingHash picks the owner of the first point at or after the key's place on a ring
// (Karger et al., "Consistent Hashing and Random Trees", 1997). A candidate has
// points in proportion to its weight.
//
// The zero value uses the defaults and answers ErrNoKey without a key.
//
// # Contract
//
//   - A candidate has PointsPerWeight points for each unit of its weight, the unit being the greatest common divisor of the weights of all eligible candidates.
//   - The place of a point is the Mix64 of the hash of 3, the identity, 4 and its number, and that of a key the Mix64 of the hash of 5 and the key.
//   - RingHash picks the owner of the first point at or after the place of the key, going round.
//   - Of points in one place the first is the one whose owner has the lower Mix64 of the hash of 2 and the identity, then the one of the lower number, then of the lesser identity.
//   - While the unit of weight stays, adding a candidate to the ring moves keys only to it, and removing one moves only its keys.
//   - Weights in the same proportions make the same ring.
//   - The order of the candidates changes no pick of RingHash.
//   - A RingHash retry walks on along the ring to the next owner that was not tried.
//   - A pick passes over the points of candidates that are not eligible, as if the ring did not have them.
//   - Without a key RingHash answers ErrNoKey, or asks the policy that NoKey names.
//
// # Cost
//
// A pick is O(key), and O(1) on average in the number of points and of candidates;
// with a Hash that spreads badly it is O(log points). Each point that is passed over
// costs a few nanoseconds; while the ring is kept that is less than one on average.
// With Tried it is O(tried) for each point walked over.
//
// Prepare costs what has changed while the ring stays: if somebody becomes ineligible
// or eligible again. If somebody joins, leaves or has another weight it is O(n) and
// the pages of the ring that have its points; only another unit of weight, or most of
// the members new, makes the ring anew, which is O(points) on average. A ring takes 16
// bytes a point, and up to twice that after changes; the policy keeps the newest, and
// each Picker its own. Preference is O(points) time and O(n) memory.
//
// # Concurrency
//
// Picks do not touch each other. Of two calls of Prepare that overlap, each may
// make a ring, and one decides what the next can use again.
type RingHash struct {
	cfg         RingHashConfig
	newest      syncx.Pointer[ringOwners]
	generations syncx.Uint64
}

var _ poise.Policy = (*RingHash)(nil)

// NewRingHash returns a RingHash, or a [poise.FieldError] of a RangeError.
//
// # Contract
//
//   - NewRingHash refuses more points for one unit of weight than a ring may have.
func NewRingHash(cfg RingHashConfig) (*RingHash, error) {
	if perUnit, most := cfg.points(); perUnit > most {
		return nil, &poise.FieldError{Field: "PointsPerWeight", Value: perUnit, Err: &poise.RangeError{Max: most}}
	}
	return &RingHash{cfg: cfg}, nil
}

// points returns the two settings with their defaults.
func (cfg *RingHashConfig) points() (perUnit, most uint32) {
	perUnit, most = cfg.PointsPerWeight, cfg.MaxPoints
	if perUnit == 0 {
		perUnit = DefaultPointsPerWeight
	}
	if most == 0 {
		most = DefaultMaxPoints
	}
	return perUnit, most
}

// Prepare returns a Picker for the View, a [poise.FieldError] of ErrTooManyPoints,
// or the error of the NoKey policy.
//
// # Contract
//
//   - A View that needs more than MaxPoints is refused with a FieldError of ErrTooManyPoints that names the candidate.
//   - A refused View leaves the ring and its generation as they were.
//   - RingHash numbers its rings from 1, and keeps the ring there is while its unit is that of the View, all eligible candidates have their points on it, and at least half of its points are theirs.
func (p *RingHash) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	custom := newStreamHash(p.cfg.Hash)
	perUnit, most := p.cfg.points()
	owners := p.newest.Load()
	if owners == nil {
		owners = newRing(nil, custom).on(v)
	} else {
		owners = owners.on(v)
	}
	demand, err := owners.demand(perUnit, most)
	if err != nil {
		return nil, err
	}
	fresh := !owners.fits(demand)
	if fresh {
		owners = owners.renewed(demand, perUnit, most, custom)
	}
	keyless, err := prepareKeyless("RingHash", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	// Only now nothing can fail any more, and the ring counts.
	if fresh {
		owners.ring.generation = p.generations.Add(1)
	}
	p.newest.Store(owners)
	return &ringHashPicker{keyless: keyless, ringOwners: owners, custom: custom}, nil
}

type ringHashPicker struct {
	keyless keyless
	*ringOwners
	custom *streamHash // nil: FNV-1a
}

var _ poise.Preferrer = (*ringHashPicker)(nil)

// Pick takes the owner of the next point.
func (p *ringHashPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || q.Key.IsZero() || p.view.EligibleLen() == 0 {
		return p.pickSlow(&q)
	}
	var hash uint64
	if p.custom == nil { // as request has it, a call less
		hash = poise.Mix64(uint64(poise.FNVBasis.Byte(domainRingRequest).Key(q.Key)))
	} else {
		hash = p.custom.request(domainRingRequest, q.Key)
	}
	for at := p.ring.at(hash); ; at = p.ring.after(at) {
		selection, err := p.view.Select(int(p.indices[p.ring.point(at).member]))
		if err == nil {
			return selection, nil
		}
	}
}

// pickSlow walks on over the tried and explains.
func (p *ringHashPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "RingHash")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	rule := RuleRing
	at := p.ring.at(p.custom.request(domainRingRequest, q.Key))
	chosen, ok := p.owner(at)
	for !ok || !holds(&rest, chosen) {
		if ok {
			rule = RuleWalked
		}
		at = p.ring.after(at)
		chosen, ok = p.owner(at)
	}
	explain(p.view, q, "RingHash", rule, chosen, n, 1, poise.Compared{Index: chosen, Figure: p.ring.point(at).place})
	if q.Why != nil {
		q.Why.AddNote(poise.Note{Name: NoteTable, Value: p.ring.generation})
	}
	return p.view.Select(chosen)
}

// Preference lists the owners along the ring from the place of the key, each at
// its first point.
func (p *ringHashPicker) Preference(key poise.Key) iter.Seq[int] {
	return func(yield func(int) bool) {
		if key.IsZero() || p.view.EligibleLen() == 0 {
			return
		}
		met := make([]bool, len(p.indices))
		left := p.view.EligibleLen()
		for at := p.ring.at(p.custom.request(domainRingRequest, key)); left > 0; at = p.ring.after(at) {
			member := p.ring.point(at).member
			if met[member] {
				continue
			}
			met[member] = true
			if index, ok := p.owner(at); ok {
				left--
				if !yield(index) {
					return
				}
			}
		}
	}
}
