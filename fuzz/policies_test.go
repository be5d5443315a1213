package fuzz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

const (
	policyCandidates = 32  // at most
	policyActions    = 128 // at most
	policySeed       = 7   // of the policies that draw
)

// FuzzPolicies reads its input as a set of candidates and a list of actions: pick,
// change one, rotate, reverse, exclude, mark as tried, and so on. Every pick asks
// all policies. Most have a slow twin that is written from the contract, and the
// two must agree on the candidate and on the error. Those whose draws are not in
// the contract are held to laws, and to picking the same where the candidates that
// are not eligible are absent. Why must describe the pick.
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
	// Weights of 4, 2 and 2, one of them out for a while and another loaded; then
	// priorities, another life, and a load that overflows.
	{3, 0, 0, 0, 8, 0, 3, 8, 1, 1, 8, 2, 1, 0, 5, 97, 1, 5, 98, 0, 5, 99, 5, 0, 1, 5, 97, 5, 0, 1, 5, 97, 0, 5, 98, 1, 5, 99,
		2, 1, 0xf0, 1, 5, 98, 0, 5, 97, 0, 5, 99, 3, 1, 1, 5, 97, 4, 1, 5, 97, 9, 0, 6, 9, 1, 1, 1, 5, 97, 11, 0, 1, 5, 98,
		6, 0, 1, 5, 97, 1, 0, 8, 1, 7, 0, 5, 97, 8, 0, 6, 0, 5, 98, 10, 0, 1, 5, 97, 10, 1, 1, 5, 97, 1, 0},
	// Twelve alike, and the order of the list turned.
	{12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 97, 1, 5, 98, 0, 5, 99, 0, 5, 100, 0, 5, 101, 4, 1, 5, 97, 0, 5, 102, 0, 5, 103, 0, 5, 104},
	[]byte("\x1f the quick brown fox jumps over the lazy dog and goes on to the next one, and the next one"),
}

// policyWorld is the state that the actions change.
type policyWorld struct {
	input   []byte
	samples []poise.Sample
	leases  map[string][]*poise.Lease // by identity
	tried   *poise.Tried
}

// vast is a load of which two do not fit 64 bits.
type vast uint64

func (v vast) Load(time.Time) (uint64, error) { return uint64(v), nil }
func (v vast) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

// weights are what an action can set: small ones that share divisors, and those at
// the end of the range.
var weights = [...]uint32{1, 2, 3, 4, 6, 100, 1<<32 - 1, 1<<32 - 2}

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

func (w *policyWorld) load(i int) uint64 {
	load, _ := w.samples[i].Load.Load(time.Time{})
	return load
}

func (w *policyWorld) weight(i int) uint64 { return uint64(w.samples[i].Weight.Value()) }

// setLoad acquires or releases until candidate i holds so much. One of a vast load
// stays as it is.
func (w *policyWorld) setLoad(i, load int) error {
	tracker, ok := w.samples[i].Load.(*poise.InFlight)
	if !ok {
		return nil
	}
	held := w.leases[w.samples[i].ID]
	for len(held) < load {
		lease, err := tracker.Acquire()
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

// eligible lists the candidates that are.
func (w *policyWorld) eligible() []int {
	var eligible []int
	for i, s := range w.samples {
		if s.Status == poise.Ready && s.Excluded == poise.NotExcluded {
			eligible = append(eligible, i)
		}
	}
	return eligible
}

// open lists whom a pick may return, or the error that it must answer.
func (w *policyWorld) open() ([]int, error) {
	eligible := w.eligible()
	var open []int
	for _, i := range eligible {
		if s := &w.samples[i]; !w.tried.Has(s.ID, s.Incarnation) {
			open = append(open, i)
		}
	}
	switch {
	case len(w.samples) == 0:
		return nil, poise.ErrEmpty
	case len(eligible) == 0:
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
	action := w.next() % 12
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
	case 7:
		w.tried = nil
	default:
		return w.change(action, &w.samples[w.some()])
	}
	return nil
}

// change gives a candidate another weight, place, load or life.
func (w *policyWorld) change(action int, s *poise.Sample) (err error) {
	switch action {
	case 8:
		s.Weight, err = poise.NewWeight(weights[w.next()%len(weights)])
	case 9:
		b := uint32(w.next())
		s.Priority, s.Locality = b&3, fmt.Sprint("zone-", b>>2&3)
		s.LocalityWeight, err = poise.NewWeight(1 + b&15) // one for all of the place
	case 10:
		if _, ok := s.Load.(*poise.InFlight); ok {
			s.Load = vast(1<<63 - 1)
		} else {
			s.Load, w.leases[s.ID] = poise.NewInFlight(0), nil
		}
	default:
		s.Incarnation++
	}
	return err
}

// view is the View of the candidates at the indices.
func (w *policyWorld) view(indices []int) (*poise.View, error) {
	candidates := make([]poise.Candidate, len(indices))
	for k, i := range indices {
		candidates[k] = w.samples[i]
	}
	return poise.NewView(candidates)
}

// pickAll asks every contender once, on a View of this moment.
func (w *policyWorld) pickAll(contenders []contender, key poise.Key, stream []byte, explain bool) error {
	everybody := make([]int, len(w.samples))
	for i := range everybody {
		everybody[i] = i
	}
	v, err := w.view(everybody)
	if err != nil {
		return err
	}
	eligible, err := w.view(w.eligible())
	if err != nil {
		return err
	}
	open, refusal := w.open()
	for _, c := range contenders {
		q := poise.Query{Key: key, Tried: w.tried}
		if explain {
			q.Why = new(poise.Decision)
		}
		if err := c.compete(w, v, eligible, open, refusal, q, stream); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
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

// The target is worth nothing if a wrong policy agrees with its twin, or keeps the
// laws.
func TestFuzzPolicies_NoticesAWrongTwin(t *testing.T) {
	for _, c := range wrongContenders(t) {
		noticed := false
		for _, seed := range policySeeds {
			noticed = noticed || playPolicies(seed, []contender{c()}) != nil
		}
		if !noticed {
			t.Errorf("no seed tells %s from the right one", c().name)
		}
	}
}
