package policy_test

import (
	"fmt"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// benchmarkSizes are the candidate counts of the pick benchmarks.
var benchmarkSizes = []int{8, 64, 512, 4096}

func benchmarkView(b *testing.B, n int) (*poise.View, []*poise.InFlight) {
	b.Helper()
	loads := make([]*poise.InFlight, n)
	candidates := make([]poise.Candidate, n)
	for i := range candidates {
		loads[i] = poise.NewInFlight(0)
		candidates[i] = poise.Sample{ID: fmt.Sprintf("backend-%04d", i), Load: loads[i]}
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		b.Fatal(err)
	}
	return v, loads
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

func BenchmarkPick(b *testing.B) {
	must := func(p poise.Policy, err error) poise.Policy {
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	newRandom, err := policy.NewRandom(policy.RandomConfig{Seed: 1})
	seededRandom := must(newRandom, err)
	newTwo, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
	seededTwo := must(newTwo, err)
	policies := []struct {
		name   string
		policy poise.Policy
	}{
		{"RoundRobin", new(policy.RoundRobin)},
		{"Random", seededRandom},
		{"LeastLoaded", new(policy.LeastLoaded)},
		{"PowerOfTwoChoices", seededTwo},
	}
	q := poise.Query{Key: poise.StringKey("customer-42")}
	for _, p := range policies {
		for _, n := range benchmarkSizes {
			b.Run(fmt.Sprintf("policy=%s/n=%d", p.name, n), func(b *testing.B) {
				v, _ := benchmarkView(b, n)
				benchmarkPicks(b, p.policy, v, q)
			})
		}
		b.Run(fmt.Sprintf("policy=%s/n=512/eligible=50%%", p.name), func(b *testing.B) {
			all, _ := benchmarkView(b, 512)
			half := make([]int, 256)
			for k := range half {
				half[k] = 2 * k
			}
			v, err := all.Scope(half)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkPicks(b, p.policy, v, q)
		})
	}
	benchmarkTopology(b)
	benchmarkKeyedPicks(b)
}

func benchmarkPicks(b *testing.B, p poise.Policy, v *poise.View, q poise.Query) {
	b.Helper()
	picker, err := p.Prepare(v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := picker.Pick(q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPickKey shows that Rendezvous reads the key once: a long key costs the
// same more whatever the number of candidates.
func BenchmarkPickKey(b *testing.B) {
	for _, length := range []int{8, 1024} {
		for _, n := range []int{8, 512} {
			b.Run(fmt.Sprintf("policy=Rendezvous/n=%d/key=%d", n, length), func(b *testing.B) {
				v, _ := benchmarkView(b, n)
				q := poise.Query{Key: poise.StringKey(strings.Repeat("k", length))}
				benchmarkPicks(b, new(policy.Rendezvous), v, q)
			})
		}
	}
}

// BenchmarkLease is a whole decision: pick, resolve, admit, give back.
func BenchmarkLease(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("policy=PowerOfTwoChoices/n=%d", n), func(b *testing.B) {
			v, loads := benchmarkView(b, n)
			p, err := policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			picker, err := p.Prepare(v)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				selection, err := picker.Pick(poise.Query{})
				if err != nil {
					b.Fatal(err)
				}
				index, err := v.Index(selection)
				if err != nil {
					b.Fatal(err)
				}
				lease, err := loads[index].Acquire()
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
