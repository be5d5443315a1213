package policy_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What picks and tables cost, counted and not timed. The benchmarks measure the rest.

// Cases: G8.
func TestEveryPolicy_AllocatesNothingWhateverTheKey(t *testing.T) {
	samples := risingWeights(t)(9)
	for i := range samples {
		samples[i].ID = strings.Repeat("an identity made at run time ", i+1)
		samples[i].Priority, samples[i].Locality = uint32(i%2), strings.Repeat("zone ", i%3)
	}
	for name, p := range every(t) {
		d := open(t, p, samples)
		for kind, key := range map[string]poise.Key{
			"text": poise.StringKey("k"), "long text": poise.StringKey(strings.Repeat("k", 1000)),
			"bytes": poise.BytesKey([]byte{1, 2, 3}), "long bytes": poise.BytesKey(make([]byte, 1000)),
			"number": poise.Uint64Key(1 << 63), "empty": poise.StringKey(""),
		} {
			for _, tried := range []*poise.Tried{nil, retried(samples, 0, 3)} {
				q := poise.Query{Key: key, Tried: tried, Why: new(poise.Decision)}
				if allocs := testing.AllocsPerRun(50, func() { d.pick(t, q) }); allocs != 0 {
					t.Errorf("%s, key of %s, %d tried: %v allocations a pick", name, kind, tried.Len(), allocs)
				}
			}
		}
	}
}

// meter is a load that counts how often anything reads it.
type meter struct{ reads *atomic.Int64 }

func (m meter) Load(time.Time) (uint64, error) { m.reads.Add(1); return 1, nil }
func (m meter) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

// Where a pick does not compare everybody, its work does not grow with their
// number, and the loads it reads are how that can be counted.
//
// Cases: E6.
func TestEveryPolicy_ReadsOnlyTheLoadsThatItCompares(t *testing.T) {
	for _, n := range []int{2, 8, 512} {
		var reads atomic.Int64
		samples := backends(n)
		for i := range samples {
			samples[i].Load = meter{&reads}
		}
		for name, p := range every(t) {
			want := int64(0)
			switch name {
			case "LeastLoaded", "BoundedLoadRendezvous":
				want = int64(n)
			case "PowerOfTwoChoices", "WeightedLeastRequest":
				want = 2
			}
			d := open(t, p, samples)
			for k := range uint64(20) {
				reads.Store(0)
				d.pick(t, poise.Query{Key: poise.Uint64Key(k)})
				if got := reads.Load(); got != want {
					t.Fatalf("%s over %d read %d loads, want %d", name, n, got, want)
				}
			}
		}
	}
}

// A table is made in one go: its members are not added one by one, each with
// another pass over all that is there.
//
// Cases: E7.
func TestTablePolicies_HashEachThingOnce(t *testing.T) {
	var hashed atomic.Int64
	count := func(stream []byte) uint64 {
		hashed.Add(1)
		return uint64(poise.FNVBasis.String(string(stream)))
	}
	for _, n := range []int{1, 64, 512} {
		for name, row := range map[string]struct {
			policy poise.Policy
			want   int64
		}{
			"RingHash": {newRingHash(t, policy.RingHashConfig{Hash: count, PointsPerWeight: 100}), int64(n * (100 + 1))},
			"Maglev":   {newMaglev(t, policy.MaglevConfig{Hash: count}), int64(n * 4)},
		} {
			for range 2 { // the second View finds the table made
				hashed.Store(0)
				open(t, row.policy, backends(n))
				if got := hashed.Load(); got != row.want {
					t.Errorf("%s over %d hashed %d times, want %d", name, n, got, row.want)
				}
				row.want = 0
			}
		}
	}
}
