package transform

import (
	"math/bits"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ZonePreferenceConfig are the settings of a ZonePreference.
type ZonePreferenceConfig struct {
	_ struct{}
	// Zone is the locality of the client. Empty is a zone too.
	Zone string
	// MinPercent is the percentage of all eligible weight of a priority that is enough
	// for this client. 0 means 5/7 of an even share: with three zones, 24 percent. At
	// most 100.
	MinPercent uint32
	// Seed tells the clients of a zone apart: each is given another, so that they do
	// not all go to the same members of other zones.
	Seed uint64
	// Hash replaces FNV-1a over the whole byte stream. It does not keep the slice. nil
	// is FNV-1a, which agrees with every other process.
	Hash func(stream []byte) uint64
}

// ZonePreference keeps calls in the zone of the client as long as enough weight is
// eligible there, and adds members of other zones where it is not. The others are
// left out. It works with every policy, since no weight changes.
//
// The rule looks at each priority by itself. All eligible members of the client's
// zone stay. Then eligible members of other zones stay, one after the other, until
// those that stay have enough of the eligible weight: MinPercent of it, or 1/(1.4·z)
// of it where the priority has members in z zones. At 1.4, which is also the default
// overprovisioning of a Priority, a zone that has lost two sevenths of an even share
// still serves its own clients alone.
//
// The zero value is not usable; call NewZonePreference.
//
// # Contract
//
//   - The eligible members of the client's zone stay.
//   - Eligible members of other zones stay exactly as long as those before them, with the client's zone, have not enough of the eligible weight of their priority.
//   - Members of other zones stay in the order of the hash of the seed and their identity, the highest first; of equal hashes the lesser identity is first.
//   - Of the members that are not eligible so many stay, those of the client's zone first, that the part of them in a priority is not larger than before.
//   - Where nobody of a priority is eligible, nobody of it is left out.
//   - Draining members and those that another transform left out stay as they are and count nowhere.
//   - The order of the members changes no choice of a ZonePreference.
//
// # Cost
//
// Edit is O(members), and O(n log n) where somebody joined or left.
//
// # Concurrency
//
// A ZonePreference belongs to one Chain.
type ZonePreference struct {
	cfg   ZonePreferenceConfig
	order []entry // all members of the last draft, the highest hash first
	out   []int   // whom the last Edit left out
}

// NewZonePreference returns a ZonePreference, or a [poise.FieldError] of
// a RangeError for a MinPercent above 100.
func NewZonePreference(cfg ZonePreferenceConfig) (*ZonePreference, error) {
	if cfg.MinPercent > 100 {
		return nil, &poise.FieldError{Field: "MinPercent", Value: cfg.MinPercent, Err: &poise.RangeError{Max: uint32(100)}}
	}
	return &ZonePreference{cfg: cfg}, nil
}

// Edit leaves out the members of other zones that are not needed.
func (z *ZonePreference) Edit(d *Draft, _ time.Time) (again time.Time, err error) {
	moved := d.Moved() || len(z.order) != d.Len()
	if moved {
		o := newOrder(z.cfg.Hash, zoneSeed, zoneIdentity, z.cfg.Seed)
		for i := range d.seen {
			o.add(d.seen[i].ID, i)
		}
		z.order = o.sorted()
	}
	if moved || len(d.Changed()) > 0 {
		z.choose(d)
	}
	for _, i := range z.out {
		d.LeaveOut(i)
	}
	return time.Time{}, nil
}

// share is how much of a priority there is, and how much of it stays.
type share struct {
	eligible, not uint64 // weight of all
	stay, stayNot uint64
	zones         map[string]bool
}

// choose decides whom to leave out.
func (z *ZonePreference) choose(d *Draft) {
	z.out = z.out[:0]
	shares := map[uint32]*share{}
	for i := range d.seen {
		s := &d.seen[i]
		if !takesPart(s) {
			continue
		}
		of := shares[s.Priority]
		if of == nil {
			of = &share{zones: map[string]bool{}}
			shares[s.Priority] = of
		}
		of.zones[s.Locality] = true
		if isEligible(s) {
			of.eligible += uint64(s.Weight.Value())
		} else {
			of.not += uint64(s.Weight.Value())
		}
	}
	// Eligible members first, since they decide how many of the others stay.
	for _, eligible := range []bool{true, false} {
		for _, own := range []bool{true, false} {
			for _, e := range z.order {
				s := &d.seen[e.index]
				if takesPart(s) && isEligible(s) == eligible && (s.Locality == z.cfg.Zone) == own &&
					!z.stays(shares[s.Priority], s, eligible, own) {
					z.out = append(z.out, e.index)
				}
			}
		}
	}
}

// stays reports whether the member stays, and counts it if it does.
func (z *ZonePreference) stays(of *share, s *poise.Sample, eligible, own bool) bool {
	weight := uint64(s.Weight.Value())
	switch {
	case of.eligible == 0:
		return true
	case eligible:
		if !own && z.isEnough(of) {
			return false
		}
		of.stay += weight
	default:
		// (stayNot+weight) / stay is at most not / eligible.
		if less(of.stay, of.not, of.stayNot+weight, of.eligible) {
			return false
		}
		of.stayNot += weight
	}
	return true
}

// isEnough reports whether what stays has enough of the eligible weight.
func (z *ZonePreference) isEnough(of *share) bool {
	if z.cfg.MinPercent > 0 {
		return !less(of.stay, 100, of.eligible, uint64(z.cfg.MinPercent))
	}
	return !less(of.stay, 7*uint64(len(of.zones)), of.eligible, 5)
}

// less reports whether a·b is less than c·d.
func less(a, b, c, d uint64) bool {
	high, low := bits.Mul64(a, b)
	otherHigh, otherLow := bits.Mul64(c, d)
	return high < otherHigh || high == otherHigh && low < otherLow
}
