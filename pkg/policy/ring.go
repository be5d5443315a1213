package policy

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ring is a circle of 2^64 places with points on it. A key belongs to the owner of
// the first point at or after its place. A ring does not change once it is made,
// and knows identities but no View.
type ring struct {
	generation uint64
	unit       uint64 // of weight, for which a member has so many points
	// members own the points. One without points is a gap that another may take.
	members []ringMember
	total   int // points
	// pages hold the points, in the order of precedes: those whose place has p in its
	// high bits are in pages[p]. There are 2^(64-shift) of them. Rings share pages, so
	// that a member more or less costs the pages that have its points.
	pages [][]ringPoint
	shift int
}

// ringSpot says where a point is.
type ringSpot struct{ page, at int }

// pagePoints is how many points a page has on average, at most, and half of it at
// least while no member is lost.
const pagePoints = 128

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
	r := &ring{members: members}
	for k := range members {
		members[k].hash = custom.identity(domainRingOwner, members[k].id)
		r.total += int(members[k].points)
	}
	scattered := make([]ringPoint, 0, r.total)
	for k := range members {
		scattered = appendPoints(scattered, uint32(k), &members[k], custom)
	}
	high := max(0, bits.Len(uint(r.total))-bits.Len(pagePoints-1))
	r.shift = 64 - high
	r.sort(scattered, high)
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

// sort fills the pages. Places are spread evenly, so sorting by their high bits
// leaves next to nothing to sort; where a custom hash spreads them badly it is still
// a sort.
func (r *ring) sort(scattered []ringPoint, high int) {
	fine := bits.Len(uint(len(scattered))) // bits, for a bucket or two for each point
	shift := 64 - fine
	first := make([]uint32, 1<<fine+1)
	for _, p := range scattered {
		first[p.place>>shift+1]++
	}
	for b := 1; b < len(first); b++ {
		first[b] += first[b-1]
	}
	// Placing the points of a bucket moves its beginning to its end, which is the
	// beginning of the next: afterwards the list is one bucket ahead.
	points := make([]ringPoint, len(scattered))
	for _, p := range scattered {
		at := &first[p.place>>shift]
		points[*at] = p
		*at++
	}
	copy(first[1:], first)
	first[0] = 0
	for b := range len(first) - 1 {
		if bucket := points[first[b]:first[b+1]]; len(bucket) > 1 {
			slices.SortFunc(bucket, r.precedes)
		}
	}
	r.pages = make([][]ringPoint, 1<<high)
	for p := range r.pages {
		from, to := first[p<<(fine-high)], first[(p+1)<<(fine-high)]
		r.pages[p] = points[from:to:to]
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
func (r *ring) at(place uint64) ringSpot {
	p := place >> r.shift
	page := r.pages[p]
	// Places are spread evenly: the point is near its share of the page.
	share, _ := bits.Mul64(place<<(64-r.shift), uint64(len(page)))
	at := int(share)
	const near = 24 // a step each; beyond that, which takes a custom hash, it is a search
	if at < len(page) && page[at].place < place {
		last := min(len(page), at+near)
		for at++; at < last && page[at].place < place; at++ {
		}
		if at == last {
			at += search(page[at:], place)
		}
	} else {
		last := max(0, at-near)
		for at > last && page[at-1].place >= place {
			at--
		}
		if at == last {
			at = search(page[:at], place)
		}
	}
	return r.settle(ringSpot{int(p), at})
}

// search returns the position of the first point at or after the place.
func search(page []ringPoint, place uint64) int {
	at, _ := slices.BinarySearchFunc(page, place, func(p ringPoint, place uint64) int { return cmp.Compare(p.place, place) })
	return at
}

// settle goes on to the next page while there is no point at the spot.
func (r *ring) settle(spot ringSpot) ringSpot {
	for spot.at >= len(r.pages[spot.page]) {
		if spot.page++; spot.page == len(r.pages) {
			spot.page = 0
		}
		spot.at = 0
	}
	return spot
}

// after returns the point after one, going round.
func (r *ring) after(spot ringSpot) ringSpot { return r.settle(ringSpot{spot.page, spot.at + 1}) }

// point returns the point at a spot.
func (r *ring) point(spot ringSpot) *ringPoint { return &r.pages[spot.page][spot.at] }

// absent is the number of no member and of no candidate.
const absent = math.MaxUint32

// edited returns a ring of the same unit, without the members of which drop is true
// and with others, whose number of points is set.
func (r *ring) edited(drop []bool, fresh []ringMember, custom *streamHash) *ring {
	next := &ring{unit: r.unit, members: slices.Clone(r.members), total: r.total, pages: slices.Clone(r.pages), shift: r.shift}
	next.remove(drop)
	slot := 0
	own := make([]bool, len(next.pages)) // pages that are not shared
	var points []ringPoint
	for _, m := range fresh {
		for slot < len(next.members) && next.members[slot].points > 0 {
			slot++
		}
		if slot == len(next.members) {
			next.members = append(next.members, ringMember{})
		}
		m.hash = custom.identity(domainRingOwner, m.id)
		next.members[slot] = m
		points = appendPoints(points[:0], uint32(slot), &m, custom)
		for _, p := range points {
			next.insert(p, own)
		}
		next.total += len(points)
	}
	for next.total > pagePoints*len(next.pages) {
		next.split()
	}
	return next
}

// remove removes the members of which drop is true.
func (r *ring) remove(drop []bool) {
	if !slices.Contains(drop, true) {
		return
	}
	goes := func(p ringPoint) bool { return drop[p.member] }
	for p, page := range r.pages {
		first := slices.IndexFunc(page, goes)
		if first < 0 {
			continue
		}
		left := append(make([]ringPoint, 0, len(page)), page[:first]...)
		for _, point := range page[first:] {
			if !goes(point) {
				left = append(left, point)
			}
		}
		r.pages[p] = left
	}
	for k := range drop {
		if drop[k] {
			r.total -= int(r.members[k].points)
			r.members[k] = ringMember{}
		}
	}
}

// insert puts a point into its page.
func (r *ring) insert(p ringPoint, own []bool) {
	page := p.place >> r.shift
	list := r.pages[page]
	if !own[page] {
		list, own[page] = append(make([]ringPoint, 0, len(list)+4), list...), true
	}
	at, _ := slices.BinarySearchFunc(list, p, r.precedes)
	r.pages[page] = slices.Insert(list, at, p)
}

// split makes two pages of each. They share the memory of the one.
func (r *ring) split() {
	pages := make([][]ringPoint, 0, 2*len(r.pages))
	r.shift--
	for p, page := range r.pages {
		middle := search(page, uint64(2*p+1)<<r.shift)
		pages = append(pages, page[:middle:middle], page[middle:])
	}
	r.pages = pages
}
