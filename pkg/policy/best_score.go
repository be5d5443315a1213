package policy

import (
	"cmp"
	"math"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// bestScore finds the best of many (score, hash) pairs, as poise.Score and
// poise.Less have it and shares.before for equal pairs, with few logarithms. The
// zero value is not the beginning; newBestScore is.
type bestScore struct {
	position int
	hash     uint64
	score    float64
	// limit is the score in the scale of hopeless.
	limit float64
}

func newBestScore() bestScore {
	return bestScore{score: math.Inf(1), limit: math.Inf(1)}
}

// scale is 2^53: scores times scale are compared with 2^53·(1-u).
const scale = 1 << 53

// hopeless reports that a challenger's score is sure to be worse than the best so
// far, without its logarithm. inverse is one over its weight.
//
// With u the sample of the hash, the score is -ln(u)/weight, and -ln(u) >= 1-u.
// The low 53 bits of the complement of hash>>11 are 2^53·(1-u), exactly.
//
// For all but u = 1, where both are 0, the score exceeds the bound by more than a
// 2^24th part, which is far more than rounding: by half of 1-u, and where that is
// less, by what the series of poise.Score cuts off.
func (c *bestScore) hopeless(hash uint64, inverse float64) bool {
	return float64(float64(int64(^hash>>11))*inverse) > c.limit
}

// losesTo reports whether the challenger is better than the best so far.
func (c *bestScore) losesTo(position int, hash uint64, score float64, of *shares) bool {
	if score != c.score || hash != c.hash {
		return poise.Less(score, hash, c.score, c.hash)
	}
	return of.before(position, c.position)
}

// enter takes the challenger if it is better, and reports whether it is.
func (c *bestScore) enter(position int, hash uint64, score float64, of *shares) bool {
	if !c.losesTo(position, hash, score, of) {
		return false
	}
	*c = bestScore{position, hash, score, score * scale}
	return true
}

// shares are the weights of the eligible candidates, in the order of the View, in
// the two forms of a bestScore, and their identities, which decide last.
type shares struct {
	weights  []poise.Weight
	inverses []float64
	ids      []string
}

// sharesOf returns the shares of the eligible candidates, whose identities are ids.
func sharesOf(v *poise.View, ids []string) shares {
	n := v.EligibleLen()
	s := shares{make([]poise.Weight, n), make([]float64, n), ids}
	for position := range n {
		sample, _ := v.Sample(v.Eligible(position)) // in range
		s.weights[position] = sample.Weight
		s.inverses[position] = 1 / float64(sample.Weight.Value())
	}
	return s
}

// before reports whether the candidate at position a precedes that at b where their
// hashes are equal. A score of 0, that of the 2^11 highest hashes, is the same for
// every weight, so the weights are asked before the identities.
func (s *shares) before(a, b int) bool {
	if s.weights[a] != s.weights[b] {
		return s.weights[a].Value() > s.weights[b].Value()
	}
	return s.ids[a] < s.ids[b]
}

// compare orders by score, hash, weight and identity, the best first.
func (s *shares) compare(a, b rank) int {
	scoreA, scoreB := poise.Score(a.hash, s.weights[a.position]), poise.Score(b.hash, s.weights[b.position])
	switch {
	case poise.Less(scoreA, a.hash, scoreB, b.hash):
		return -1
	case poise.Less(scoreB, b.hash, scoreA, a.hash):
		return 1
	}
	return cmp.Or(
		cmp.Compare(s.weights[b.position].Value(), s.weights[a.position].Value()),
		strings.Compare(s.ids[a.position], s.ids[b.position]))
}
