package poise_test

import (
	"fmt"
	"math"
	"testing"
)

// A distribution test states the smallest bias it finds: it needs as many samples
// as make it notice, in 95 of 100 runs, a bin whose share is off by that much, and
// it complains of an unbiased bin once in about 10^11.
const (
	rejectSigmas = 6.8
	powerSigmas  = 1.645
)

// seeds are the seeds over which the samples of a distribution test are spread.
var seeds = []uint64{1, 7, 11, 19, 23, 101, 1009, 65537}

// samplesFor returns how many samples find a relative bias in a bin of share p.
func samplesFor(p, relative float64) int {
	q := p * (1 + relative)
	root := rejectSigmas*math.Sqrt(p*(1-p)) + powerSigmas*math.Sqrt(q*(1-q))
	return int(math.Ceil(1.02 * root * root / ((q - p) * (q - p))))
}

// checkShares returns why the counts do not show the shares, or "" if they do.
func checkShares(counts []int, shares []float64, relative float64) string {
	n, least := 0, 1.0
	for i, count := range counts {
		n += count
		least = min(least, shares[i])
	}
	if need := samplesFor(least, relative); n < need {
		return fmt.Sprintf("%d samples cannot show a bias of %g: %d can", n, relative, need)
	}
	for i, count := range counts {
		off := math.Abs(float64(count) - float64(n)*shares[i])
		if sigma := math.Sqrt(float64(n) * shares[i] * (1 - shares[i])); off >= rejectSigmas*sigma {
			return fmt.Sprintf("bin %d has %d of %d, %.1f sigmas off a share of %g", i, count, n, off/sigma, shares[i])
		}
	}
	return ""
}

// sampleShares spreads the samples over the seeds and requires the shares.
func sampleShares(t *testing.T, shares []float64, relative float64, draw func(seed uint64, samples int, counts []int)) {
	t.Helper()
	least := 1.0
	for _, p := range shares {
		least = min(least, p)
	}
	counts := make([]int, len(shares))
	each := samplesFor(least, relative)/len(seeds) + 1
	for _, seed := range seeds {
		draw(seed, each, counts)
	}
	if complaint := checkShares(counts, shares, relative); complaint != "" {
		t.Error(complaint)
	}
}

func even(n int) []float64 {
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = 1 / float64(n)
	}
	return shares
}

func TestSamplesFor_CoversTheIndependentRequirementByAtMostATenth(t *testing.T) {
	for _, row := range []struct {
		p, relative float64
		need        int
	}{
		{1.0 / 3, 0.01, 1_429_852},
		{1.0 / 4, 0.01, 2_146_569},
		{1.0 / 5, 0.01, 2_863_287},
		{1.0 / 10, 0.01, 6_446_873},
		{1.0 / 4, 0.02, 538_403},
	} {
		if got := samplesFor(row.p, row.relative); got < row.need || got > row.need+row.need/10 {
			t.Errorf("share %g, bias %g: %d samples, need %d", row.p, row.relative, got, row.need)
		}
	}
}

func TestCheckShares_RefusesTooFewSamples(t *testing.T) {
	n := samplesFor(0.5, 0.01)
	if checkShares([]int{n/2 - 1, n/2 - 1}, even(2), 0.01) == "" {
		t.Error("too few samples were believed")
	}
}

func TestCheckShares_FindsTwiceTheBiasItClaimsToFind(t *testing.T) {
	n := 2 * samplesFor(0.25, 0.01)
	skewed := int(float64(n) * 0.25 * 1.02)
	rest := (n - skewed) / 3
	if checkShares([]int{skewed, rest, rest, rest}, even(4), 0.01) == "" {
		t.Error("a skewed bin was believed")
	}
	if got := checkShares([]int{n / 4, n / 4, n / 4, n / 4}, even(4), 0.01); got != "" {
		t.Errorf("even bins were refused: %s", got)
	}
}
