package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// That a pick allocates nothing is a law of policytest. These are the costs beside
// it that the docs state.

// Cases: E12.
func TestPowerOfTwoChoices_PickLeaseReleaseAllocatesNothing(t *testing.T) {
	samples := backends(8)
	d := open(t, newPowerOfTwoChoices(t, 1), samples)
	allocs := testing.AllocsPerRun(100, func() {
		index := d.pick(t, poise.Query{})
		lease, err := d.view.InFlight(index).Acquire()
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	})
	if allocs != 0 {
		t.Errorf("%v allocations a pick, lease and release", allocs)
	}
}

func TestRendezvous_CustomHashKeepsItsBuffer(t *testing.T) {
	p := newRendezvous(t, policy.RendezvousConfig{Hash: func(stream []byte) uint64 { return uint64(len(stream)) }})
	d := open(t, p, named("a", "an identity that is longer than the others", "b"))
	long, short := poise.StringKey("a key that is longer than any identity there is here"), poise.Uint64Key(1)
	d.pick(t, poise.Query{Key: long})
	for _, key := range []poise.Key{short, long, short} {
		if allocs := testing.AllocsPerRun(100, func() { d.pick(t, poise.Query{Key: key}) }); allocs != 0 {
			t.Errorf("%v allocations a pick", allocs)
		}
	}
}

// Prepare makes one Picker and at most two tables, whatever the number of
// candidates.
func TestPrepare_AllocatesAFixedNumberOfTimes(t *testing.T) {
	for name, p := range all(t) {
		for _, n := range []int{2, 64, 512} {
			samples := backends(n)
			samples[0].Status = poise.Draining
			v := viewOf(t, samples)
			allocs := testing.AllocsPerRun(20, func() {
				if _, err := p.Prepare(v); err != nil {
					t.Fatal(err)
				}
			})
			if allocs > 3 {
				t.Errorf("%s over %d: Prepare allocates %v times", name, n, allocs)
			}
		}
	}
}
