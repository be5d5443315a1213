package poise_test

import (
	"math"
	"math/big"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

const precision = 256

func exactly(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }

// exp returns e^x far more exactly than a float64 can hold: the Taylor series of
// x/1024, squared ten times.
func exp(x *big.Float) *big.Float {
	small := new(big.Float).SetPrec(precision).Quo(x, exactly(1024))
	sum, term := exactly(1), exactly(1)
	for k := 1; k <= 40; k++ {
		term.Mul(term, small)
		term.Quo(term, exactly(float64(k)))
		sum.Add(sum, term)
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

// ln returns the natural logarithm of x: one step of Halley's method from the
// nearest float64, which triples its 52 good bits.
func ln(x *big.Float) *big.Float {
	near, _ := x.Float64()
	y := exactly(math.Log(near))
	e := exp(y)
	difference := new(big.Float).SetPrec(precision).Sub(x, e)
	sum := new(big.Float).SetPrec(precision).Add(x, e)
	return y.Add(y, difference.Mul(exactly(2), difference.Quo(difference, sum)))
}

// exactScore is -ln(((hash>>11)+1)/2^53).
func exactScore(hash uint64) *big.Float {
	sample := new(big.Float).SetPrec(precision).SetUint64(hash>>11 + 1)
	l := ln(sample.Quo(sample, exactly(1<<53)))
	return l.Neg(l)
}

func scoreError(hash uint64) float64 {
	difference := exactly(poise.Score(hash, poise.Weight{}))
	off, _ := difference.Sub(difference, exactScore(hash)).Float64()
	return math.Abs(off)
}

func TestLogarithmReference_KnowsTheLogarithmOfTwo(t *testing.T) {
	const digits = "0.693147180559945309417232121458176568075500134360255254120680"
	want, _, err := big.ParseFloat(digits, 10, precision, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	off, _ := new(big.Float).Sub(ln(exactly(2)), want).Float64()
	if math.Abs(off) > 1e-40 {
		t.Errorf("the reference is off by %g", off)
	}
}

// Cases: H9.
func TestScore_IsWithin5e14OfTheExactLogarithm(t *testing.T) {
	hashes := []uint64{0, 1, 0x0123456789abcdef, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	// The series is worst where the mantissa is nearly 2.
	for shift := range 53 {
		hashes = append(hashes, (uint64(1)<<shift-2)<<11, (uint64(1)<<shift-1)<<11)
	}
	generator := poise.NewGenerator(9)
	for range 300 {
		hashes = append(hashes, generator.Uint64()>>generator.Below(64))
	}
	for _, hash := range hashes {
		if off := scoreError(hash); !(off < 5e-14) {
			t.Errorf("Score(%016x) is off by %g", hash, off)
		}
	}
}

// Cases: H10.
func TestScore_NeverInvertsNeighbours(t *testing.T) {
	generator := poise.NewGenerator(10)
	for range 500_000 {
		hash := generator.Uint64()
		lower, higher := poise.Score(hash, poise.Weight{}), poise.Score(hash+1<<11, poise.Weight{})
		if hash>>11 < 1<<53-1 && higher > lower {
			t.Fatalf("Score(%016x) = %v is below its upper neighbour's %v", hash, lower, higher)
		}
	}
}
