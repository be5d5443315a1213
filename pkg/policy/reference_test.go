package policy_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// A twin is a policy once more: slow, plain, and written from the contract alone.
// It sees the samples, not the View.
type twin interface {
	pick(*situation) (int, error)
}

// situation is everything that a pick may depend on.
type situation struct {
	samples []poise.Sample
	loads   []uint64
	stream  []byte // what the key is hashed by
	tried   map[string]bool
}

// open lists the candidates that may be picked, or says why there are none.
func (s *situation) open() ([]int, error) {
	var eligible, left []int
	for i, sample := range s.samples {
		if sample.Status == poise.Ready && sample.Excluded == poise.NotExcluded {
			eligible = append(eligible, i)
			if !s.tried[sample.ID] {
				left = append(left, i)
			}
		}
	}
	switch {
	case len(s.samples) == 0:
		return nil, poise.ErrEmpty
	case len(eligible) == 0:
		return nil, poise.ErrNoEligible
	case len(left) == 0:
		return nil, poise.ErrAllTried
	}
	return left, nil
}

// roundOf lists the indices once round from the cursor.
func (s *situation) roundOf(cursor uint64) []int {
	n := uint64(len(s.samples))
	round := make([]int, n)
	for k := range round {
		round[k] = int((cursor%n + uint64(k)) % n)
	}
	return round
}

type roundRobinTwin struct{ cursor uint64 }

func (r *roundRobinTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	for _, i := range s.roundOf(r.cursor) {
		if slices.Contains(left, i) {
			r.cursor = uint64(i) + 1
			return i, nil
		}
	}
	panic("someone is left and was not met going round")
}

type leastLoadedTwin struct{ cursor uint64 }

func (l *leastLoadedTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	best := -1
	for _, i := range s.roundOf(l.cursor) {
		if slices.Contains(left, i) && (best < 0 || s.loads[i] < s.loads[best]) {
			best = i
		}
	}
	l.cursor = uint64(best) + 1
	return best, nil
}

type randomTwin struct{ chance *poise.Generator }

func (r *randomTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	return left[r.chance.Below(uint64(len(left)))], nil
}

type powerOfTwoChoicesTwin struct{ chance *poise.Generator }

func (p *powerOfTwoChoicesTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	if len(left) == 1 {
		return left[0], nil
	}
	first, second := p.chance.Pair(uint64(len(left)))
	a, b := left[first], left[second]
	if s.loads[b] < s.loads[a] {
		return b, nil
	}
	return a, nil
}

type rendezvousTwin struct{}

func (rendezvousTwin) pick(s *situation) (int, error) {
	left, err := s.open()
	if err != nil {
		return -1, err
	}
	best, highest := -1, uint64(0)
	for _, i := range left {
		if hash := rendezvousHash(s.stream, s.samples[i].ID); best < 0 || hash > highest || hash == highest && s.samples[i].ID < s.samples[best].ID {
			best, highest = i, hash
		}
	}
	return best, nil
}

func textStream(s string) []byte { return append([]byte(s), 0xff) }

func numberStream(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// rendezvousStream is the byte stream that decides how a key and an identity newKeyHasher.
func rendezvousStream(key []byte, id string) []byte {
	return slices.Concat([]byte{0}, key, []byte{1}, []byte(id), []byte{0xff})
}

// rendezvousHash is the hash of that stream, by the standard library's FNV.
func rendezvousHash(key []byte, id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(rendezvousStream(key, id))
	v := h.Sum64()
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// statusGen, with Ready more often than not.
var statusGen = rapid.SampledFrom([]poise.Status{poise.Ready, poise.Ready, poise.Ready, poise.Draining, poise.Unavailable})

// drawSamples draws up to 16 candidates, with loads that often tie.
func drawSamples(t *rapid.T) ([]poise.Sample, []uint64) {
	n := rapid.IntRange(0, 16).Draw(t, "candidates")
	first := rapid.IntRange(0, 3).Draw(t, "first name")
	largest := rapid.SampledFrom([]uint64{0, 2, 10_000}).Draw(t, "largest load")
	samples, loads := make([]poise.Sample, n), make([]uint64, n)
	for i := range samples {
		loads[i] = rapid.Uint64Range(0, largest).Draw(t, "load")
		samples[i] = poise.Sample{
			ID:     fmt.Sprintf("backend-%d", first+i),
			Status: statusGen.Draw(t, "status"),
			Load:   fixed(loads[i]),
		}
		if rapid.IntRange(0, 5).Draw(t, "excluded") == 0 {
			samples[i].Excluded = poise.ExcludedCircuitOpen
		}
		if loads[i] <= 2 && rapid.Bool().Draw(t, "in flight") {
			samples[i].Load = holding(t, loads[i])
		}
	}
	return samples, loads
}

// drawQuery draws a query, and the situation that the twin sees.
func drawQuery(t *rapid.T, samples []poise.Sample, loads []uint64) (poise.Query, *situation) {
	s := &situation{samples: samples, loads: loads, tried: map[string]bool{}}
	q := poise.Query{Now: time.Unix(1, 0)}
	if rapid.Bool().Draw(t, "text") {
		text := rapid.StringN(0, 12, -1).Draw(t, "key")
		q.Key, s.stream = poise.StringKey(text), textStream(text)
	} else {
		number := rapid.Uint64().Draw(t, "key")
		q.Key, s.stream = poise.Uint64Key(number), numberStream(number)
	}
	if rapid.Bool().Draw(t, "why") {
		q.Why = new(poise.Decision)
	}
	if rapid.Bool().Draw(t, "retry") {
		q.Tried = new(poise.Tried)
		for _, sample := range samples {
			if rapid.Bool().Draw(t, "tried") {
				s.tried[sample.ID] = true
				q.Tried.Add(sample.ID, 0)
			}
		}
	}
	return q, s
}

// checkTwin asks the policy and its twin the same, over several Views and with
// what each keeps between picks.
func checkTwin(t *testing.T, with func(seed uint64, t *rapid.T) (poise.Policy, twin)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		p, slow := with(rapid.Uint64Min(1).Draw(t, "seed"), t)
		for range rapid.IntRange(1, 4).Draw(t, "views") {
			samples, loads := drawSamples(t)
			d := open(t, p, samples)
			for range rapid.IntRange(1, 12).Draw(t, "picks") {
				q, s := drawQuery(t, samples, loads)
				got, err := d.try(q)
				want, wantErr := slow.pick(s)
				if got != want || err != wantErr {
					t.Fatalf("picked %d (%v), the twin %d (%v)", got, err, want, wantErr)
				}
			}
		}
	})
}

func TestRoundRobin_PicksAsItsSlowTwin(t *testing.T) {
	checkTwin(t, func(seed uint64, t *rapid.T) (poise.Policy, twin) {
		return newRoundRobin(t, seed), &roundRobinTwin{poise.Mix64(seed)}
	})
}

func TestLeastLoaded_PicksAsItsSlowTwin(t *testing.T) {
	checkTwin(t, func(uint64, *rapid.T) (poise.Policy, twin) { return new(policy.LeastLoaded), new(leastLoadedTwin) })
}

// Claim: Random takes one bounded draw a pick.
func TestRandom_PicksAsItsSlowTwin(t *testing.T) {
	checkTwin(t, func(seed uint64, t *rapid.T) (poise.Policy, twin) {
		return newRandom(t, seed), &randomTwin{poise.NewGenerator(seed)}
	})
}

func TestPowerOfTwoChoices_PicksAsItsSlowTwin(t *testing.T) {
	checkTwin(t, func(seed uint64, t *rapid.T) (poise.Policy, twin) {
		return newPowerOfTwoChoices(t, seed), &powerOfTwoChoicesTwin{poise.NewGenerator(seed)}
	})
}

// Claim: Rendezvous picks the candidate with the highest Mix64 of the hash of 0, the key, 1 and the identity; of equal ones the lesser identity.
func TestRendezvous_PicksAsItsSlowTwin(t *testing.T) {
	checkTwin(t, func(uint64, *rapid.T) (poise.Policy, twin) { return new(policy.Rendezvous), rendezvousTwin{} })
}
