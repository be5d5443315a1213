package policy_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// The fixtures of the benchmarks: candidate i has weight 1 + i mod 4, i mod 17
// requests in flight, priority i mod 3 and the locality of its priority; keys come
// from a list of 997, which shares no factor with the sizes.
var (
	benchmarkSizes    = []int{8, 64, 512, 4096}
	benchmarkEligible = []int{100, 50, 1} // percent
)

const benchmarkKeys = 997

// benchmarkSamples returns n candidates, of which so many percent are eligible,
// evenly spread, and at least one.
func benchmarkSamples(b *testing.B, n, percent int) []poise.Sample {
	b.Helper()
	samples := make([]poise.Sample, n)
	for i := range samples {
		samples[i] = poise.Sample{
			ID:       fmt.Sprintf("backend-%04d", i),
			Weight:   weightOf(b, uint32(1+i%4)),
			Load:     holding(b, uint64(i%17)),
			Priority: uint32(i % 3), Locality: fmt.Sprint("zone-", i%3),
		}
		if i > 0 && i*percent/100 == (i-1)*percent/100 {
			samples[i].Status = poise.Unavailable
		}
	}
	return samples
}

func benchmarkQueries() []poise.Query {
	queries := make([]poise.Query, benchmarkKeys)
	for k := range queries {
		queries[k] = text(fmt.Sprintf("request-%05d", k))
	}
	return queries
}

// benchmarkPolicies returns one of each policy with its defaults, by name. For more
// than 512 candidates the ring is given the points that it needs.
func benchmarkPolicies(b *testing.B, n int) map[string]poise.Policy {
	b.Helper()
	policies := every(b)
	eachTopology(b, policy.TopologyConfig{Seed: 0x5eed}, func(name string, p poise.Policy) { policies[name] = p })
	if n > 512 {
		policies["RingHash"] = newRingHash(b, policy.RingHashConfig{MaxPoints: 1 << 21})
	}
	return policies
}

var benchmarkNames = []string{
	"RoundRobin", "SmoothWeightedRoundRobin", "Random", "WeightedRandom", "LeastLoaded", "PowerOfTwoChoices",
	"WeightedLeastRequest", "Rendezvous", "WeightedRendezvous", "BoundedLoadRendezvous", "RingHash", "Maglev",
	"Priority", "Locality",
}

// benchmarkIsKeyed tells the policies that are asked with keys.
func benchmarkIsKeyed(name string) bool { return slices.Contains(kindNames, name) }

func TestBenchmarks_CoverEveryPolicy(t *testing.T) {
	for name := range every(t) {
		if !slices.Contains(benchmarkNames, name) {
			t.Errorf("%s is not measured", name)
		}
	}
}

// BenchmarkCalibration is a fixed piece of work: 16 rounds of the mixing
// function. Other figures are reported as ratios to it, so that they can be
// compared between machines.
func BenchmarkCalibration(b *testing.B) {
	x := uint64(1)
	for b.Loop() {
		for range 16 {
			x = poise.Mix64(x + 1)
		}
	}
	if x == 0 {
		b.Fatal("the mixing function reached 0 from 1")
	}
}

// BenchmarkPick is one pick. With 1 % eligible, and 50 % of eight, Priority and
// Locality spill and panic: that is their work then.
func BenchmarkPick(b *testing.B) {
	queries := benchmarkQueries()
	for _, name := range benchmarkNames {
		for _, n := range benchmarkSizes {
			for _, percent := range benchmarkEligible {
				b.Run(fmt.Sprintf("policy=%s/n=%d/eligible=%d", name, n, percent), func(b *testing.B) {
					picker := open(b, benchmarkPolicies(b, n)[name], benchmarkSamples(b, n, percent)).picker
					if benchmarkIsKeyed(name) {
						benchmarkPicks(b, picker, queries)
					} else {
						benchmarkPlainPicks(b, picker)
					}
				})
			}
		}
	}
}

func benchmarkPlainPicks(b *testing.B, picker poise.Picker) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := picker.Pick(poise.Query{}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkPicks goes round the queries.
func benchmarkPicks(b *testing.B, picker poise.Picker, queries []poise.Query) {
	b.ReportAllocs()
	k := 0
	for b.Loop() {
		if _, err := picker.Pick(queries[k]); err != nil {
			b.Fatal(err)
		}
		if k++; k == len(queries) {
			k = 0
		}
	}
}

// BenchmarkPickTogether divides the picks of one Picker among the processors. The
// figure is time over picks, so it would halve on two if nothing were shared.
func BenchmarkPickTogether(b *testing.B) {
	queries := benchmarkQueries()
	for _, name := range benchmarkNames {
		for procs := 1; procs <= min(2, runtime.NumCPU()); procs++ {
			b.Run(fmt.Sprintf("policy=%s/n=512/procs=%d", name, procs), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				picker := open(b, benchmarkPolicies(b, 512)[name], benchmarkSamples(b, 512, 100)).picker
				list := queries
				if !benchmarkIsKeyed(name) {
					list = make([]poise.Query, 1)
				}
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for k := 0; pb.Next(); {
						if _, err := picker.Pick(list[k]); err != nil {
							b.Error(err)
							return
						}
						if k++; k == len(list) {
							k = 0
						}
					}
				})
			})
		}
	}
}

// BenchmarkPickKey shows that Rendezvous reads the key once: a long key costs the
// same more whatever the number of candidates.
func BenchmarkPickKey(b *testing.B) {
	for _, length := range []int{8, 1024} {
		for _, n := range []int{8, 512} {
			b.Run(fmt.Sprintf("policy=Rendezvous/n=%d/key=%d", n, length), func(b *testing.B) {
				picker := open(b, new(policy.Rendezvous), benchmarkSamples(b, n, 100)).picker
				benchmarkPicks(b, picker, []poise.Query{text(strings.Repeat("k", length))})
			})
		}
	}
}

// BenchmarkPickAfterChange is a pick of SmoothWeightedRoundRobin that runs live,
// because the weights' period is too long to be stored (B09).
func BenchmarkPickAfterChange(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("policy=SmoothWeightedRoundRobin/n=%d", n), func(b *testing.B) {
			samples := backends(n)
			samples[n-1].Weight = weightOf(b, 1<<32-1)
			benchmarkPlainPicks(b, open(b, new(policy.SmoothWeightedRoundRobin), samples).picker)
		})
	}
}

// BenchmarkLease is a whole decision: pick, resolve, admit, give back.
func BenchmarkLease(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("policy=PowerOfTwoChoices/n=%d", n), func(b *testing.B) {
			d := open(b, newPowerOfTwoChoices(b, 0x5eed), backends(n))
			b.ReportAllocs()
			for b.Loop() {
				selection, err := d.picker.Pick(poise.Query{})
				if err != nil {
					b.Fatal(err)
				}
				index, err := d.view.Index(selection)
				if err != nil {
					b.Fatal(err)
				}
				lease, err := d.view.InFlight(index).Acquire()
				if err != nil {
					b.Fatal(err)
				}
				if !lease.Release() {
					b.Fatal("the lease was released before")
				}
			}
		})
	}
}

// BenchmarkPrepare goes from one View to another and back: of the same candidates,
// or with one of them lost and returned. Each turn of the loop prepares once.
func BenchmarkPrepare(b *testing.B) {
	for _, name := range benchmarkNames {
		for _, n := range benchmarkSizes[:3] {
			for _, change := range []string{"none", "lost-one"} {
				b.Run(fmt.Sprintf("policy=%s/n=%d/change=%s", name, n, change), func(b *testing.B) {
					samples := benchmarkSamples(b, n, 100)
					views := [2]*poise.View{viewOf(b, samples), viewOf(b, samples)}
					if change == "lost-one" {
						views[1] = viewOf(b, slices.Delete(slices.Clone(samples), n/2, n/2+1))
					}
					p := benchmarkPolicies(b, n)[name]
					for _, v := range views {
						if _, err := p.Prepare(v); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportAllocs()
					for turn := 0; b.Loop(); turn++ {
						if _, err := p.Prepare(views[turn%2]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkPrepareAndPick is what SmoothWeightedRoundRobin costs while its list
// changes between any two picks, so that every pick runs live.
func BenchmarkPrepareAndPick(b *testing.B) {
	for _, n := range benchmarkSizes[:3] {
		b.Run(fmt.Sprintf("policy=SmoothWeightedRoundRobin/n=%d/change=lost-one", n), func(b *testing.B) {
			samples := benchmarkSamples(b, n, 100)
			views := [2]*poise.View{viewOf(b, samples), viewOf(b, slices.Delete(slices.Clone(samples), n/2, n/2+1))}
			p := new(policy.SmoothWeightedRoundRobin)
			b.ReportAllocs()
			for turn := 0; b.Loop(); turn++ {
				picker, err := p.Prepare(views[turn%2])
				if err != nil {
					b.Fatal(err)
				}
				if _, err := picker.Pick(poise.Query{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
