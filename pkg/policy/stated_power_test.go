package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Distribution tests say which bias they would see, and take as many samples as
// that needs.
//
// A count is rejected beyond rejection standard deviations of the unbiased
// binomial (two-sided about 1e-11 a bin, so that no run fails by chance). The
// sample is so large that a bin whose probability is p(1+relative) instead of p is
// rejected with 95 %.
const (
	rejection = 6.8
	power     = 1.645 // normal quantile of 95 %
	margin    = 1.02
)

// seedSweep are the seeds over which distribution tests repeat.
var seedSweep = []uint64{1, 7, 11, 19, 23, 101, 1009, 65537}

// sampleSize returns how many samples show a bin of probability p(1+relative).
func sampleSize(p, relative float64) int {
	q := p * (1 + relative)
	root := rejection*math.Sqrt(p*(1-p)) + power*math.Sqrt(q*(1-q))
	return int(math.Ceil(margin * root * root / ((q - p) * (q - p))))
}

// checkShares reports counts that are not those of equally likely bins, and a
// sample that is too small to show the relative bias.
func checkShares(counts []int, relative float64) error {
	return checkProportions(counts, slices.Repeat([]uint32{1}, len(counts)), relative)
}

// checkProportions reports counts that are not in proportion to the weights, and
// a sample that is too small to show the relative bias in the least likely bin.
func checkProportions[W uint32 | float64](counts []int, weights []W, relative float64) error {
	n, total := 0, 0.0
	for i, count := range counts {
		n += count
		total += float64(weights[i])
	}
	if need := sampleSize(float64(slices.Min(weights))/total, relative); n < need {
		return fmt.Errorf("%d samples cannot show a bias of %v among %v: it takes %d", n, relative, weights, need)
	}
	for i, count := range counts {
		p := float64(weights[i]) / total
		sigma := math.Sqrt(float64(n) * p * (1 - p))
		if deviation := (float64(count) - float64(n)*p) / sigma; math.Abs(deviation) >= rejection {
			return fmt.Errorf("bin %d of %v got %d of %d: %.1f sigma", i, weights, count, n, deviation)
		}
	}
	return nil
}

func TestStatedPower_RejectsAnUndersizedSample(t *testing.T) {
	n := sampleSize(1.0/4, 0.01)
	for _, total := range []int{4, n / 2, n - 4} {
		quarter := total / 4
		if checkShares([]int{quarter, quarter, quarter, quarter}, 0.01) == nil {
			t.Errorf("%d perfectly even samples pass, of %d that are needed", 4*quarter, n)
		}
	}
	quarter := n/4 + 1
	if err := checkShares([]int{quarter, quarter, quarter, quarter}, 0.01); err != nil {
		t.Errorf("an even sample of the needed size is rejected: %v", err)
	}
}

func TestStatedPower_RejectsABiasJustTooLarge(t *testing.T) {
	quarter := 2 * sampleSize(1.0/4, 0.01) / 4
	skewed := func(relative float64) []int {
		more := int(float64(quarter) * relative)
		return []int{quarter + more, quarter - more, quarter, quarter}
	}
	if checkShares(skewed(0.02), 0.01) == nil {
		t.Error("a bias of 2 % passes a test that claims to see 1 %")
	}
	if err := checkShares(skewed(0.001), 0.01); err != nil {
		t.Errorf("a bias of a tenth of what is claimed is rejected: %v", err)
	}
}

// The requirements were derived apart from sampleSize, without its margin.
func TestStatedPower_SizesAreWhatTheBiasNeeds(t *testing.T) {
	for _, row := range []struct {
		p, relative       float64
		requirement, want int
	}{
		{1.0 / 3, 0.01, 1_429_852, 1_456_290},
		{1.0 / 4, 0.01, 2_146_569, 2_185_148},
		{1.0 / 5, 0.01, 2_863_287, 2_914_006},
		{1.0 / 10, 0.01, 6_446_873, 6_558_297},
		{1.0 / 4, 0.02, 538_403, 546_983},
	} {
		got := sampleSize(row.p, row.relative)
		if got < row.requirement || float64(got) > 1.1*float64(row.requirement) {
			t.Errorf("p %v, bias %v: %d samples, needed %d", row.p, row.relative, got, row.requirement)
		}
		if diff := got - row.want; diff < -1 || diff > 1 {
			t.Errorf("p %v, bias %v: %d samples, want %d", row.p, row.relative, got, row.want)
		}
	}
}

func TestStatedPower_OfProportionsSeesWhatItClaims(t *testing.T) {
	weights := []uint32{1, 3}
	quarter := sampleSize(1.0/4, 0.01)/4 + 1
	if err := checkProportions([]int{quarter, 3 * quarter}, weights, 0.01); err != nil {
		t.Errorf("exact proportions of the needed size are rejected: %v", err)
	}
	if checkProportions([]int{quarter / 2, 3 * quarter / 2}, weights, 0.01) == nil {
		t.Error("half of the needed sample passes")
	}
	more := quarter / 25
	if checkProportions([]int{2*quarter + more, 6*quarter - more}, weights, 0.01) == nil {
		t.Error("a bias of 2 % passes a test that claims to see 1 %")
	}
	if checkProportions([]int{2 * quarter, 2 * quarter}, weights, 0.01) == nil {
		t.Error("equal shares pass for 1 to 3")
	}
}
