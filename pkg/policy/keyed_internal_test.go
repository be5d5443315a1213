package policy

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// viewOf returns a View of ready candidates.
func viewOf(t interface{ Fatal(...any) }, ids ...string) *poise.View {
	candidates := make([]poise.Candidate, len(ids))
	for i, id := range ids {
		candidates[i] = poise.Sample{ID: id}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var identities = rapid.SliceOfNDistinct(rapid.OneOf(
	rapid.StringN(1, 40, -1), rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 12), func(b []byte) string { return string(b) }),
	rapid.Map(rapid.IntRange(0, 30), func(k int) string { return fmt.Sprintf("backend-%04d", k) }),
), 0, 24, rapid.ID[string])

// However the rows came about, they hash every identity as the plain form does, for
// every low byte.
func TestIdentityRows_HashAsThePlainForm_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows *identityRows
		for range rapid.IntRange(1, 4).Draw(t, "views") {
			ids := identities.Draw(t, "identities")
			if rows != nil && rapid.Bool().Draw(t, "related") {
				ids = related(t, rows.ids)
			}
			v := viewOf(t, ids...)
			limit := rapid.SampledFrom([]int{maxRowBytes, 2048 * len(ids), 2048*len(ids) - 1}).Draw(t, "limit")
			rows = newIdentityRows(v, rows, limit)
			if !slices.Equal(rows.ids, ids) {
				t.Fatalf("rows of %q for %q", rows.ids, ids)
			}
			base := rapid.Uint64().Draw(t, "state")
			for low := range uint64(256) {
				state := poise.FNV(base&^0xff | low)
				row := rows.row(state)
				for k, constant := range row {
					want := uint64(state.String(ids[k]))
					if got := uint64(state)*rows.power[k] + constant; got != want {
						t.Fatalf("%q after %016x: %016x, want %016x", ids[k], uint64(state), got, want)
					}
				}
			}
		}
	})
}

// related draws a list that shares identities with another.
func related(t *rapid.T, ids []string) []string {
	list := slices.Clone(ids)
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		return list
	case 1:
		return rapid.Permutation(list).Draw(t, "order")
	case 2:
		return slices.DeleteFunc(list, func(string) bool { return rapid.Bool().Draw(t, "gone") })
	}
	at := rapid.IntRange(0, len(list)).Draw(t, "at")
	newcomer := fmt.Sprint("newcomer ", rapid.IntRange(0, 99).Draw(t, "newcomer"))
	if slices.Contains(list, newcomer) {
		return list
	}
	return slices.Insert(list, at, newcomer)
}

func TestIdentityRows_AreLeftOutAboveTheLimit(t *testing.T) {
	v := viewOf(t, "a", "b", "c")
	if rows := newIdentityRows(v, nil, 3*2048); rows.constants == nil {
		t.Error("rows that fit the limit are left out")
	}
	rows := newIdentityRows(v, nil, 3*2048-1)
	if rows.constants != nil || rows.row(0) != nil {
		t.Error("rows above the limit are made")
	}
	if wider := newIdentityRows(viewOf(t, "c", "d"), rows, maxRowBytes); wider.constants == nil {
		t.Error("rows are left out after a View that was too large")
	}
}

func TestIdentityRows_AreSharedBetweenEqualViews(t *testing.T) {
	rows := newIdentityRows(viewOf(t, "a", "b", "c"), nil, maxRowBytes)
	if again := newIdentityRows(viewOf(t, "a", "b", "c"), rows, maxRowBytes); again != rows {
		t.Error("an equal View gets rows of its own")
	}
	for _, ids := range [][]string{{"a", "b"}, {"a", "c", "b"}, {"a", "b", "c", "d"}, {"a", "b", "d"}} {
		if other := newIdentityRows(viewOf(t, ids...), rows, maxRowBytes); other == rows {
			t.Errorf("%q gets the rows of others", ids)
		}
	}
}

// hashes with samples at the ends, where the logarithm is least exact, and beside
// each other.
var hashes = rapid.Custom(func(t *rapid.T) uint64 {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return math.MaxUint64 - rapid.Uint64Range(0, 1<<14).Draw(t, "below the top")
	case 1:
		return rapid.Uint64Range(0, 1<<14).Draw(t, "above 0")
	case 2: // 1-u about as large as its square
		return math.MaxUint64 - rapid.Uint64Range(0, 1<<40).Draw(t, "near the top")
	case 3: // beside a power of two
		return 1<<rapid.IntRange(0, 63).Draw(t, "power") + rapid.Uint64Range(0, 4096).Draw(t, "more") - 2048
	}
	return rapid.Uint64().Draw(t, "hash")
})

// Whoever is hopeless has a worse score than the best, whatever the hashes and
// weights; so leaving them out changes no winner.
func TestBestScore_LeavesOutOnlyLosers_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fast := newBestScore()
		var all shares
		best, bestHash, bestScore := -1, uint64(0), 0.0
		previous := uint64(0)
		for k := range rapid.IntRange(1, 40).Draw(t, "challengers") {
			hash := hashes.Draw(t, "hash")
			if rapid.IntRange(0, 3).Draw(t, "beside") == 0 {
				hash = previous + rapid.Uint64Range(0, 8192).Draw(t, "step") - 4096
			}
			if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				hash = previous
			}
			previous = hash
			w, err := poise.NewWeight(rapid.OneOf(rapid.Uint32Range(1, 4), rapid.Uint32Min(1)).Draw(t, "weight"))
			if err != nil {
				t.Fatal(err)
			}
			all.weights, all.ids = append(all.weights, w), append(all.ids, rapid.StringN(0, 1, -1).Draw(t, "identity"))
			score := poise.Score(hash, w)
			if best < 0 || poise.Less(score, hash, bestScore, bestHash) ||
				hash == bestHash && score == bestScore && all.before(k, best) {
				best, bestHash, bestScore = k, hash, score
			}
			if !fast.hopeless(hash, 1/float64(w.Value())) {
				fast.enter(k, hash, score, &all)
			}
		}
		if fast.position != best || fast.hash != bestHash {
			t.Fatalf("the winner is %d, want %d", fast.position, best)
		}
	})
}

// The bound of hopeless, next to 1 where the logarithm and the bound come together,
// and everywhere else in steps.
func TestScore_ExceedsItsBound(t *testing.T) {
	check := func(below uint64) {
		hash := math.MaxUint64 - below<<11
		if bound := float64(below) / scale; poise.Score(hash, poise.Weight{}) < bound*(1+1.0/(1<<24)) {
			t.Fatalf("hash %016x: score %v, bound %v", hash, poise.Score(hash, poise.Weight{}), bound)
		}
	}
	for below := range uint64(1 << 20) {
		check(below)
	}
	for below := uint64(1 << 20); below < scale; below += below>>13 + 1 {
		check(below)
	}
}

// The bound is worth its name: most challengers need no logarithm.
func TestBestScore_TakesFewLogarithms(t *testing.T) {
	chance := poise.NewGenerator(1)
	logarithms := 0
	for range 1000 {
		c := newBestScore()
		for k := range 512 {
			if hash := chance.Uint64(); !c.hopeless(hash, 1) {
				logarithms++
				c.enter(k, hash, poise.Score(hash, poise.Weight{}), nil) // no two are equal
			}
		}
	}
	// The harmonic number of 512 is 6.8: so often is the best beaten.
	if logarithms > 8*1000 {
		t.Errorf("%d logarithms in 1000 contests of 512", logarithms)
	}
}

// plainCapacity is ceil(percent·items·weight / (100·weights)) in big numbers.
func plainCapacity(percent, weight uint32, items, weights uint64) uint64 {
	product := new(big.Int).SetUint64(items)
	product.Mul(product, big.NewInt(int64(percent))).Mul(product, big.NewInt(int64(weight)))
	divisor := new(big.Int).SetUint64(weights)
	divisor.Mul(divisor, big.NewInt(100))
	product.Add(product, divisor).Sub(product, big.NewInt(1))
	if product.Div(product, divisor); product.IsUint64() {
		return product.Uint64()
	}
	return math.MaxUint64
}

func TestCapacity_IsExact_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.OneOf(rapid.Uint32Range(100, 200), rapid.Uint32Min(100)).Draw(t, "percent")
		weight := rapid.OneOf(rapid.Uint32Range(1, 5), rapid.Uint32Min(1)).Draw(t, "weight")
		items := rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Min(1)).Draw(t, "items")
		weights := uint64(weight) + rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64Max(1<<63)).Draw(t, "others")
		if got, want := capacity(percent, weight, items, weights), plainCapacity(percent, weight, items, weights); got != want {
			t.Fatalf("%d %% of %d items at %d of %d: %d, want %d", percent, items, weight, weights, got, want)
		}
	})
}

func TestCapacity_AtTheEdges(t *testing.T) {
	const most = math.MaxUint64
	for _, row := range []struct {
		name           string
		percent        uint32
		weight         uint32
		items, weights uint64
		want           uint64
	}{
		{"100 items over 4 at 125 %", 125, 1, 100, 4, 32},
		{"the first item, alone", 100, 1, 1, 1, 1},
		{"the first item of many", 100, 1, 1, 1 << 40, 1},
		{"an exact share is not rounded", 100, 1, 10, 5, 2},
		{"one more is", 100, 1, 11, 5, 3},
		{"all that 64 bits hold", 100, 7, most, 7, most},
		{"more than 64 bits hold", 101, 7, most, 7, most},
		{"the largest of everything", math.MaxUint32, math.MaxUint32, most, math.MaxUint32, most},
		{"weights beyond 64 bits over 100", 100, math.MaxUint32, most, most, math.MaxUint32},
	} {
		if got := capacity(row.percent, row.weight, row.items, row.weights); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// Claim: Some candidate always has room.
// Code: capacity
func TestCapacity_LeavesRoom_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "candidates")
		loads, weights := make([]uint64, n), make([]uint32, n)
		items, sum := uint64(1), uint64(0)
		for k := range n {
			loads[k] = rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64Max(1<<60)).Draw(t, "load")
			weights[k] = rapid.OneOf(rapid.Uint32Range(1, 5), rapid.Uint32Min(1)).Draw(t, "weight")
			items, sum = items+loads[k], sum+uint64(weights[k])
		}
		for k := range n {
			if loads[k] < capacity(100, weights[k], items, sum) {
				return
			}
		}
		t.Fatalf("nobody has room: loads %v, weights %v", loads, weights)
	})
}

func TestSpares_GiveABufferToOneAtATime(t *testing.T) {
	var s bufferPool[int]
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for k := range 500 {
				buffer := s.take()
				*buffer = k // a race, if anybody else had it
				s.give(buffer)
			}
		})
	}
	wg.Wait()
}

func TestSpares_KeepSixteen(t *testing.T) {
	var s bufferPool[int]
	var taken []*int
	for range 20 {
		taken = append(taken, s.take())
	}
	for _, buffer := range taken {
		s.give(buffer)
	}
	kept := 0
	for range 20 {
		if slices.Contains(taken, s.take()) {
			kept++
		}
	}
	if kept != 16 {
		t.Errorf("kept %d buffers, want 16", kept)
	}
}

// A table of an earlier View does not hold the View.
func TestKeyedPolicies_CarryIdentitiesAndNoView(t *testing.T) {
	p := new(Rendezvous)
	if _, err := p.Prepare(viewOf(t, "a", "b")); err != nil {
		t.Fatal(err)
	}
	first := p.newest.Load()
	if _, err := p.Prepare(viewOf(t, "b", "c")); err != nil {
		t.Fatal(err)
	}
	if newest := p.newest.Load(); newest == first || !slices.Equal(newest.ids, []string{"b", "c"}) {
		t.Error("the policy keeps another table than that of its newest View")
	}
}

// Above the limit, and with it, the three policies pick alike.
func TestRendezvousPickers_PickAlikeWithoutRows_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringN(1, 9, -1), 1, 12, rapid.ID[string]).Draw(t, "identities")
		candidates := make([]poise.Candidate, len(ids))
		for i, id := range ids {
			w, err := poise.NewWeight(rapid.Uint32Range(1, 9).Draw(t, "weight"))
			if err != nil {
				t.Fatal(err)
			}
			candidates[i] = poise.Sample{ID: id, Weight: w, Load: poise.NewInFlight(0)}
		}
		v, err := poise.NewView(candidates)
		if err != nil {
			t.Fatal(err)
		}
		key := poise.StringKey(rapid.String().Draw(t, "key"))
		for _, p := range []poise.Policy{new(Rendezvous), new(WeightedRendezvous), new(BoundedLoadRendezvous)} {
			fast, err := p.Prepare(v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := fast.Pick(poise.Query{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			plain := newIdentityRows(v, nil, 0)
			switch picker := fast.(type) {
			case *rendezvousPicker:
				picker.rows = plain
			case *weightedRendezvousPicker:
				picker.rows = plain
			case *boundedLoadPicker:
				picker.rows = plain
			}
			if got, err := fast.Pick(poise.Query{Key: key}); got != want || err != nil {
				t.Fatalf("%T picks %v (%v) without rows, want %v", p, got, err, want)
			}
		}
	})
}

// At u = 1 every score is the same, and so is its bound: the higher hash wins.
func TestBestScore_DecidesTiesAtTheTop(t *testing.T) {
	c := newBestScore()
	for k, hash := range []uint64{math.MaxUint64 - 9, math.MaxUint64 - 2000, math.MaxUint64, math.MaxUint64 - 1} {
		if w := (poise.Weight{}); !c.hopeless(hash, 1) {
			c.enter(k, hash, poise.Score(hash, w), nil) // no two are equal
		}
	}
	if c.position != 2 {
		t.Errorf("the winner is %d, want 2", c.position)
	}
	// Of two with one sample, and so with one score, the higher hash wins as well.
	c = newBestScore()
	for k, hash := range []uint64{1 << 62, 1<<62 + 5, 1<<62 + 3} {
		if !c.hopeless(hash, 1) {
			c.enter(k, hash, poise.Score(hash, poise.Weight{}), nil)
		}
	}
	if c.position != 1 {
		t.Errorf("the winner is %d, want 1", c.position)
	}
}

// Two identities with one hash, which the rows of a View do not have by themselves:
// the lesser wins, wherever it stands.
func TestRendezvousPickers_TakeTheLesserOfEqualHashes(t *testing.T) {
	for lesser, ids := range [][2]string{{"a", "b"}, {"b", "a"}} {
		checkEqualHashes(t, lesser, ids)
	}
}

func checkEqualHashes(t *testing.T, lesser int, ids [2]string) {
	t.Helper()
	candidates := []poise.Candidate{
		poise.Sample{ID: ids[0], Load: poise.NewInFlight(0)}, poise.Sample{ID: ids[1], Load: poise.NewInFlight(0)},
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	rows := newIdentityRows(v, nil, maxRowBytes)
	for low := range 256 {
		rows.constants[2*low+1] = rows.constants[2*low]
	}
	for _, picker := range []poise.Picker{
		&rendezvousPicker{view: v, rows: rows},
		&weightedRendezvousPicker{view: v, rows: rows, shares: sharesOf(v, rows.ids)},
		&boundedLoadPicker{
			view: v, rows: rows, shares: sharesOf(v, rows.ids), weights: 2, percent: 100, inFlight: allInFlight(v), loads: new(bufferPool[[]uint64]),
		},
	} {
		for k := range uint64(20) {
			selection, err := picker.Pick(poise.Query{Key: poise.Uint64Key(k)})
			if index, _ := v.Index(selection); index != lesser || err != nil {
				t.Fatalf("%T over %q: picked %d (%v), want %d", picker, ids, index, err, lesser)
			}
		}
	}
}
