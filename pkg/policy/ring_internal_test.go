package policy

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// members returns members of so many points each.
func members(points map[string]uint32) []ringMember {
	var list []ringMember
	for id, n := range points {
		list = append(list, ringMember{id: id, points: n})
	}
	slices.SortFunc(list, func(a, b ringMember) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return list
}

// points returns the points of a ring in their order.
func (r *ring) points() []ringPoint { return slices.Concat(r.pages...) }

// find returns the position of the first point at or after the place.
func (r *ring) find(place uint64) int {
	spot := r.at(place)
	return len(slices.Concat(r.pages[:spot.page]...)) + spot.at
}

// Two points a unit, weights 1, 2, 1.
func TestRing_HasThePublishedPoints(t *testing.T) {
	r := newRing(members(map[string]uint32{"a": 2, "b": 4, "c": 2}), nil)
	want := []struct {
		place  uint64
		id     string
		number uint32
	}{
		{0x07b442f3e801117f, "b", 2}, {0x56d78b95c50643f1, "c", 1}, {0x5e74338feb057b2a, "a", 1}, {0x6698324e56feb6d3, "a", 0},
		{0x6eb92593a9fc62b3, "b", 3}, {0x86ead05b7667a9da, "b", 1}, {0xd13ef0773a957eb3, "b", 0}, {0xf92ac3eea21b4d64, "c", 0},
	}
	for k, p := range r.points() {
		if got := r.members[p.member].id; p.place != want[k].place || got != want[k].id || p.number != want[k].number {
			t.Errorf("point %d is %016x of %s, number %d; want %+v", k, p.place, got, p.number, want[k])
		}
	}
	if len(r.points()) != len(want) {
		t.Errorf("%d points, want %d", len(r.points()), len(want))
	}
	for k, hash := range []uint64{0x2523263470e6d892, 0x1f9e4188adb16a4d, 0x37146145667c4b67} {
		if r.members[k].hash != hash {
			t.Errorf("owner hash of %s is %016x, want %016x", r.members[k].id, r.members[k].hash, hash)
		}
	}
}

func TestRequestHashes_AreThePublishedOnes(t *testing.T) {
	var none *streamHash
	for key, want := range map[string][2]uint64{
		"customer-42": {0xec04a171552682b0, 0x90e6b68860856969},
		"account-42":  {0x66d0f0fe1cab66c7, 0xedd6559d42568271},
		"key-0":       {0x9ca7f5757b9385b9, 0x6f322e948ece425c},
	} {
		got := [2]uint64{
			none.request(domainRingRequest, poise.StringKey(key)), none.request(domainMaglevRequest, poise.StringKey(key)),
		}
		if got != want {
			t.Errorf("%s: %016x, want %016x", key, got, want)
		}
	}
}

// Claim: RingHash picks the owner of the first point at or after the place of the key, going round.
// Code: ring.at
func TestRing_FindsAsAPlainSearch_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := map[string]uint32{}
		for k := range rapid.IntRange(1, 5).Draw(t, "members") {
			points[fmt.Sprint("member-", k)] = rapid.Uint32Range(1, 60).Draw(t, "points")
		}
		// A hash of few bits crowds the points into few places.
		width := rapid.SampledFrom([]uint{1, 2, 4, 8, 64}).Draw(t, "bits")
		custom := newStreamHash(func(stream []byte) uint64 { return digestBytes(stream) >> (64 - width) })
		r := newRing(members(points), custom)
		if !slices.IsSortedFunc(r.points(), r.precedes) {
			t.Fatal("the points are not in order")
		}
		place := rapid.Uint64().Draw(t, "place")
		if rapid.Bool().Draw(t, "beside a point") {
			k := rapid.IntRange(0, len(r.points())-1).Draw(t, "point")
			place = r.points()[k].place + uint64(rapid.IntRange(-1, 1).Draw(t, "beside"))
		}
		want := sort.Search(len(r.points()), func(k int) bool { return r.points()[k].place >= place }) % len(r.points())
		if got := r.find(place); got != want {
			t.Fatalf("place %016x leads to point %d, want %d of %d", place, got, want, len(r.points()))
		}
	})
}

func digestBytes(b []byte) uint64 { return uint64(poise.FNVBasis.Raw(string(b))) }

// Claim: Of points in one place the first is the one whose owner has the lower Mix64 of the hash of 2 and the identity, then the one of the lower number, then of the lesser identity.
// Code: ring.precedes
func TestRing_OrdersPointsInOnePlace(t *testing.T) {
	// Everything in one place; the owners a and c hash alike, b lower than they.
	low, high := uint64(0), uint64(0)
	for v := uint64(1); low == 0 || high == 0; v++ {
		if poise.Mix64(v) < 1<<62 {
			low = v
		} else {
			high = v
		}
	}
	custom := newStreamHash(func(stream []byte) uint64 {
		switch {
		case stream[0] != domainRingOwner:
			return 7
		case stream[1] == 'b':
			return low
		}
		return high
	})
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		list := make([]ringMember, 3)
		for k, id := range order {
			list[k] = ringMember{id: id, points: 2}
		}
		r := newRing(list, custom)
		var got []string
		for _, p := range r.points() {
			got = append(got, fmt.Sprint(r.members[p.member].id, p.number))
		}
		if want := []string{"b0", "b1", "a0", "c0", "a1", "c1"}; !slices.Equal(got, want) {
			t.Errorf("members in order %v: %v, want %v", order, got, want)
		}
		if at := r.find(poise.Mix64(7)); at != 0 {
			t.Errorf("an exact hit finds point %d, want the first", at)
		}
		if at := r.find(poise.Mix64(7) + 1); at != 0 {
			t.Errorf("beyond the last place is point %d, want the first", at)
		}
	}
}

// A request that meets a point exactly belongs to that point's owner, not to the
// next.
func TestRing_TakesAnExactHit(t *testing.T) {
	r := &ring{
		members: []ringMember{{id: "a"}, {id: "b"}}, total: 2, shift: 62,
		pages: [][]ringPoint{{{place: 5, member: 0}, {place: 6, member: 1}}, nil, nil, nil},
	}
	for place, want := range map[uint64]int{0: 0, 5: 0, 6: 1, 7: 0, math.MaxUint64: 0} {
		if got := r.find(place); got != want {
			t.Errorf("place %d leads to point %d, want %d", place, got, want)
		}
	}
}

// The shares of equal members vary as one over the square root of their points
// (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014,
// table of the standard error).
func TestRing_SharesVaryAsTheRootOfThePoints(t *testing.T) {
	for _, row := range []struct {
		points    uint32
		rings     int
		low, high float64 // the published 99 % interval of a share
	}{{10, 100, 0.37, 1.98}, {100, 100, 0.76, 1.28}, {1000, 10, 0.92, 1.09}} {
		sum, within := 0.0, 0
		for k := range row.rings {
			for _, share := range arcs(k, row.points) {
				sum += (share - 1) * (share - 1)
				if share >= row.low && share <= row.high {
					within++
				}
			}
		}
		shares := float64(row.rings * owners)
		deviation := math.Sqrt(sum / shares)
		if want := 1 / math.Sqrt(float64(row.points)); math.Abs(deviation/want-1) > 0.1 {
			t.Errorf("%d points: deviation %.4f, want %.4f within a tenth", row.points, deviation, want)
		}
		if part := float64(within) / shares; part < 0.98 {
			t.Errorf("%d points: only %.3f of the shares are in the published 99 %% interval", row.points, part)
		}
	}
}

// The keys are spread over the arcs evenly: each member gets its part of the ring
// within 6.8 standard deviations, in a sample that shows a bias of 2 %.
func TestRing_SpreadsKeysEvenly(t *testing.T) {
	const keys = 400_000
	r := newRing(members(map[string]uint32{"a": 100, "b": 100, "c": 100}), nil)
	arcs, counts := make([]float64, 3), make([]float64, 3)
	points := r.points()
	for i, p := range points {
		before := points[(i+len(points)-1)%len(points)].place
		arcs[p.member] += float64(p.place-before) / math.Exp2(64)
	}
	var none *streamHash
	for k := range uint64(keys) {
		counts[r.point(r.at(none.request(domainRingRequest, poise.Uint64Key(k)))).member]++
	}
	for k, share := range arcs {
		if deviation := (counts[k] - keys*share) / math.Sqrt(keys*share*(1-share)); math.Abs(deviation) > 6.8 {
			t.Errorf("member %d has %.4f of the ring and %.0f of %d keys: %.1f sigma", k, share, counts[k], keys, deviation)
		}
	}
}

const owners = 100

// arcs returns the shares of a ring's members, 1 for the mean.
func arcs(ring int, each uint32) []float64 {
	list := make([]ringMember, owners)
	for i := range list {
		list[i] = ringMember{id: fmt.Sprintf("ring-%d-member-%d", ring, i), points: each}
	}
	r := newRing(list, nil)
	shares := make([]float64, owners)
	points := r.points()
	for i, p := range points {
		before := points[(i+len(points)-1)%len(points)].place
		shares[p.member] += float64(p.place-before) / math.Exp2(64) * owners
	}
	return shares
}
