package policy

import (
	"math"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// bestScore finds the best of many (score, hash) pairs, as poise.Score and
// poise.Less have it, with few logarithms. The zero value is not the beginning;
// newBestScore is.
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

// enter takes the challenger if it is better, and reports whether it is.
func (c *bestScore) enter(position int, hash uint64, score float64) bool {
	if !poise.Less(score, hash, c.score, c.hash) {
		return false
	}
	*c = bestScore{position, hash, score, score * scale}
	return true
}

// shares are the weights of the eligible candidates, in the order of the View, in
// the two forms of a bestScore.
type shares struct {
	weights  []poise.Weight
	inverses []float64
}

func sharesOf(v *poise.View) shares {
	n := v.EligibleLen()
	s := shares{make([]poise.Weight, n), make([]float64, n)}
	for position := range n {
		sample, _ := v.Sample(v.Eligible(position)) // in range
		s.weights[position] = sample.Weight
		s.inverses[position] = 1 / float64(sample.Weight.Value())
	}
	return s
}

// compare orders by score and hash, the best first.
func (s shares) compare(a, b rank) int {
	scoreA, scoreB := poise.Score(a.hash, s.weights[a.position]), poise.Score(b.hash, s.weights[b.position])
	switch {
	case poise.Less(scoreA, a.hash, scoreB, b.hash):
		return -1
	case poise.Less(scoreB, b.hash, scoreA, a.hash):
		return 1
	}
	return 0
}
