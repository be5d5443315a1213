package poise

import (
	"math"
	"math/bits"
)

// FNV is the running state of the 64-bit FNV-1a hash. It is a plain value: each
// method returns the state after more bytes, so a common beginning is hashed once
// and continued many times.
//
// The byte streams, their order and [Mix64] are a compatibility contract: the
// same key over the same identities picks the same backend in every version, on
// every CPU, and in the Rust sibling. FNV is not keyed; a caller who faces
// hostile keys gives the policy a keyed hash instead.
//
// The zero value is not the beginning; FNVBasis is.
type FNV uint64

// FNVBasis is the state before any byte.
const FNVBasis FNV = 0xcbf29ce484222325

const fnvPrime = 0x100000001b3

// Byte continues with one byte.
func (h FNV) Byte(b byte) FNV { return (h ^ FNV(b)) * fnvPrime }

// Raw continues with the bytes of s and nothing else.
func (h FNV) Raw(s string) FNV {
	for i := 0; i < len(s); i++ {
		h = (h ^ FNV(s[i])) * fnvPrime
	}
	return h
}

// String continues with the bytes of s and the terminator 0xff, which no UTF-8
// text holds, so that "ab","c" and "a","bc" differ.
func (h FNV) String(s string) FNV { return h.Raw(s).Byte(0xff) }

// Uint64 continues with the eight bytes of v, little-endian.
func (h FNV) Uint64(v uint64) FNV {
	for range 8 {
		h = h.Byte(byte(v))
		v >>= 8
	}
	return h
}

// Key continues with the stream of k: text and 0xff, or the length as eight bytes
// and the bytes, or the eight bytes of a number. No key adds nothing.
func (h FNV) Key(k Key) FNV {
	switch k.kind {
	case keyString:
		s, i := k.text, 0
		for ; i < len(s)-3; i += 4 { // so there is less to do beside the products
			h = (h ^ FNV(s[i])) * fnvPrime
			h = (h ^ FNV(s[i+1])) * fnvPrime
			h = (h ^ FNV(s[i+2])) * fnvPrime
			h = (h ^ FNV(s[i+3])) * fnvPrime
		}
		return h.String(s[i:])
	case keyBytes:
		return h.Uint64(uint64(len(k.text))).Raw(k.text)
	case keyUint64:
		return h.Uint64(k.number)
	}
	return h
}

// Mix64 spreads every bit of v over the whole result. It is a bijection: the
// finalizer that SplitMix64 uses (Stafford's variant 13 of MurmurHash3's).
func Mix64(v uint64) uint64 {
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9
	v = (v ^ (v >> 27)) * 0x94d049bb133111eb
	return v ^ (v >> 31)
}

// Score turns a mixed hash and a weight into the figure by which weighted
// rendezvous compares: the smaller wins. It is -ln(u)/weight for u the top 53
// bits of hash plus one, over 2^53; so a candidate's chance to be smallest is in
// proportion to its weight. The result is never NaN; its bits are the same on
// every CPU, and its error against the exact logarithm is below 5e-14.
func Score(hash uint64, w Weight) float64 { return -unitLog(hash) / float64(w.Value()) }

// unitLog is the natural logarithm of ((hash>>11)+1)/2^53, by thirteen terms of
// the series of 2·artanh. Each step is rounded on its own: the float64
// conversions forbid a CPU to fuse a product with a sum.
func unitLog(hash uint64) float64 {
	sample := hash>>11 + 1
	exponent := 63 - bits.LeadingZeros64(sample)
	mantissa := float64(sample) / float64(uint64(1)<<exponent) // exact, in [1,2)
	z := float64(mantissa-1) / float64(mantissa+1)
	square := float64(z * z)
	term, sum := z, 0.0
	for i := range 13 {
		sum = float64(sum + float64(term/float64(2*i+1)))
		term = float64(term * square)
	}
	return float64(float64(2*sum) - float64(float64(53-exponent)*math.Ln2))
}

// Less reports whether a challenger's (score, hash) beats the holder's: smaller
// score first, then larger hash. Equal pairs do not beat.
func Less(challenger float64, challengerHash uint64, holder float64, holderHash uint64) bool {
	if challenger != holder {
		return challenger < holder
	}
	return challengerHash > holderHash
}
