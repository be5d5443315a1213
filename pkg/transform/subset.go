package transform

import (
	"cmp"
	"slices"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// SubsetConfig are the settings of a Subset.
type SubsetConfig struct {
	_ struct{}
	// Size is how many members are chosen. Deliberately no default; at least 1.
	Size int
	// Seed tells the clients of a fleet apart: each is given another, so that together
	// they use all members alike.
	Seed uint64
	// Hash replaces FNV-1a over the whole byte stream. It does not keep the slice. nil
	// is FNV-1a, which agrees with every other process.
	Hash func(stream []byte) uint64
}

// Subset chooses a few members of many for one client, so that not everybody holds
// connections to everybody. The others are left out.
//
// The choice is by rendezvous hash of the seed and the identity, as in gRFC A68.
// Over many clients the number of those that chose a member is binomial.
//
// The zero value is not usable; call NewSubset.
//
// # Contract
//
//   - Subset keeps the Size members whose identities hash highest with the seed, all of them where there are no more, and leaves out the others.
//   - Of equal hashes the lesser identity comes first.
//   - A draining member is not chosen; no other status and no other exclusion changes the choice.
//   - A member that another transform left out is not chosen.
//   - When a member joins or leaves, at most one other changes.
//   - The order of the members changes no choice of a Subset.
//
// # Cost
//
// Edit is O(n log n) where a member joined, left, or began or ceased to drain; else
// O(changed) and what it takes to leave out the others, O(n).
//
// # Concurrency
//
// A Subset belongs to one Chain.
type Subset struct {
	cfg SubsetConfig
	// chosen[i] tells whether the member at i of the last draft was chosen.
	chosen []bool
}

// The domain bytes that keep the hashes of this package apart from those of
// policies and from each other.
const (
	subsetSeed     = 11
	subsetIdentity = 12
	zoneSeed       = 13
	zoneIdentity   = 14
)

// NewSubset returns a Subset, or a [poise.FieldError] of a RangeError for a
// Size under 1.
func NewSubset(cfg SubsetConfig) (*Subset, error) {
	if cfg.Size < 1 {
		return nil, &poise.FieldError{Field: "Size", Value: cfg.Size, Err: &poise.RangeError{Min: 1}}
	}
	return &Subset{cfg: cfg}, nil
}

// Edit leaves out the members that are not chosen.
func (s *Subset) Edit(d *Draft, _ time.Time) (again time.Time, err error) {
	if s.isStale(d) {
		s.choose(d)
	}
	for i, chosen := range s.chosen {
		if !chosen {
			d.LeaveOut(i)
		}
	}
	return time.Time{}, nil
}

// isStale reports whether the members among whom to choose are others than in the
// last draft.
func (s *Subset) isStale(d *Draft) bool {
	if d.Moved() || len(s.chosen) != d.Len() {
		return true
	}
	for _, i := range d.Changed() {
		if was, _ := d.Was(i); takesPart(&was) != takesPart(&d.seen[i]) {
			return true
		}
	}
	return false
}

// takesPart reports whether a member can be chosen.
func takesPart(s *poise.Sample) bool {
	return !s.IsDraining() && s.Excluded != poise.ExcludedOutOfScope
}

func (s *Subset) choose(d *Draft) {
	s.chosen = make([]bool, d.Len())
	order := newOrder(s.cfg.Hash, subsetSeed, subsetIdentity, s.cfg.Seed)
	for i := range d.seen {
		if takesPart(&d.seen[i]) {
			order.add(d.seen[i].ID, i)
		}
	}
	for _, e := range order.sorted()[:min(s.cfg.Size, len(order.entries))] {
		s.chosen[e.index] = true
	}
}

// order sorts members by the hash of a seed and their identity.
type order struct {
	hash    func(stream []byte) uint64
	prefix  poise.FNV
	stream  []byte // the seed's part of the stream, for hash
	entries []entry
}

type entry struct {
	hash  uint64
	id    string
	index int
}

func newOrder(hash func(stream []byte) uint64, seedDomain, identityDomain byte, seed uint64) *order {
	o := &order{hash: hash, prefix: poise.FNVBasis.Byte(seedDomain).Uint64(seed).Byte(identityDomain)}
	if hash != nil {
		o.stream = append(poise.Uint64Key(seed).AppendStream([]byte{seedDomain}), identityDomain)
	}
	return o
}

func (o *order) add(id string, index int) {
	hash := uint64(o.prefix.String(id))
	if o.hash != nil {
		hash = o.hash(poise.StringKey(id).AppendStream(slices.Clip(o.stream)))
	}
	o.entries = append(o.entries, entry{poise.Mix64(hash), id, index})
}

// sorted returns the entries, the highest hash first. Equal hashes are told apart
// by identity, never by place.
func (o *order) sorted() []entry {
	slices.SortFunc(o.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.hash, a.hash), strings.Compare(a.id, b.id))
	})
	return o.entries
}
