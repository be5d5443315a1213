package policy_test

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// Claim: Without a key WeightedRendezvous answers ErrNoKey, or asks the policy that NoKey names.
//
// Claim: Without a key BoundedLoadRendezvous answers ErrNoKey, or asks the policy that NoKey names.
//
// Claim: Without a key RingHash answers ErrNoKey, or asks the policy that NoKey names.
//
// Claim: Without a key Maglev answers ErrNoKey, or asks the policy that NoKey names.
//
// Cases: B41, G22.
func TestKeyedPolicies_WithoutAKey(t *testing.T) {
	samples := named("a", "b", "c", "d")
	for _, name := range kindNames {
		strict := open(t, keyedKinds[name](t, keyedConfig{}), samples)
		lenient := open(t, keyedKinds[name](t, keyedConfig{noKey: new(policy.RoundRobin)}), samples)
		empty := poise.Query{Key: poise.StringKey("")}
		for k := range 10_000 {
			if index, err := strict.try(poise.Query{}); err != poise.ErrNoKey {
				t.Fatalf("%s: picked %d (%v), want %v", name, index, err, poise.ErrNoKey)
			}
			if got := lenient.pick(t, poise.Query{}); got != k%4 {
				t.Fatalf("%s: pick %d without a key took %d, want the turn of %d", name, k, got, k%4)
			}
			// An empty key is a key, and always the same one.
			if got, want := lenient.pick(t, empty), strict.pick(t, empty); got != want {
				t.Fatalf("%s: the empty key goes to %d and %d", name, got, want)
			}
		}
		var why poise.Decision
		lenient.pick(t, poise.Query{Why: &why})
		if why.Policy != name || why.Rule != policy.RuleFallback {
			t.Errorf("%s without a key says %+v", name, why)
		}
		_, err := strict.try(poise.Query{Why: &why})
		if err != poise.ErrNoKey || why.Policy != name || why.Rule != poise.RuleNone || why.Err != err {
			t.Errorf("%s without a key says %+v", name, why)
		}
	}
}

func TestKeyedPolicies_RefuseWhatTheirNoKeyPolicyRefuses(t *testing.T) {
	v := viewOf(t, backends(3))
	for _, name := range kindNames {
		p := keyedKinds[name](t, keyedConfig{noKey: newMaglev(t, policy.MaglevConfig{TableSize: 2})})
		picker, err := p.Prepare(v)
		if picker != nil {
			t.Errorf("%s: a Picker came with the error", name)
		}
		checkFieldError(t, name, err, "eligible candidates", poise.ErrTooMany)
		// The refused View counts nothing.
		var why poise.Decision
		d := open(t, p, backends(2))
		d.pick(t, poise.Query{Key: poise.Uint64Key(1), Why: &why})
		if generation, _ := why.Note(policy.NoteTable); generation > 1 {
			t.Errorf("%s: generation %d after one View that served", name, generation)
		}
	}
}

// Claim: BoundedLoadRendezvous refuses to prepare a View in which a candidate has no load tracker, or one that does not count requests in flight.
func TestBoundedLoadRendezvous_RefusesLoadsThatAreNoNumberOfItems(t *testing.T) {
	inNanoseconds := backends(2)
	inNanoseconds[0].Load, inNanoseconds[1].Load = timed{}, timed{}
	_, costs := new(policy.BoundedLoadRendezvous).Prepare(viewOf(t, inNanoseconds))
	checkFieldError(t, "BoundedLoadRendezvous", costs, "candidates[0].Load.Unit()", policy.ErrLoadUnit)
	if text := costs.Error(); !strings.Contains(text, "nanoseconds") {
		t.Errorf("the error does not name the unit: %s", text)
	}
	if _, err := new(policy.BoundedLoadRendezvous).Prepare(viewOf(t, nil)); err != nil {
		t.Errorf("nobody has another unit: %v", err)
	}
	samples := backends(3)
	samples[2].Load, samples[2].Status = nil, poise.Draining
	_, err := new(policy.BoundedLoadRendezvous).Prepare(viewOf(t, samples))
	checkFieldError(t, "BoundedLoadRendezvous", err, "candidates[2].Load", poise.ErrNilTracker)
}

// Claim: NewBoundedLoadRendezvous refuses a percentage under 100.
//
// Claim: NewRingHash refuses more points for one unit of weight than a ring may have.
//
// Claim: NewMaglev refuses a table size of 1, one above 5,000,011, and one that is not prime, in this order.
//
// Cases: E15.
func TestKeyedPolicies_RefuseBadSettings(t *testing.T) {
	bounded := func(percent uint32) error {
		_, err := policy.NewBoundedLoadRendezvous(policy.BoundedLoadRendezvousConfig{Percent: percent})
		return err
	}
	ring := func(perUnit, most uint32) error {
		_, err := policy.NewRingHash(policy.RingHashConfig{PointsPerWeight: perUnit, MaxPoints: most})
		return err
	}
	maglev := func(size uint32) error {
		_, err := policy.NewMaglev(policy.MaglevConfig{TableSize: size})
		return err
	}
	for _, row := range []struct {
		name  string
		err   error
		field string
		want  error
	}{
		{"1 percent", bounded(1), "Percent", poise.ErrOutOfRange},
		{"99 percent", bounded(99), "Percent", poise.ErrOutOfRange},
		{"2 points of at most 1", ring(2, 1), "PointsPerWeight", poise.ErrOutOfRange},
		{"the default of at most 127", ring(0, 127), "PointsPerWeight", poise.ErrOutOfRange},
		{"more than the default maximum", ring(policy.DefaultMaxPoints+1, 0), "PointsPerWeight", poise.ErrOutOfRange},
		{"1 slot", maglev(1), "TableSize", poise.ErrOutOfRange},
		{"4 slots", maglev(4), "TableSize", policy.ErrNotPrime},
		{"5,000,012 slots, which is not prime", maglev(5_000_012), "TableSize", poise.ErrOutOfRange},
		{"a prime beyond the largest size", maglev(5_000_081), "TableSize", poise.ErrOutOfRange},
	} {
		checkFieldError(t, row.name, row.err, row.field, row.want)
	}
	for name, err := range map[string]error{
		"100 percent": bounded(100), "the most percent": bounded(1<<32 - 1), "default percent": bounded(0),
		"as many points as may be": ring(7, 7), "all points": ring(1<<32-1, 1<<32-1), "default points": ring(0, 0),
		"2 slots": maglev(2), "default slots": maglev(0), "the most slots": maglev(policy.MaxTableSize), "65537": maglev(65_537),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The sibling has this law too.
func TestNewMaglev_AcceptsExactlyThePrimes(t *testing.T) {
	composite := make([]bool, 10_000)
	for v := 2; v < len(composite); v++ {
		for multiple := 2 * v; multiple < len(composite); multiple += v {
			composite[multiple] = true
		}
		if _, err := policy.NewMaglev(policy.MaglevConfig{TableSize: uint32(v)}); (err == nil) == composite[v] {
			t.Errorf("table size %d: %v", v, err)
		}
	}
}

// explained returns what one keyed pick says.
func explained(t reporter, d desk, q poise.Query) poise.Decision {
	t.Helper()
	var why poise.Decision
	q.Why = &why
	d.pick(t, q)
	return why
}

// generationOf returns the number of the table that decides on the View.
func generationOf(t reporter, p poise.Policy, samples []poise.Sample) uint64 {
	t.Helper()
	why := explained(t, open(t, p, samples), number(1))
	generation, _ := why.Note(policy.NoteTable)
	return generation
}

// Claim: RingHash numbers its rings from 1, and keeps the ring there is while its unit is that of the View, all eligible candidates have their points on it, and at least half of its points are theirs.
//
// Claim: A refused View leaves the ring and its generation as they were.
//
// Claim: A View that needs more than MaxPoints is refused with a FieldError of ErrTooManyPoints that names the candidate.
func TestRingHash_NumbersItsRings(t *testing.T) {
	p := newRingHash(t, policy.RingHashConfig{PointsPerWeight: 2, MaxPoints: 4})
	check := func(want uint64, samples []poise.Sample) {
		t.Helper()
		if got := generationOf(t, p, samples); got != want {
			t.Errorf("generation %d, want %d", got, want)
		}
	}
	open(t, p, nil) // nobody is not a ring
	check(1, named("a", "b"))
	check(1, named("b", "a"))
	excluded := named("c", "b", "a")
	excluded[0].Status = poise.Unavailable
	check(1, excluded)

	_, err := p.Prepare(viewOf(t, weighted(t, named("a", "b"), 3, 1)))
	checkFieldError(t, "weights 3 and 1", err, "candidates[0].Weight", policy.ErrTooManyPoints)
	excluded[0].Status, excluded[1].Status = poise.Ready, poise.Draining
	_, err = p.Prepare(viewOf(t, weighted(t, excluded, 1, 1, 2)))
	checkFieldError(t, "the heavy one at the end", err, "candidates[2].Weight", policy.ErrTooManyPoints)
	check(1, named("a", "b"))

	// The same proportions are the same picks on another ring.
	check(2, weighted(t, named("a", "b"), 5, 5))
	check(3, named("a", "b"))
	check(3, named("a")) // half of the points
	check(3, named("b"))
	open(t, p, named())
	check(3, named("b", "a"))
	check(4, named("a", "b", "c")[1:]) // c is new, and a, who has left, has no points any more
	check(5, named("b", "a"))
}

// Claim: Maglev numbers its tables from 1, and a View with the same eligible identities gets the table there is, whatever their order.
//
// Claim: A refused View leaves the table and its generation as they were.
//
// Claim: A View with more eligible candidates than slots is refused with a FieldError of ErrTooMany.
func TestMaglev_NumbersItsTables(t *testing.T) {
	p := newMaglev(t, policy.MaglevConfig{TableSize: 2})
	check := func(want uint64, samples []poise.Sample) {
		t.Helper()
		if got := generationOf(t, p, samples); got != want {
			t.Errorf("generation %d, want %d", got, want)
		}
	}
	open(t, p, nil) // nobody is not a table
	check(1, named("a", "b"))
	check(1, weighted(t, named("b", "a"), 7, 1))
	three := named("c", "a", "b")
	_, err := p.Prepare(viewOf(t, three))
	checkFieldError(t, "three over two slots", err, "eligible candidates", poise.ErrTooMany)
	three[0].Excluded = poise.ExcludedOutlier
	check(1, three)
	check(2, named("a"))
	open(t, p, named())
	check(4, named("a"))
}

// Cases: B39.
func TestRingHash_RefusesAHugeWeightAtOnce(t *testing.T) {
	p := new(policy.RingHash)
	serving := open(t, p, named("A", "B"))
	before := serving.identity(text("k"))
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	_, err := p.Prepare(viewOf(t, weighted(t, named("A", "B"), 1_000_000, 1)))
	runtime.ReadMemStats(&end)
	checkFieldError(t, "a weight of a million", err, "candidates[0].Weight", policy.ErrTooManyPoints)
	if grown := end.TotalAlloc - start.TotalAlloc; grown > 1<<20 {
		t.Errorf("the refusal took %d bytes", grown)
	}
	if after := serving.identity(text("k")); after != before {
		t.Errorf("the serving ring picks %s, was %s", after, before)
	}
	_, err = p.Prepare(viewOf(t, weighted(t, named("A", "B", "C"), 1, 1<<32-1, 1<<32-1)))
	checkFieldError(t, "the largest weights", err, "candidates[1].Weight", policy.ErrTooManyPoints)
}

// What each says of a pick in which one is left out, one was tried and two are left.
func TestKeyedPolicies_SayWhatDecided(t *testing.T) {
	samples := weighted(t, loadedAs(t, "abcd", 0, 0, 0, 1), 1, 1, 1, 1)
	samples[1].Excluded = poise.ExcludedOutlier
	q := number(0)
	for _, row := range []struct {
		name  string
		tried []int
		want  poise.Decision
	}{
		{"Rendezvous", []int{2, 1}, poise.Decision{
			Rule: policy.RuleHighestHash, Considered: 2, Tried: 1, ComparedLen: 1, Measure: poise.MeasureHash,
			Compared: [2]poise.Compared{{Index: 0, Figure: 0x7a42b2553d284c4f}},
		}},
		{"WeightedRendezvous", []int{2, 1}, poise.Decision{
			Rule: policy.RuleWeightedHash, Considered: 2, Tried: 1, ComparedLen: 1, Measure: poise.MeasureHash,
			Compared: [2]poise.Compared{{Index: 0, Figure: 0x7a42b2553d284c4f}},
		}},
		{"BoundedLoadRendezvous", []int{2, 1}, poise.Decision{
			Rule: policy.RuleOwner, Considered: 2, Tried: 1, ComparedLen: 1, Measure: poise.MeasureLoad,
			Notes:    [2]poise.Note{{Name: policy.NoteCapacity, Value: 2}},
			Compared: [2]poise.Compared{{Index: 0}},
		}},
		{"BoundedLoadRendezvous", []int{2, 0, 1}, poise.Decision{
			Rule: policy.RuleOwner, Considered: 1, Tried: 2, ComparedLen: 1, Chosen: 3, Measure: poise.MeasureLoad,
			Notes:    [2]poise.Note{{Name: policy.NoteCapacity, Value: 3}},
			Compared: [2]poise.Compared{{Index: 3, Figure: 1}},
		}},
	} {
		q.Tried = retried(samples, row.tried...)
		d := open(t, keyedKinds[row.name](t, keyedConfig{}), samples)
		row.want.View, row.want.Policy = d.view, row.name
		if got := explained(t, d, q); got != row.want {
			t.Errorf("%s says\n%+v, want\n%+v", row.name, got, row.want)
		}
	}
}

// The tables say which generation they are, and whether the key's own place decided.
func TestTablePolicies_SayWhatDecided(t *testing.T) {
	samples := named("a", "b", "c")
	for name, rule := range map[string]poise.Rule{"RingHash": policy.RuleRing, "Maglev": policy.RuleTable} {
		d := open(t, keyedKinds[name](t, keyedConfig{}), samples)
		places := map[uint64]bool{}
		for k := range 50 {
			q := number(k)
			own := explained(t, d, q)
			places[own.Compared[0].Figure] = true
			want := poise.Decision{
				View: d.view, Policy: name, Rule: rule, Chosen: own.Chosen, Considered: 1, Measure: policy.MeasurePlace,
				Notes:    [2]poise.Note{{Name: policy.NoteTable, Value: 1}},
				Compared: own.Compared, ComparedLen: 1,
			}
			if own != want || own.Compared[0].Index != own.Chosen {
				t.Fatalf("%s says\n%+v, want\n%+v", name, own, want)
			}
			q.Tried = retried(samples, own.Chosen)
			walked := explained(t, d, q)
			if walked.Rule != policy.RuleWalked || walked.Tried != 1 || walked.Compared[0].Figure == own.Compared[0].Figure {
				t.Fatalf("%s walked on and says %+v", name, walked)
			}
			// A candidate that the key does not lead to first may be tried at no cost.
			q.Tried = retried(samples, 3-own.Chosen-walked.Chosen)
			if still := explained(t, d, q); still.Rule != rule || still.Chosen != own.Chosen {
				t.Fatalf("%s says %+v", name, still)
			}
		}
		if len(places) < 40 {
			t.Errorf("%s: 50 keys have only %d places", name, len(places))
		}
	}
}

// Cases: B38.
//
// Claim: The order of the candidates changes no pick of WeightedRendezvous.
//
// Claim: The order of the candidates changes no pick of BoundedLoadRendezvous.
//
// Claim: The order of the candidates changes no pick of RingHash.
//
// Claim: The order of the candidates changes no pick of Maglev.
func TestKeyedPolicies_DoNotDependOnTheOrder(t *testing.T) {
	const keys = 20_000
	chance := poise.NewGenerator(38)
	for _, name := range kindNames {
		samples := weighted(t, loaded(t, 0, 3, 1, 7, 2, 0), 3, 1, 2, 5, 1, 4)
		aged := keyedKinds[name](t, keyedConfig{})
		want := owners(t, aged, samples, keys)
		for shuffle := range 20 {
			for i := range samples {
				j := i + int(chance.Below(uint64(len(samples)-i)))
				samples[i], samples[j] = samples[j], samples[i]
			}
			p := aged
			if shuffle%2 == 0 {
				p = keyedKinds[name](t, keyedConfig{})
			}
			if !slices.Equal(owners(t, p, samples, keys), want) {
				t.Fatalf("%s: shuffle %d moves keys", name, shuffle)
			}
		}
	}
}

// crowding are hashes that collide: all, to a few places, and now and then among ten.
// The first of them is put at the top of the range, where all scores are 0.
var crowding = map[string]func([]byte) uint64{
	"the highest hash": func([]byte) uint64 { return unmixed(1<<64 - 1) },
	"a constant":       func([]byte) uint64 { return 7 },
	"three places":     func(stream []byte) uint64 { return plainFNV(stream) % 3 },
	"sixteen bits":     func(stream []byte) uint64 { return plainFNV(stream) >> 48 },
}

// unmixed returns what Mix64 makes into v.
func unmixed(v uint64) uint64 {
	inverse := func(odd uint64) uint64 {
		x := odd
		for range 6 { // each doubles the bits that are right, from three on
			x *= 2 - odd*x
		}
		return x
	}
	v ^= v>>31 ^ v>>62
	v *= inverse(0x94d049bb133111eb)
	v ^= v>>27 ^ v>>54
	v *= inverse(0xbf58476d1ce4e5b9)
	return v ^ v>>30 ^ v>>60
}

// Every order of five, and of ten some, and with hashes that are the same for many:
// what ties is decided by identity, for the first choice and for those that follow.
//
// Cases: B79.
func TestKeyedPolicies_DoNotDependOnTheOrderOfTies(t *testing.T) {
	if got := poise.Mix64(unmixed(1<<64 - 1)); got != 1<<64-1 {
		t.Fatalf("Mix64 of what is unmixed is %x", got)
	}
	for _, name := range kindNames {
		for crowd, hash := range crowding {
			t.Run(name+"/"+crowd, func(t *testing.T) {
				for _, weights := range [][]uint32{{1, 1, 1, 1, 1}, {3, 1, 2, 1, 3}} {
					samples := weighted(t, loaded(t, 0, 1, 0, 2, 0), weights...)
					want := crowdedOwners(t, name, hash, samples)
					permutations(samples, func() {
						if got := crowdedOwners(t, name, hash, samples); !slices.Equal(got, want) {
							t.Fatalf("weights %v: in the order %v keys go to %v, else to %v", weights, samples, got, want)
						}
					})
				}
			})
		}
	}
}

// crowdedOwners are the preferences of some keys, and where picks and retries of them
// go.
func crowdedOwners(t *testing.T, name string, hash func([]byte) uint64, samples []poise.Sample) (list []string) {
	t.Helper()
	d := open(t, keyedKinds[name](t, keyedConfig{small: true, hash: hash}), samples)
	for k := range 6 {
		q := number(k)
		for _, index := range preferences(d.picker, q.Key) {
			list = append(list, samples[index].ID)
		}
		q.Tried = new(poise.Tried)
		for range samples {
			id := d.identity(q)
			list = append(list, id)
			q.Tried.Add(id, 0)
		}
	}
	return list
}

// Of ten with sixteen bits of hash some pairs collide for some keys. The slow twins
// say who is chosen then.
//
// Cases: B79.
func TestRendezvousPolicies_OfEqualHashesTheHeavierThenTheLesserIdentity_Law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]uint{0, 1, 4, 16}).Draw(t, "bits")
		top := rapid.Bool().Draw(t, "at the top")
		hash := func(stream []byte) uint64 {
			h := plainFNV(stream)
			if bits == 0 {
				h = 0
			} else {
				h >>= 64 - bits
			}
			if top {
				return unmixed(1<<64 - 1 - h)
			}
			return h
		}
		samples := drawIdentities(t, 2)
		for i := range samples {
			samples[i].Weight = weightOf(t, rapid.Uint32Range(1, 3).Draw(t, "weight"))
			samples[i].Load = poise.NewInFlight(0)
		}
		q := drawKey(t)
		best := map[string]int{"Rendezvous": -1, "WeightedRendezvous": -1}
		of := func(i int) uint64 {
			stream := append(q.Key.AppendStream([]byte{0}), 1)
			return poise.Mix64(hash(poise.StringKey(samples[i].ID).AppendStream(stream)))
		}
		for i := range samples {
			b := best["Rendezvous"]
			if b < 0 || of(i) > of(b) || of(i) == of(b) && samples[i].ID < samples[b].ID {
				best["Rendezvous"] = i
			}
			b = best["WeightedRendezvous"]
			if b < 0 {
				best["WeightedRendezvous"] = i
				continue
			}
			mine, its := poise.Score(of(i), samples[i].Weight), poise.Score(of(b), samples[b].Weight)
			if cmp.Or(cmp.Compare(mine, its), cmp.Compare(of(b), of(i)),
				cmp.Compare(samples[b].Weight.Value(), samples[i].Weight.Value()), cmp.Compare(samples[i].ID, samples[b].ID)) < 0 {
				best["WeightedRendezvous"] = i
			}
		}
		best["BoundedLoadRendezvous"] = best["WeightedRendezvous"]
		for name, want := range best {
			if got := open(t, keyedKinds[name](t, keyedConfig{hash: hash}), samples).pick(t, q); got != want {
				t.Fatalf("%s picks %d, want %d", name, got, want)
			}
		}
	})
}

// permutations goes through every order of the list.
func permutations[T any](list []T, visit func()) {
	var rest func(k int)
	rest = func(k int) {
		if k == len(list) {
			visit()
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			rest(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	rest(0)
}

// Cases: B40, B44.
func TestKeyedPolicies_NeverPickARemovedCandidate(t *testing.T) {
	for _, name := range kindNames {
		p := keyedKinds[name](t, keyedConfig{})
		before := open(t, p, named("A", "B", "C"))
		left := open(t, p, named("A", "C"))
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for k := range 1000 {
					q := number(1000*g + k)
					was, is := before.identity(q), left.identity(q)
					if is != "A" && is != "C" {
						t.Errorf("%s: picked %s", name, is)
						return
					}
					if name != "Maglev" && was != "B" && was != is {
						t.Errorf("%s: a key of %s moved to %s", name, was, is)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// Cases: B43.
func TestBoundedLoadRendezvous_AlwaysFindsRoom(t *testing.T) {
	p := newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: 125})
	for _, n := range []int{10, 3, 7} {
		samples := backends(n)
		for k := range 100 {
			// Each View afresh, as loads change; the key is always the same.
			index := open(t, p, samples).pick(t, text("one key"))
			if _, err := samples[index].Load.(*poise.InFlight).Acquire(); err != nil {
				t.Fatal(err)
			}
			if load, most := samples[index].Load.(*poise.InFlight).Current(), uint64((125*(k+1)+100*n-1)/(100*n)); load > most {
				t.Fatalf("%d over %d: %d on one, want at most %d", k+1, n, load, most)
			}
		}
		for i := range samples {
			if load := samples[i].Load.(*poise.InFlight).Current(); n == 10 && load > 13 {
				t.Errorf("candidate %d of 10 holds %d of 100", i, load)
			}
		}
	}
	alone := open(t, newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: 100}), backends(1))
	if got := alone.pick(t, text("first")); got != 0 {
		t.Errorf("picked %d", got)
	}
}

// Members that join while others hold a hundred calls take what follows, and nobody
// goes over what is allowed at that moment; when they leave again, the rest has room.
//
// Cases: B43.
func TestBoundedLoadRendezvous_FindsRoomWhileMembersJoinAndLeave(t *testing.T) {
	p := newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: 125})
	samples := backends(7)
	held := 0
	load := func(i int) uint64 { return samples[i].Load.(*poise.InFlight).Current() }
	place := func(n, calls int) {
		d := open(t, p, samples[:n])
		for range calls {
			items := uint64(1)
			for i := range n {
				items += load(i)
			}
			index := d.pick(t, text("one key"))
			// The capacity is 125 % of an equal share of all, rounded up.
			if most := (125*items + 100*uint64(n) - 1) / (100 * uint64(n)); load(index) >= most {
				t.Fatalf("%d of %d held %d of %d, and is given one more", index, n, load(index), most)
			}
			if _, err := samples[index].Load.(*poise.InFlight).Acquire(); err != nil {
				t.Fatal(err)
			}
			held++
		}
	}
	place(3, 100)
	before := load(0) + load(1) + load(2)
	place(7, 100)
	if joined := load(3) + load(4) + load(5) + load(6); before != 100 || joined < 50 {
		t.Errorf("after three held %d, the four that joined took %d of 100", before, joined)
	}
	place(3, 20)
	place(1, 5)
	if held != 225 {
		t.Errorf("%d calls were placed", held)
	}
}

// Claim: The owner of a key is the candidate that WeightedRendezvous would pick, and it is passed over only if its load is not under its capacity.
func TestBoundedLoadRendezvous_SpillsOnlyFromAFullOwner(t *testing.T) {
	spilled := 0
	for loads := range 512 {
		a, b, c := uint64(loads%8), uint64(loads/8%8), uint64(loads/64)
		samples := weighted(t, loadedAs(t, "abc", a, b, c), 1, 2, 3)
		d := open(t, newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: 110}), samples)
		plain := open(t, new(policy.WeightedRendezvous), samples)
		for k := range 8 {
			why := explained(t, d, number(k))
			owner := plain.pick(t, number(k))
			limit := (110*(a+b+c+1)*uint64(owner+1) + 599) / 600
			full := []uint64{a, b, c}[owner] >= limit
			told, says := why.Note(policy.NoteOwner)
			if says != full || says && int(told) != owner || !says && why.Chosen != owner {
				t.Fatalf("loads %d %d %d, key %d: owner %d full %v, Why is %+v", a, b, c, k, owner, full, why)
			}
			if full {
				spilled++
				if why.Rule != policy.RuleSpilled || why.ComparedLen != 2 || why.Compared[1].Index != owner {
					t.Fatalf("spilled, and Why is %+v", why)
				}
			}
		}
	}
	if spilled == 0 {
		t.Error("no pick spilled")
	}
}

// At 100 % somebody has room whatever the loads.
func TestBoundedLoadRendezvous_At100PercentAlwaysPicks(t *testing.T) {
	p := newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Percent: 100})
	for loads := range 1000 {
		samples := weighted(t, loadedAs(t, "abc", uint64(loads%10), uint64(loads/10%10), uint64(loads/100)), 1, 2, 3)
		d := open(t, p, samples)
		for k := range 8 {
			why := explained(t, d, number(k))
			bound, _ := why.Note(policy.NoteCapacity)
			if load := why.Compared[0].Figure; load >= bound {
				t.Fatalf("loads %d, key %d: picked a load of %d under %d", loads, k, load, bound)
			}
		}
	}
}

// Claim: With no load anywhere BoundedLoadRendezvous picks as WeightedRendezvous does.
func TestBoundedLoadRendezvous_IdleIsWeighted(t *testing.T) {
	samples := weighted(t, backends(7), 3, 1, 2, 9, 1, 4, 1)
	idle, plain := open(t, new(policy.BoundedLoadRendezvous), samples), open(t, new(policy.WeightedRendezvous), samples)
	for k := range 5000 {
		if got, want := idle.pick(t, number(k)), plain.pick(t, number(k)); got != want {
			t.Fatalf("key %d goes to %d, want %d", k, got, want)
		}
	}
}

// A load of the largest size, read by itself and by its kind of tracker.
func TestBoundedLoadRendezvous_OverflowIsAnError(t *testing.T) {
	samples := backends(2)
	samples[0].Load, samples[1].Load = fixed(1<<64-1), fixed(1)
	d := open(t, new(policy.BoundedLoadRendezvous), samples)
	if _, err := d.try(number(0)); err != poise.ErrLoadOverflow {
		t.Errorf("loads beyond 64 bits: %v", err)
	}
	why := poise.Decision{}
	if _, err := d.try(poise.Query{Key: poise.Uint64Key(0), Why: &why}); err != why.Err || why.Chosen != -1 {
		t.Errorf("Why is %+v", why)
	}
	// Without the full one there is room.
	if got := d.pick(t, poise.Query{Key: poise.Uint64Key(0), Tried: retried(samples, 0)}); got != 1 {
		t.Errorf("picked %d", got)
	}
}

// Claim: Weights change no pick of Maglev.
func TestMaglev_IgnoresWeights(t *testing.T) {
	plain, heavy := backends(6), weighted(t, backends(6), 1, 1000, 3, 1<<32-1, 7, 7)
	if a, b := owners(t, new(policy.Maglev), plain, 2000), owners(t, new(policy.Maglev), heavy, 2000); !slices.Equal(a, b) {
		t.Error("weights move keys")
	}
}

// Claim: Weights in the same proportions make the same ring.
func TestRingHash_KeepsProportions(t *testing.T) {
	p := newRingHash(t, policy.RingHashConfig{PointsPerWeight: 16})
	want := owners(t, p, weighted(t, backends(3), 1, 3, 2), 10_000)
	for _, weights := range [][]uint32{{100, 300, 200}, {1 << 30, 3 << 30, 1 << 31}} {
		if !slices.Equal(owners(t, p, weighted(t, backends(3), weights...), 10_000), want) {
			t.Errorf("weights %v move keys", weights)
		}
	}
}

// A hash that is always the same must not break anything.
func TestKeyedPolicies_SurviveAConstantHash(t *testing.T) {
	// The last one is the same for many, but not for all.
	for _, hash := range []func([]byte) uint64{
		func([]byte) uint64 { return 0 }, func([]byte) uint64 { return 1 }, func([]byte) uint64 { return 1<<64 - 1 },
		func(stream []byte) uint64 { return plainFNV(stream) % 3 },
	} {
		for _, name := range kindNames {
			p := keyedKinds[name](t, keyedConfig{hash: hash})
			samples := backends(60)
			d := open(t, p, samples)
			q := number(7)
			q.Tried = new(poise.Tried)
			var seen []int
			for range samples {
				index := d.pick(t, q)
				seen = append(seen, index)
				q.Tried.Add(samples[index].ID, 0)
			}
			if listed := slices.Collect(d.picker.(poise.Preferrer).Preference(q.Key)); !slices.Equal(listed, seen) {
				t.Errorf("%s: retries went to %v, preferred are %v", name, seen, listed)
			}
			slices.Sort(seen)
			if len(slices.Compact(seen)) != 60 {
				t.Errorf("%s: retries went to %v", name, seen)
			}
		}
	}
}
