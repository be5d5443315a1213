package poisehttp_test

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// A Balancer passes the places of its members on to the policy, and what it knows
// of their health: when the first place has failed, the calls go to the next, and
// an update that moves a member takes effect.
//
// Cases: G6.
func TestBalancer_RunsTopologyPoliciesOverItsEndpoints(t *testing.T) {
	priority, err := policy.NewPriority(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	locality, err := policy.NewLocality(policy.TopologyConfig{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]poise.Policy{"Priority": priority, "Locality": locality} {
		t.Run(name, func(t *testing.T) {
			broken := []*fake{failing(errBroken), failing(errBroken)}
			second, third := answering(200), answering(200)
			list := members(broken[0], broken[1], second, third)
			for i := range list {
				list[i].Priority = []uint32{0, 0, 1, 2}[i]
				list[i].Locality = []string{"east", "west", "east", "west"}[i]
			}
			b := newBalancer(t, poisehttp.Config{
				Policy: p, Members: list, Attempts: 3,
				Quarantine: poisehttp.QuarantineConfig{Failures: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
			})
			for range 20 {
				if status, err := get(t, b); err != nil || status != 200 {
					t.Fatalf("status %d (%v)", status, err)
				}
			}
			if first := broken[0].calls.Load() + broken[1].calls.Load(); first != 2 || second.calls.Load() != 20 || third.calls.Load() != 0 {
				t.Errorf("%d calls failed, %d went to the second priority and %d to the third, want 2, 20 and none",
					first, second.calls.Load(), third.calls.Load())
			}
			list[2].Priority, list[3].Priority = 2, 1
			if err := b.Update(list); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if _, err := get(t, b); err != nil {
					t.Fatal(err)
				}
			}
			if second.calls.Load() != 20 || third.calls.Load() != 20 {
				t.Errorf("after they changed places, %d and %d calls", second.calls.Load(), third.calls.Load())
			}
		})
	}
}
