package policy_test

import (
	"fmt"
	"maps"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// keyedConfig is what the configs of the keyed policies share, and small tables.
type keyedConfig struct {
	hash  func([]byte) uint64
	noKey poise.Policy
	small bool
}

// keyedKinds makes one of each keyed policy.
var keyedKinds = map[string]func(reporter, keyedConfig) poise.Policy{
	"Rendezvous": func(t reporter, cfg keyedConfig) poise.Policy {
		return newRendezvous(t, policy.RendezvousConfig{Hash: cfg.hash, NoKey: cfg.noKey})
	},
	"WeightedRendezvous": func(t reporter, cfg keyedConfig) poise.Policy {
		return newWeightedRendezvous(t, policy.WeightedRendezvousConfig{Hash: cfg.hash, NoKey: cfg.noKey})
	},
	"BoundedLoadRendezvous": func(t reporter, cfg keyedConfig) poise.Policy {
		return newBoundedLoadRendezvous(t, policy.BoundedLoadRendezvousConfig{Hash: cfg.hash, NoKey: cfg.noKey})
	},
	"RingHash": func(t reporter, cfg keyedConfig) poise.Policy {
		ring := policy.RingHashConfig{Hash: cfg.hash, NoKey: cfg.noKey}
		if cfg.small {
			ring.PointsPerWeight, ring.MaxPoints = 3, 1<<14
		}
		return newRingHash(t, ring)
	},
	"Maglev": func(t reporter, cfg keyedConfig) poise.Policy {
		maglev := policy.MaglevConfig{Hash: cfg.hash, NoKey: cfg.noKey}
		if cfg.small {
			maglev.TableSize = 251
		}
		return newMaglev(t, maglev)
	},
}

// kindNames are the names of the keyed policies, in order.
var kindNames = slices.Sorted(maps.Keys(keyedKinds))

func newWeightedRendezvous(t reporter, cfg policy.WeightedRendezvousConfig) *policy.WeightedRendezvous {
	t.Helper()
	p := policy.NewWeightedRendezvous(cfg)
	return p
}

func newBoundedLoadRendezvous(t reporter, cfg policy.BoundedLoadRendezvousConfig) *policy.BoundedLoadRendezvous {
	t.Helper()
	p, err := policy.NewBoundedLoadRendezvous(cfg)
	if err != nil {
		t.Fatalf("NewBoundedLoadRendezvous: %v", err)
	}
	return p
}

func newRingHash(t reporter, cfg policy.RingHashConfig) *policy.RingHash {
	t.Helper()
	p, err := policy.NewRingHash(cfg)
	if err != nil {
		t.Fatalf("NewRingHash: %v", err)
	}
	return p
}

func newMaglev(t reporter, cfg policy.MaglevConfig) *policy.Maglev {
	t.Helper()
	p, err := policy.NewMaglev(cfg)
	if err != nil {
		t.Fatalf("NewMaglev: %v", err)
	}
	return p
}

// weighted gives the samples these weights.
func weighted(t reporter, samples []poise.Sample, weights ...uint32) []poise.Sample {
	t.Helper()
	for i, w := range weights {
		samples[i].Weight = weightOf(t, w)
	}
	return samples
}

// number and text are keys.
func number(v int) poise.Query            { return poise.Query{Key: poise.Uint64Key(uint64(v))} }
func text(s string) poise.Query           { return poise.Query{Key: poise.StringKey(s)} }
func keyN(name string, k int) poise.Query { return text(fmt.Sprintf("%s-%d", name, k)) }

// drawKeyedSamples draws samples as drawSamples does, with weights; the loads of the
// tail are often large.
func drawKeyedSamples(t *rapid.T) ([]poise.Sample, []uint64) {
	samples, loads := drawSamples(t)
	largest := rapid.SampledFrom([]uint32{1, 3, 20, 1<<32 - 1}).Draw(t, "largest weight")
	for i := range samples {
		samples[i].Weight = weightOf(t, rapid.Uint32Range(1, largest).Draw(t, "weight"))
	}
	return samples, loads
}

// identity is where a pick goes, as text: an identity or an error.
func (d desk) identity(q poise.Query) string {
	index, err := d.try(q)
	if err != nil {
		return err.Error()
	}
	s, err := d.view.Sample(index)
	if err != nil {
		return err.Error()
	}
	return s.ID
}
