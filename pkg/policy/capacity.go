package policy

import (
	"math"
	"math/bits"
)

// capacity returns ceil(percent·items·weight / (100·weights)), exact, or the
// largest number where that is larger. weight is at most weights.
//
// The product of the first three fits 128 bits. Dividing by 100 and then by
// weights, and rounding up both times, rounds up the whole.
func capacity(percent, weight uint32, items, weights uint64) uint64 {
	high, low := bits.Mul64(uint64(percent)*uint64(weight), items)
	high, low = ceilDiv(high, low, 100)
	high, low = ceilDiv(high, low, weights)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// ceilDiv returns the 128-bit quotient by a divisor, rounded up.
func ceilDiv(high, low, divisor uint64) (quotientHigh, quotientLow uint64) {
	quotientHigh, remainder := high/divisor, high%divisor
	quotientLow, remainder = bits.Div64(remainder, low, divisor)
	if remainder == 0 {
		return quotientHigh, quotientLow
	}
	var carry uint64
	quotientLow, carry = bits.Add64(quotientLow, 1, 0)
	return quotientHigh + carry, quotientLow
}
