package fuzz

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Cases: G24, H1, H2, H3, H6, H7, H8, H9, H10.
func FuzzHash(f *testing.F) {
	f.Add([]byte("customer-42"), "west", uint64(0), uint32(1))
	f.Add([]byte{0xff, 0}, "", uint64(math.MaxUint64), uint32(math.MaxUint32))
	f.Fuzz(func(t *testing.T, key []byte, id string, number uint64, w uint32) {
		// The streams, written out, through the standard library's FNV-1a.
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(key)))
		streams := map[string][]byte{
			"text":   append(bytes.Clone(key), 0xff),
			"bytes":  append(length, key...),
			"number": binary.LittleEndian.AppendUint64(nil, number),
			"none":   {},
		}
		for kind, k := range map[string]poise.Key{
			"text":   poise.StringKey(string(key)),
			"bytes":  poise.BytesKey(key),
			"number": poise.Uint64Key(number),
			"none":   {},
		} {
			if got := k.AppendStream(nil); !bytes.Equal(got, streams[kind]) {
				t.Fatalf("%s: the stream is %x, want %x", kind, got, streams[kind])
			}
			standard := fnv.New64a()
			standard.Write([]byte{0})
			standard.Write(streams[kind])
			standard.Write([]byte{1})
			standard.Write([]byte(id))
			standard.Write([]byte{0xff})
			if got := poise.FNVBasis.Byte(0).Key(k).Byte(1).String(id); uint64(got) != standard.Sum64() {
				t.Fatalf("%s: the hash is %x, want %x", kind, uint64(got), standard.Sum64())
			}
		}

		weight, err := poise.NewWeight(max(w, 1))
		if err != nil {
			t.Fatal(err)
		}
		mixed := poise.Mix64(number)
		for _, hash := range []uint64{number, mixed} {
			score := poise.Score(hash, weight)
			exact := -math.Log(float64(hash>>11+1)/(1<<53)) / float64(weight.Value())
			// The library's logarithm is within 5e-14, this one within an ulp of 37.
			if !(math.Abs(score-exact) <= (5e-14+1e-14)/float64(weight.Value())) {
				t.Fatalf("the score of %x is %v, want about %v", hash, score, exact)
			}
			if score < 0 || hash>>11 < 1<<53-1 && poise.Score(hash+1<<11, weight) > score {
				t.Fatalf("the score of %x is %v", hash, score)
			}
		}
		a, b := poise.Score(number, weight), poise.Score(mixed, weight)
		if got := poise.Less(a, number, b, mixed); got != (number > mixed) {
			t.Fatalf("equal weights: hash %x beats %x is %t", number, mixed, got)
		}
	})
}
