package fuzz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

const (
	policyCandidates = 32  // at most
	policyActions    = 128 // at most
	policySeed       = 7   // of the policies that draw
)

// FuzzPolicies reads its input as a set of candidates and a list of actions: pick,
// change one, rotate, reverse, exclude, mark as tried. Every pick asks all five
// policies, each beside a slow twin that is written from the contract; the two
// must agree on the candidate and on the error, and Why must describe the pick.
func FuzzPolicies(f *testing.F) {
	for _, seed := range policySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := playPolicies(input, contenders(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// policySeeds reach every action; the committed corpus adds to them.
var policySeeds = [][]byte{
	{},
	{0, 0, 0, 0},
	{3, 0, 1, 2, 3, 4, 5, 0, 0, 9, 0, 1, 9, 1, 2, 9, 2, 3, 9},
	{5, 0, 0, 16, 0, 32, 1, 3, 6, 2, 0, 0, 1, 5, 1, 0, 0, 5, 2, 0, 0, 3, 0, 0, 4, 0, 0, 7, 7, 5, 5, 5, 5},
	[]byte("\x1f the quick brown fox jumps over the lazy dog and goes on to the next one, and the next one"),
}

// contender is a policy and its twin.
type contender struct {
	name   string
	policy poise.Policy
	twin   policyTwin
}

// policyTwin picks among the candidates at the open indices, of which there is at
// least one.
type policyTwin func(w *policyWorld, open []int, key []byte) (int, error)

func contenders(t *testing.T) []contender {
	random, err := policy.NewRandom(policy.RandomConfig{Seed: policySeed})
	if err != nil {
		t.Fatal(err)
	}
	two, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: policySeed})
	if err != nil {
		t.Fatal(err)
	}
	return []contender{
		{"RoundRobin", new(policy.RoundRobin), roundRobinTwin()},
		{"Random", random, randomTwin()},
		{"LeastLoaded", new(policy.LeastLoaded), leastLoadedTwin()},
		{"PowerOfTwoChoices", two, powerOfTwoChoicesTwin()},
		{"Rendezvous", new(policy.Rendezvous), rendezvousTwin},
	}
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

func leastLoadedTwin() policyTwin {
	cursor := 0
	return func(w *policyWorld, open []int, _ []byte) (int, error) {
		i := slices.MinFunc(w.goingRound(open, cursor), func(a, b int) int {
			return int(w.load(a)) - int(w.load(b))
		})
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

func rendezvousTwin(w *policyWorld, open []int, key []byte) (int, error) {
	if key == nil {
		return -1, poise.ErrNoKey
	}
	best, highest := -1, uint64(0)
	for _, i := range open {
		h := fnv.New64a()
		_, _ = h.Write(slices.Concat([]byte{0}, key, []byte{1}, []byte(w.samples[i].ID), []byte{0xff}))
		if hash := poise.Mix64(h.Sum64()); best < 0 || hash > highest {
			best, highest = i, hash
		}
	}
	return best, nil
}

// policyWorld is the state that the actions change.
type policyWorld struct {
	input   []byte
	samples []poise.Sample
	leases  map[string][]*poise.Lease // by identity
	tried   *poise.Tried
}

// next takes one byte of the input, 0 past its end.
func (w *policyWorld) next() int {
	if len(w.input) == 0 {
		return 0
	}
	b := w.input[0]
	w.input = w.input[1:]
	return int(b)
}

// some takes a byte for the index of a candidate, of which there is one.
func (w *policyWorld) some() int { return w.next() % len(w.samples) }

func (w *policyWorld) load(i int) uint64 { return uint64(len(w.leases[w.samples[i].ID])) }

// setLoad acquires or releases until candidate i holds so much.
func (w *policyWorld) setLoad(i, load int) error {
	held := w.leases[w.samples[i].ID]
	for len(held) < load {
		lease, err := w.samples[i].Load.(*poise.InFlight).Acquire()
		if err != nil {
			return err
		}
		held = append(held, &lease)
	}
	for len(held) > load {
		if last := len(held) - 1; !held[last].Release() {
			return errors.New("a lease was released before")
		} else {
			held = held[:last]
		}
	}
	w.leases[w.samples[i].ID] = held
	return nil
}

// set gives candidate i the status, exclusion and load that one byte says.
func (w *policyWorld) set(i int) error {
	b := w.next()
	s := &w.samples[i]
	s.Status = []poise.Status{poise.Ready, poise.Ready, poise.Draining, poise.Unavailable}[b&3]
	s.Excluded = poise.NotExcluded
	if b&12 == 12 {
		s.Excluded = poise.ExcludedCircuitOpen
	}
	return w.setLoad(i, b>>4)
}

// open lists whom a pick may return, or the error that it must answer.
func (w *policyWorld) open() ([]int, error) {
	var open []int
	eligible := 0
	for i, s := range w.samples {
		if s.Status != poise.Ready || s.Excluded != poise.NotExcluded {
			continue
		}
		eligible++
		if !w.tried.Has(s.ID, s.Incarnation) {
			open = append(open, i)
		}
	}
	switch {
	case len(w.samples) == 0:
		return nil, poise.ErrEmpty
	case eligible == 0:
		return nil, poise.ErrNoEligible
	case len(open) == 0:
		return nil, poise.ErrAllTried
	}
	return open, nil
}

// key reads a key and the bytes that it is hashed by; nil for none.
func (w *policyWorld) key() (poise.Key, []byte) {
	kind := w.next()
	text := make([]byte, kind>>2&7)
	for i := range text {
		text[i] = byte(w.next())
	}
	switch kind & 3 {
	case 0:
		return poise.Key{}, nil
	case 1:
		return poise.StringKey(string(text)), append(text, 0xff)
	case 2:
		return poise.BytesKey(text), append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	}
	number := uint64(w.next()) * 0x9e3779b97f4a7c15
	return poise.Uint64Key(number), binary.LittleEndian.AppendUint64(nil, number)
}

// playPolicies plays the input to the contenders and returns the first
// disagreement.
func playPolicies(input []byte, contenders []contender) error {
	w := &policyWorld{input: input, leases: map[string][]*poise.Lease{}}
	w.samples = make([]poise.Sample, w.next()%(policyCandidates+1))
	for i := range w.samples {
		w.samples[i].ID = fmt.Sprintf("backend-%d", i)
		w.samples[i].Load = poise.NewInFlight(0)
		if err := w.set(i); err != nil {
			return err
		}
	}
	for step := 0; step < policyActions && len(w.input) > 0; step++ {
		if err := w.act(contenders); err != nil {
			return fmt.Errorf("action %d: %w", step, err)
		}
	}
	return nil
}

// act takes one action from the input.
func (w *policyWorld) act(contenders []contender) error {
	action := w.next() % 8
	if len(w.samples) == 0 || action < 2 {
		key, stream := w.key()
		return w.pickAll(contenders, key, stream, action == 1)
	}
	switch action {
	case 2:
		return w.set(w.some())
	case 3:
		at := w.some()
		w.samples = slices.Concat(w.samples[at:], w.samples[:at])
	case 4:
		slices.Reverse(w.samples)
	case 5:
		s := &w.samples[w.some()]
		s.Excluded ^= poise.ExcludedOutlier
		if s.Excluded != poise.ExcludedOutlier {
			s.Excluded = poise.NotExcluded
		}
	case 6:
		if w.tried == nil {
			w.tried = new(poise.Tried)
		}
		i := w.next()
		s := w.samples[i%len(w.samples)]
		w.tried.Add(s.ID, s.Incarnation+uint64(i>>7)) // half of them another life
	default:
		w.tried = nil
	}
	return nil
}

// pickAll asks every contender once, on a View of this moment.
func (w *policyWorld) pickAll(contenders []contender, key poise.Key, stream []byte, explain bool) error {
	candidates := make([]poise.Candidate, len(w.samples))
	for i := range candidates {
		candidates[i] = w.samples[i]
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		return err
	}
	open, refusal := w.open()
	for _, c := range contenders {
		picker, err := c.policy.Prepare(v)
		if err != nil {
			return fmt.Errorf("%s: Prepare: %w", c.name, err)
		}
		want, wantErr := -1, refusal
		if refusal == nil {
			want, wantErr = c.twin(w, open, stream)
		}
		q := poise.Query{Key: key, Tried: w.tried}
		if explain {
			q.Why = new(poise.Decision)
		}
		got := -1
		selection, pickErr := picker.Pick(q)
		if pickErr == nil {
			if got, err = v.Index(selection); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if got != want || pickErr != wantErr {
			return fmt.Errorf("%s picked %d (%v), its twin %d (%v)", c.name, got, pickErr, want, wantErr)
		}
		if explain {
			if err := checkDecision(v, q.Why, got, pickErr, len(open)); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// checkDecision compares what a pick said with what it did.
func checkDecision(v *poise.View, d *poise.Decision, index int, err error, left int) error {
	switch {
	case d.View != v || d.Policy == "" || d.Chosen != index || d.Err != err:
	case (d.Rule == poise.RuleNone) != (err != nil):
	case d.Tried != v.EligibleLen()-left || d.Considered > left:
	case d.ComparedLen > 0 && d.Compared[0].Index != index:
	case d.String() == "":
	default:
		return nil
	}
	return fmt.Errorf("picked %d (%v) and said %+v", index, err, *d)
}

// The target is worth nothing if a wrong policy agrees with its twin.
func TestFuzzPolicies_NoticesAWrongTwin(t *testing.T) {
	wrong := []contender{
		{"a LeastLoaded that never rotates", new(policy.LeastLoaded), func(w *policyWorld, open []int, _ []byte) (int, error) {
			return slices.MinFunc(open, func(a, b int) int { return int(w.load(a)) - int(w.load(b)) }), nil
		}},
		{"a RoundRobin that counts turns", new(policy.RoundRobin), func() policyTwin {
			turn := -1
			return func(_ *policyWorld, open []int, _ []byte) (int, error) {
				turn++
				return open[turn%len(open)], nil
			}
		}()},
		{"a Rendezvous that takes no key for an empty one", new(policy.Rendezvous), func(w *policyWorld, open []int, key []byte) (int, error) {
			return rendezvousTwin(w, open, append([]byte{}, key...))
		}},
	}
	for _, c := range wrong {
		noticed := false
		for _, seed := range policySeeds {
			noticed = noticed || playPolicies(seed, []contender{c}) != nil
		}
		if !noticed {
			t.Errorf("no seed tells %s from its twin", c.name)
		}
	}
}
