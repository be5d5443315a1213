package poise_test

import (
	"math"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Weights are whole numbers, so that none is rounded to nothing.
//
// Cases: B06, W1, W2, E17.
func TestWeight_ZeroValueIsOneAndZeroIsRefused(t *testing.T) {
	if got := (poise.Weight{}).Value(); got != 1 {
		t.Errorf("the zero Weight is %d", got)
	}
	if mustWeight(t, 1) != (poise.Weight{}) {
		t.Error("NewWeight(1) is not the zero Weight")
	}
	w, err := poise.NewWeight(0)
	if w != (poise.Weight{}) {
		t.Errorf("beside the error there is %v", w)
	}
	requireFieldError(t, err, "Weight", uint32(0), poise.ErrInvalidWeight)
}

func TestWeight_HoldsTheEnds(t *testing.T) {
	for _, value := range []uint32{1, 2, math.MaxUint32 - 1, math.MaxUint32} {
		if got := mustWeight(t, value).Value(); got != value {
			t.Errorf("%d became %d", value, got)
		}
	}
	if got := mustWeight(t, math.MaxUint32).String(); got != "4294967295" {
		t.Errorf("the greatest reads %s", got)
	}
}
