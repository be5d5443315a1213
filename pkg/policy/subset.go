package policy

import (
	"cmp"
	"slices"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// SubsetConfig are the settings of a Subset.
type SubsetConfig struct {
	_ struct{}
	// Size is how many candidates are chosen. Deliberately no default; at least 1.
	Size int
	// Seed tells the members of a fleet apart: each is given another, so that
	// together they use all candidates alike.
	Seed uint64
}

// Subset chooses a few candidates of many for one client, so that not everybody
// holds connections to everybody. It stands between the candidates and NewView.
//
// The choice is by rendezvous hash of the seed and the identity, as in gRFC A68.
// Over many clients the number of those that chose a candidate is binomial.
//
// The zero value is not usable; call NewSubset.
//
// # Contract
//
//   - Choose returns the Size candidates whose identities hash highest with the seed, in the order of the list; all of them where there are no more.
//   - A draining candidate is not chosen; no other status and no exclusion changes the choice.
//   - When a candidate joins or leaves, at most one other changes.
//   - The order of the candidates changes no choice.
//   - Choose asks each Candidate for its Sample exactly once.
//
// # Cost
//
// Choose is O(n log n) time and O(n) memory.
//
// # Concurrency
//
// A Subset never changes.
type Subset struct {
	cfg SubsetConfig
}

// The domain bytes that keep the hashes of subsets apart from those of policies.
const (
	subsetSeed     = 11
	subsetIdentity = 12
)

// NewSubset returns a Subset, or a [poise.FieldError] of ErrTooSmall for a
// Size under 1.
func NewSubset(cfg SubsetConfig) (*Subset, error) {
	if cfg.Size < 1 {
		return nil, &poise.FieldError{Field: "Size", Value: cfg.Size, Err: poise.ErrTooSmall}
	}
	return &Subset{cfg: cfg}, nil
}

// Choose samples the candidates and returns those chosen, as sampled. A nil
// Candidate stays, for NewView to refuse.
func (s *Subset) Choose(candidates []poise.Candidate) []poise.Candidate {
	type entry struct {
		hash   uint64
		sample poise.Sample
		place  int
	}
	prefix := poise.FNVBasis.Byte(subsetSeed).Uint64(s.cfg.Seed).Byte(subsetIdentity)
	entries := make([]entry, 0, len(candidates))
	chosen := make([]poise.Candidate, len(candidates))
	keep := make([]bool, len(candidates))
	for i, candidate := range candidates {
		if candidate == nil {
			keep[i] = true
			continue
		}
		sample := candidate.Sample()
		if sample.Status != poise.Draining {
			entries = append(entries, entry{poise.Mix64(uint64(prefix.String(sample.ID))), sample, i})
		}
	}
	// Equal hashes are told apart by identity, never by place.
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.hash, a.hash), strings.Compare(a.sample.ID, b.sample.ID))
	})
	for _, e := range entries[:min(s.cfg.Size, len(entries))] {
		chosen[e.place], keep[e.place] = e.sample, true
	}
	kept := chosen[:0]
	for i, candidate := range chosen {
		if keep[i] {
			kept = append(kept, candidate)
		}
	}
	return kept
}
