package policy

import (
	"cmp"
	"math/bits"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ring is a circle of 2^64 places with points on it. A key belongs to the owner of
// the first point at or after its place. A ring does not change once it is made,
// and knows identities but no View.
type ring struct {
	generation uint64
	members    []ringMember
	// points are in the order of precedes.
	points []ringPoint
	// first[b] is the first point whose place has b or more in its high bits, so that
	// a search begins next to where it ends. There are 2^(64-shift) of them, at
	// least as many as points, and one that closes the list.
	first []uint32
	shift int
}

// ringMember is an owner of points.
type ringMember struct {
	id     string
	weight poise.Weight
	hash   uint64
	points uint32
}

// ringPoint is one point of one member.
type ringPoint struct {
	place  uint64
	member uint32
	number uint32 // among the points of the member
}

// newRing returns the ring of members whose number of points is set.
func newRing(members []ringMember, custom *streamHash) *ring {
	total := 0
	for k := range members {
		members[k].hash = custom.identity(domainRingOwner, members[k].id)
		total += int(members[k].points)
	}
	high := bits.Len(uint(total)) // 2^high > total
	r := &ring{members: members, shift: 64 - high, first: make([]uint32, 1<<high+1)}
	if total == 0 {
		return r
	}
	scattered := make([]ringPoint, 0, total)
	for k := range members {
		scattered = appendPoints(scattered, uint32(k), &members[k], custom)
	}
	r.sort(scattered)
	return r
}

// appendPoints appends the points of a member.
func appendPoints(points []ringPoint, k uint32, m *ringMember, custom *streamHash) []ringPoint {
	if custom != nil {
		return appendPointsCustom(points, k, m, custom)
	}
	begun := poise.FNVBasis.Byte(domainRingPoint).String(m.id).Byte(domainRingReplica)
	for number := range m.points {
		place := poise.Mix64(uint64(begun.Uint64(uint64(number))))
		points = append(points, ringPoint{place, k, number})
	}
	return points
}

func appendPointsCustom(points []ringPoint, k uint32, m *ringMember, custom *streamHash) []ringPoint {
	stream := append(poise.StringKey(m.id).AppendStream([]byte{domainRingPoint}), domainRingReplica)
	prefix := len(stream)
	for number := range m.points {
		stream = poise.Uint64Key(uint64(number)).AppendStream(stream[:prefix])
		points = append(points, ringPoint{poise.Mix64(custom.hash(stream)), k, number})
	}
	return points
}

// sort fills first and points. Places are spread evenly, so sorting by their high
// bits leaves next to nothing to sort; where a custom hash spreads them badly it is
// still a sort.
func (r *ring) sort(scattered []ringPoint) {
	for _, p := range scattered {
		r.first[p.place>>r.shift+1]++
	}
	for b := 1; b < len(r.first); b++ {
		r.first[b] += r.first[b-1]
	}
	// Placing the points of a bucket moves its beginning to its end, which is the
	// beginning of the next: afterwards the list is one bucket ahead.
	r.points = make([]ringPoint, len(scattered))
	for _, p := range scattered {
		at := &r.first[p.place>>r.shift]
		r.points[*at] = p
		*at++
	}
	copy(r.first[1:], r.first)
	r.first[0] = 0
	for b := range len(r.first) - 1 {
		if bucket := r.points[r.first[b]:r.first[b+1]]; len(bucket) > 1 {
			slices.SortFunc(bucket, r.precedes)
		}
	}
}

// precedes orders points by place, then by the hash of the owner, then by number,
// then by identity. So the order of the members decides nothing.
func (r *ring) precedes(a, b ringPoint) int {
	if a.place != b.place {
		return cmp.Compare(a.place, b.place)
	}
	owner, other := &r.members[a.member], &r.members[b.member]
	return cmp.Or(
		cmp.Compare(owner.hash, other.hash),
		cmp.Compare(a.number, b.number),
		cmp.Compare(owner.id, other.id),
	)
}

// at returns the first point at or after the place, going round. There must be
// points.
func (r *ring) at(place uint64) int {
	bucket := place >> r.shift
	low, high := int(r.first[bucket]), int(r.first[bucket+1])
	for low < high {
		if middle := (low + high) / 2; r.points[middle].place < place {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(r.points) {
		return 0
	}
	return low
}

// after returns the point after one, going round.
func (r *ring) after(point int) int {
	if point++; point < len(r.points) {
		return point
	}
	return 0
}

// find returns the index of each member in the View if they are exactly its
// eligible candidates, with the same weights; else nil.
func (r *ring) find(v *poise.View) []int {
	ids := make([]string, len(r.members))
	for k := range ids {
		ids[k] = r.members[k].id
	}
	indices := find(v, ids)
	for k, index := range indices {
		if s, err := v.Sample(index); err != nil || s.Weight != r.members[k].weight {
			return nil
		}
	}
	return indices
}
