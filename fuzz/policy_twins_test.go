package fuzz

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The settings of the contenders: small tables, so that the twins can make theirs
// anew for each pick.
const (
	ringPoints, ringMost = 2, 256
	maglevSlots          = 37
	boundedPercent       = 110
)

// contender is a policy and what it is held against: a twin, or laws.
type contender struct {
	name   string
	policy poise.Policy
	twin   policyTwin
	// law judges a pick that succeeded. It is asked where there is no twin.
	law func(w *policyWorld, open []int, picked int, q *poise.Query) error
	// shadow is an equal policy that sees only the eligible candidates.
	shadow poise.Policy
	// refuses says that this set may not be prepared; nil if all may.
	refuses func(w *policyWorld) bool
	// owner is the twin whose picks Preference must list first; nil for none.
	owner policyTwin
	// keyless policies answer ErrNoKey without a key; twins know it by themselves.
	needsKey bool
	scoped   bool // a decision is made in a part of the View
}

// policyTwin picks among the candidates at the open indices, of which there is at
// least one.
type policyTwin func(w *policyWorld, open []int, key []byte) (int, error)

// must is for configs that are legal.
func must[P any](t *testing.T) func(p P, err error) P {
	return func(p P, err error) P {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func contenders(t *testing.T) []contender {
	weighted := func() poise.Policy {
		return policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: policySeed})
	}
	least := func() poise.Policy {
		return policy.NewWeightedLeastRequest(policy.WeightedLeastRequestConfig{Seed: policySeed})
	}
	return append(keyedContenders(t), []contender{
		{name: "RoundRobin", policy: new(policy.RoundRobin), twin: roundRobinTwin()},
		{name: "SmoothWeightedRoundRobin", policy: new(policy.SmoothWeightedRoundRobin), twin: smoothTwin()},
		{
			name:   "Random",
			policy: policy.NewRandom(policy.RandomConfig{Seed: policySeed}),
			twin:   randomTwin(),
		},
		{name: "LeastLoaded", policy: new(policy.LeastLoaded), twin: leastLoadedTwin()},
		{
			name:   "PowerOfTwoChoices",
			policy: policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: policySeed}),
			twin:   powerOfTwoChoicesTwin(),
		},
		{name: "WeightedRandom", policy: weighted(), shadow: weighted(), law: anybody},
		{name: "WeightedLeastRequest", policy: least(), shadow: least(), law: neverTheWorst},
		{
			name:   "Priority",
			policy: must[*policy.Priority](t)(policy.NewPriority(policy.TopologyConfig{PanicOff: true, Seed: policySeed})),
			law:    firstThatCarriesAll, scoped: true,
		},
		{
			name: "Locality",
			policy: must[*policy.Locality](t)(policy.NewLocality(policy.TopologyConfig{
				PanicOff: true, ByKey: true,
				Endpoint: func(uint64) (poise.Policy, error) { return new(policy.Rendezvous), nil },
			})),
			law: ownerInItsScope, scoped: true, needsKey: true,
		},
	}...)
}

func keyedContenders(t *testing.T) []contender {
	turns := roundRobinTwin()
	return []contender{
		{name: "Rendezvous", policy: new(policy.Rendezvous), twin: rendezvousTwin, owner: rendezvousTwin},
		{
			name:   "Rendezvous, or RoundRobin without a key",
			policy: policy.NewRendezvous(policy.RendezvousConfig{NoKey: new(policy.RoundRobin)}),
			twin: func(w *policyWorld, open []int, key []byte) (int, error) {
				if key == nil {
					return turns(w, open, key)
				}
				return rendezvousTwin(w, open, key)
			},
		},
		{name: "WeightedRendezvous", policy: new(policy.WeightedRendezvous), twin: weightedRendezvousTwin, owner: weightedRendezvousTwin},
		{
			name: "BoundedLoadRendezvous",
			policy: must[*policy.BoundedLoadRendezvous](t)(policy.NewBoundedLoadRendezvous(
				policy.BoundedLoadRendezvousConfig{Percent: boundedPercent})),
			twin: boundedLoadTwin, owner: weightedRendezvousTwin,
		},
		{
			name: "RingHash",
			policy: must[*policy.RingHash](t)(policy.NewRingHash(
				policy.RingHashConfig{PointsPerWeight: ringPoints, MaxPoints: ringMost})),
			twin: ringHashTwin, owner: ringHashTwin,
			refuses: func(w *policyWorld) bool { return ringTotal(w) > ringMost },
		},
		{
			name:   "Maglev",
			policy: must[*policy.Maglev](t)(policy.NewMaglev(policy.MaglevConfig{TableSize: maglevSlots})),
			twin:   maglevTwin, owner: maglevTwin,
		},
	}
}

// compete asks the contender once and compares. The Views hold all candidates, and
// the eligible ones.
func (c *contender) compete(w *policyWorld, v, eligible *poise.View, open []int, refusal error, q poise.Query, stream []byte) error {
	picker, err := c.policy.Prepare(v)
	if c.refuses != nil && c.refuses(w) {
		if err == nil {
			return errors.New("prepared what it must refuse")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("Prepare: %w", err)
	}
	selection, pickErr := picker.Pick(q)
	got := -1
	if pickErr == nil {
		if got, err = v.Index(selection); err != nil {
			return err
		}
	}
	if err := c.judge(w, eligible, open, refusal, got, pickErr, &q, stream); err != nil {
		return err
	}
	if q.Why == nil {
		return nil
	}
	if err := c.checkPreference(w, picker, open, q.Key, stream); err != nil {
		return err
	}
	if c.scoped {
		return checkScope(w, q.Why, got, pickErr)
	}
	return checkDecision(v, q.Why, got, pickErr, len(open))
}

// judge compares a pick with the twin's, or holds it to the laws.
func (c *contender) judge(w *policyWorld, eligible *poise.View, open []int, refusal error, got int, pickErr error, q *poise.Query, stream []byte) error {
	wantErr := refusal
	if wantErr == nil && c.needsKey && stream == nil {
		wantErr = poise.ErrNoKey
	}
	want := -1
	if wantErr == nil && c.twin != nil {
		want, wantErr = c.twin(w, open, stream)
	}
	if pickErr != wantErr || c.twin != nil && got != want {
		return fmt.Errorf("picked %d (%v), wanted %d (%v)", got, pickErr, want, wantErr)
	}
	if pickErr != nil || c.twin != nil {
		return nil
	}
	if !slices.Contains(open, got) {
		return fmt.Errorf("picked %d, which is none of %v", got, open)
	}
	if err := c.law(w, open, got, q); err != nil || c.shadow == nil {
		return err
	}
	picker, err := c.shadow.Prepare(eligible)
	if err != nil {
		return err
	}
	selection, err := picker.Pick(poise.Query{Key: q.Key, Tried: q.Tried})
	if err != nil {
		return err
	}
	index, err := eligible.Index(selection)
	if err != nil {
		return err
	}
	if other := w.eligible()[index]; other != got {
		return fmt.Errorf("picked %d, and %d where the others are absent", got, other)
	}
	return nil
}

// checkPreference compares the order of preference with the picks that retries
// would make: its first candidate that is open, and no candidate twice.
func (c *contender) checkPreference(w *policyWorld, picker poise.Picker, open []int, key poise.Key, stream []byte) error {
	if c.owner == nil || stream == nil || len(open) == 0 {
		return nil
	}
	listed := slices.Collect(picker.(poise.Preferrer).Preference(key))
	if sorted := slices.Sorted(slices.Values(listed)); !slices.Equal(sorted, w.eligible()) {
		return fmt.Errorf("prefers %v, but %v are eligible", listed, w.eligible())
	}
	want, err := c.owner(w, open, stream)
	if err != nil {
		return err
	}
	if first := slices.IndexFunc(listed, func(i int) bool { return slices.Contains(open, i) }); listed[first] != want {
		return fmt.Errorf("prefers %v of %v, its twin %d", listed, open, want)
	}
	return nil
}

// checkScope compares what a decision says of the scope with the candidate.
func checkScope(w *policyWorld, d *poise.Decision, index int, err error) error {
	switch {
	case d.Chosen != index || d.Err != err || d.String() == "":
	case err == nil && (d.Scope.Priority != w.samples[index].Priority || d.Scope.Panic):
	case err == nil && d.Scope.Locality != "" && d.Scope.Locality != w.samples[index].Locality:
	default:
		return nil
	}
	return fmt.Errorf("picked %d (%v) and said %+v", index, err, *d)
}

// anybody is the law of a policy of which no more is known.
func anybody(*policyWorld, []int, int, *poise.Query) error { return nil }

// neverTheWorst holds that of two or more the single one with the most load for
// its weight is not picked.
func neverTheWorst(w *policyWorld, open []int, picked int, _ *poise.Query) error {
	less := func(a, b int) bool {
		highA, lowA := bits.Mul64(w.load(a), w.weight(b))
		highB, lowB := bits.Mul64(w.load(b), w.weight(a))
		return highA < highB || highA == highB && lowA < lowB
	}
	for _, i := range open {
		if i != picked && !less(i, picked) {
			return nil
		}
	}
	if len(open) == 1 {
		return nil
	}
	return fmt.Errorf("picked %d, which has the most load for its weight", picked)
}

// firstThatCarriesAll holds that the lowest priority takes everything if 5/7 of its
// weight are eligible, or if it alone has anybody left.
func firstThatCarriesAll(w *policyWorld, open []int, picked int, _ *poise.Query) error {
	lowest := slices.MinFunc(open, func(a, b int) int { return cmp.Compare(w.samples[a].Priority, w.samples[b].Priority) })
	first := w.samples[lowest].Priority
	total, eligible := uint64(0), uint64(0)
	for i, s := range w.samples {
		if s.Priority < first && s.Status != poise.Draining {
			return nil // another is the first, and down or tried
		}
		if s.Priority == first && s.Status != poise.Draining {
			total += w.weight(i)
		}
	}
	for _, i := range w.eligible() {
		if w.samples[i].Priority == first {
			eligible += w.weight(i)
		}
	}
	if eligible*7 >= total*5 && w.samples[picked].Priority != first {
		return fmt.Errorf("picked %d, but priority %d carries everything", picked, first)
	}
	return nil
}

// ownerInItsScope holds that whoever is picked is the owner of the key among those
// of its priority and locality.
func ownerInItsScope(w *policyWorld, open []int, picked int, q *poise.Query) error {
	var scope []int
	for _, i := range open {
		if w.samples[i].Priority == w.samples[picked].Priority && w.samples[i].Locality == w.samples[picked].Locality {
			scope = append(scope, i)
		}
	}
	if want, err := rendezvousTwin(w, scope, q.Key.AppendStream(nil)); err != nil || want != picked {
		return fmt.Errorf("picked %d, the owner in its scope is %d (%v)", picked, want, err)
	}
	return nil
}

// goingRound sorts the open indices as they are met from the cursor.
func (w *policyWorld) goingRound(open []int, cursor int) []int {
	n := len(w.samples)
	met := slices.Clone(open)
	slices.SortFunc(met, func(a, b int) int { return (a-cursor%n+n)%n - (b-cursor%n+n)%n })
	return met
}

func roundRobinTwin() policyTwin {
	cursor := 0
	return func(w *policyWorld, open []int, _ []byte) (int, error) {
		i := w.goingRound(open, cursor)[0]
		cursor = i + 1
		return i, nil
	}
}

func (w *policyWorld) leastLoaded(met []int) int {
	return slices.MinFunc(met, func(a, b int) int { return cmp.Compare(w.load(a), w.load(b)) })
}

func leastLoadedTwin() policyTwin {
	cursor := 0
	return func(w *policyWorld, open []int, _ []byte) (int, error) {
		i := w.leastLoaded(w.goingRound(open, cursor))
		cursor = i + 1
		return i, nil
	}
}

func randomTwin() policyTwin {
	chance := poise.NewGenerator(policySeed)
	return func(_ *policyWorld, open []int, _ []byte) (int, error) {
		return open[chance.Below(uint64(len(open)))], nil
	}
}

func powerOfTwoChoicesTwin() policyTwin {
	chance := poise.NewGenerator(policySeed)
	return func(w *policyWorld, open []int, _ []byte) (int, error) {
		if len(open) == 1 {
			return open[0], nil
		}
		first, second := chance.Pair(uint64(len(open)))
		a, b := open[first], open[second]
		if w.load(b) < w.load(a) {
			a = b
		}
		return a, nil
	}
}

// life is one incarnation.
type life struct {
	id     string
	number uint64
}

// credits are those of the textbook: of each life that was eligible at the last
// pick, with the weights that it had.
type credits struct{ of, weights map[life]int64 }

// turn lets the candidates at the indices earn and pay, and forgets everybody who
// is not among the present. Where those are others than at the last turn, or their
// weights are, credits are cut to 5/8 of the sum of the weights.
func (c *credits) turn(w *policyWorld, present, among []int) int {
	lifeOf := func(i int) life { return life{w.samples[i].ID, w.samples[i].Incarnation} }
	weights, sum := map[life]int64{}, int64(0)
	for _, i := range present {
		weights[lifeOf(i)] = int64(w.weight(i))
	}
	for _, weight := range weights {
		sum += weight
	}
	if !maps.Equal(weights, c.weights) {
		inherited := map[life]int64{}
		for l := range weights {
			inherited[l] = max(-5*sum/8, min(5*sum/8, c.of[l]))
		}
		c.of, c.weights = inherited, weights
	}
	total, best := int64(0), -1
	for _, i := range among {
		c.of[lifeOf(i)] += int64(w.weight(i))
		total += int64(w.weight(i))
		if best < 0 || c.of[lifeOf(i)] > c.of[lifeOf(best)] {
			best = i
		}
	}
	c.of[lifeOf(best)] -= total
	return best
}

func smoothTwin() policyTwin {
	var turns, retries credits
	return func(w *policyWorld, open []int, _ []byte) (int, error) {
		eligible := w.eligible()
		if len(open) < len(eligible) {
			return retries.turn(w, eligible, open), nil
		}
		return turns.turn(w, eligible, open), nil
	}
}

// hashOf hashes the parts of a stream with the standard library.
func hashOf(parts ...[]byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(slices.Concat(parts...))
	return poise.Mix64(h.Sum64())
}

func (w *policyWorld) identity(i int) []byte { return append([]byte(w.samples[i].ID), 0xff) }

func (w *policyWorld) rendezvous(i int, key []byte) uint64 {
	return hashOf([]byte{0}, key, []byte{1}, w.identity(i))
}

func rendezvousTwin(w *policyWorld, open []int, key []byte) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	return slices.MaxFunc(open, func(a, b int) int { return cmp.Compare(w.rendezvous(a, key), w.rendezvous(b, key)) }), nil
}

// lowestScore returns the candidate that the logarithmic method takes.
func (w *policyWorld) lowestScore(among []int, key []byte) int {
	return slices.MinFunc(among, func(a, b int) int {
		hashA, hashB := w.rendezvous(a, key), w.rendezvous(b, key)
		scoreA, scoreB := poise.Score(hashA, w.samples[a].Weight), poise.Score(hashB, w.samples[b].Weight)
		return cmp.Or(cmp.Compare(scoreA, scoreB), cmp.Compare(hashB, hashA))
	})
}

func weightedRendezvousTwin(w *policyWorld, open []int, key []byte) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	return w.lowestScore(open, key), nil
}

func boundedLoadTwin(w *policyWorld, open []int, key []byte) (int, error) {
	return boundedLoad(w, open, key, 1)
}

// boundedLoad counts so many items that are yet to be placed.
func boundedLoad(w *policyWorld, open []int, key []byte, toPlace int64) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	items, sum := big.NewInt(toPlace), new(big.Int)
	for _, i := range open {
		items.Add(items, new(big.Int).SetUint64(w.load(i)))
		sum.Add(sum, new(big.Int).SetUint64(w.weight(i)))
	}
	if !items.IsUint64() {
		return -1, poise.ErrLoadOverflow
	}
	var room []int
	for _, i := range open {
		have := new(big.Int).SetUint64(w.load(i)) // load·100·sum < percent·items·weight
		have.Mul(have, big.NewInt(100)).Mul(have, sum)
		allowed := big.NewInt(boundedPercent)
		allowed.Mul(allowed, items).Mul(allowed, new(big.Int).SetUint64(w.weight(i)))
		if have.Cmp(allowed) < 0 {
			room = append(room, i)
		}
	}
	if len(room) == 0 {
		return -1, errors.New("nobody has room")
	}
	return w.lowestScore(room, key), nil
}

// ringUnit is the greatest common divisor of the weights, 0 for none.
func ringUnit(w *policyWorld) uint64 {
	unit := new(big.Int)
	for _, i := range w.eligible() {
		unit.GCD(nil, nil, unit, new(big.Int).SetUint64(w.weight(i)))
	}
	return unit.Uint64()
}

func ringTotal(w *policyWorld) (points uint64) {
	for _, i := range w.eligible() {
		points += w.weight(i) / ringUnit(w) * ringPoints
	}
	return points
}

func ringHashTwin(w *policyWorld, open []int, key []byte) (int, error) {
	return ring(w, open, key, ringUnit(w))
}

func ring(w *policyWorld, open []int, key []byte, unit uint64) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	place := hashOf([]byte{5}, key)
	best, least := -1, uint64(0)
	for _, i := range open {
		for number := range min(w.weight(i)/unit*ringPoints, ringMost) {
			point := hashOf([]byte{3}, w.identity(i), []byte{4}, binary.LittleEndian.AppendUint64(nil, number))
			if way := point - place; best < 0 || way < least { // going round
				best, least = i, way
			}
		}
	}
	return best, nil
}

func maglevTwin(w *policyWorld, open []int, key []byte) (int, error) {
	turns := w.eligible()
	hash := func(domain byte, i int) uint64 { return hashOf([]byte{domain}, w.identity(i)) }
	slices.SortFunc(turns, func(a, b int) int { return cmp.Compare(hash(8, a), hash(8, b)) })
	return maglev(w, turns, open, key)
}

// maglev lets the candidates take slots in these turns.
func maglev(w *policyWorld, turns, open []int, key []byte) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	table := map[uint64]int{}
	next := map[int]uint64{}
	for turn := 0; len(table) < maglevSlots; turn++ {
		i := turns[turn%len(turns)]
		offset := hashOf([]byte{6}, w.identity(i)) % maglevSlots
		skip := hashOf([]byte{7}, w.identity(i))%(maglevSlots-1) + 1
		for {
			slot := (offset + next[i]*skip) % maglevSlots
			next[i]++
			if _, taken := table[slot]; !taken {
				table[slot] = i
				break
			}
		}
	}
	slot := hashOf([]byte{10}, key)
	for slot %= maglevSlots; !slices.Contains(open, table[slot]); slot = (slot + 1) % maglevSlots {
	}
	return table[slot], nil
}

// wrongContenders break the contract, each in one way.
func wrongContenders(t *testing.T) []func() contender {
	return []func() contender{
		func() contender {
			return contender{name: "a LeastLoaded that never rotates", policy: new(policy.LeastLoaded),
				twin: func(w *policyWorld, open []int, _ []byte) (int, error) { return w.leastLoaded(open), nil }}
		},
		func() contender {
			turn := -1
			return contender{name: "a RoundRobin that counts turns", policy: new(policy.RoundRobin),
				twin: func(_ *policyWorld, open []int, _ []byte) (int, error) {
					turn++
					return open[turn%len(open)], nil
				}}
		},
		func() contender {
			return contender{name: "a Rendezvous that takes no key for an empty one", policy: new(policy.Rendezvous),
				twin: func(w *policyWorld, open []int, key []byte) (int, error) {
					return rendezvousTwin(w, open, append([]byte{}, key...))
				}}
		},
		func() contender {
			var turns credits
			return contender{name: "a SmoothWeightedRoundRobin that forgets nobody", policy: new(policy.SmoothWeightedRoundRobin),
				twin: func(w *policyWorld, open []int, _ []byte) (int, error) {
					everybody := w.goingRound(open, 0)
					for i := range w.samples {
						everybody = append(everybody, i)
					}
					return turns.turn(w, everybody, open), nil
				}}
		},
		func() contender {
			c := keyedContender(t, "WeightedRendezvous")
			c.twin = rendezvousTwin
			return c
		},
		func() contender {
			c := keyedContender(t, "BoundedLoadRendezvous")
			c.twin = func(w *policyWorld, open []int, key []byte) (int, error) { return boundedLoad(w, open, key, 0) }
			return c
		},
		func() contender {
			c := keyedContender(t, "RingHash")
			c.twin = func(w *policyWorld, open []int, key []byte) (int, error) { return ring(w, open, key, 1) }
			return c
		},
		func() contender {
			c := keyedContender(t, "RingHash")
			c.refuses = func(w *policyWorld) bool { return false }
			return c
		},
		func() contender {
			c := keyedContender(t, "Maglev")
			c.twin = func(w *policyWorld, open []int, key []byte) (int, error) { return maglev(w, w.eligible(), open, key) }
			return c
		},
		func() contender {
			c := keyedContender(t, "WeightedRendezvous")
			c.owner = rendezvousTwin
			return c
		},
		func() contender {
			return contender{name: "a WeightedRandom that does not replay", policy: new(policy.WeightedRandom),
				shadow: policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: 1}), law: anybody}
		},
		func() contender {
			return contender{name: "a WeightedLeastRequest that is blind to load", law: neverTheWorst,
				policy: policy.NewWeightedRandom(policy.WeightedRandomConfig{Seed: 2})}
		},
		func() contender {
			return contender{name: "a Priority that ignores priorities", policy: new(policy.RoundRobin), law: firstThatCarriesAll, scoped: true}
		},
		func() contender {
			return contender{name: "a Locality with turns inside", law: ownerInItsScope, scoped: true, needsKey: true,
				policy: must[*policy.Locality](t)(policy.NewLocality(policy.TopologyConfig{PanicOff: true}))}
		},
	}
}

// keyedContender returns one by name, to be made wrong.
func keyedContender(t *testing.T, name string) contender {
	list := keyedContenders(t)
	at := slices.IndexFunc(list, func(c contender) bool { return c.name == name })
	list[at].name = "a wrong " + name
	return list[at]
}
