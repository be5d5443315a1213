// Explorable.

package policy

import (
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// WeightedRendezvousConfig are the settings of a WeightedRendezvous.
type WeightedRendezvousConfig struct {
	_ struct{}
	// Hash replaces the default hash, as in RendezvousConfig.
	Hash func(stream []byte) uint64
	// NoKey chooses for queries without a key. nil answers ErrNoKey.
	NoKey poise.Policy
}

// WeightedRendezvous picks like Rendezvous, with a candidate's share of the keys in
// proportion to its weight (Schindelhauer and Schomaker, "Weighted Distributed
// Hash Tables", 2005: the logarithmic method).
//
// The zero value uses the default hash and answers ErrNoKey without a key.
//
// # Contract
//
//   - WeightedRendezvous picks the candidate with the lowest Score of its weight and the hash that Rendezvous takes; of equal scores the higher hash, of equal hashes the heavier, of equal weights the lesser identity.
//   - The share of the keys that WeightedRendezvous gives a candidate is its weight over the sum of the weights.
//   - A change of one weight moves no key between two other candidates, and raising it moves keys only to that candidate.
//   - Adding a weighted candidate moves keys only to it, and removing one moves only its keys.
//   - Over equal weights WeightedRendezvous picks as Rendezvous does.
//   - The order of the candidates changes no pick of WeightedRendezvous.
//   - Without a key WeightedRendezvous answers ErrNoKey, or asks the policy that NoKey names.
//
// # Cost
//
// A pick is O(key) plus O(n): for each eligible candidate about what Rendezvous
// needs and one multiplication more, and O(log n) logarithms on average. Prepare
// and the memory are those of Rendezvous, and twelve bytes for each candidate.
//
// # Concurrency
//
// Picks do not touch each other. Of two calls of Prepare that overlap, one
// decides what the next can take from.
type WeightedRendezvous struct {
	cfg    WeightedRendezvousConfig
	newest syncx.Pointer[identityRows]
}

var _ poise.Policy = (*WeightedRendezvous)(nil)

// NewWeightedRendezvous returns a WeightedRendezvous.
func NewWeightedRendezvous(cfg WeightedRendezvousConfig) *WeightedRendezvous {
	return &WeightedRendezvous{cfg: cfg}
}

// Prepare returns a Picker for the View, or the error of the NoKey policy.
func (p *WeightedRendezvous) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	keyless, err := prepareKeyless("WeightedRendezvous", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	rows := carryRows(&p.newest, v, p.cfg.Hash)
	return &weightedRendezvousPicker{
		keyless: keyless, view: v, shares: sharesOf(v, rows.ids),
		rows: rows, custom: newStreamHash(p.cfg.Hash),
	}, nil
}

type weightedRendezvousPicker struct {
	keyless keyless
	view    *poise.View
	shares  shares
	rows    *identityRows
	custom  *streamHash // nil: FNV-1a
}

var _ poise.Preferrer = (*weightedRendezvousPicker)(nil)

// Pick takes the candidate of the lowest score.
func (p *weightedRendezvousPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || q.Key.IsZero() {
		return p.pickSlow(&q)
	}
	state := beginning(q.Key)
	row := p.rows.row(state)
	if len(row) == 0 {
		return p.pickSlow(&q)
	}
	power, inverses := p.rows.power[:len(row)], p.shares.inverses[:len(row)]
	best := newBestScore()
	for k, constant := range row {
		hash := poise.Mix64(uint64(state)*power[k] + constant)
		if !best.hopeless(hash, inverses[k]) {
			best.enter(k, hash, poise.Score(hash, p.shares.weights[k]), &p.shares)
		}
	}
	return p.view.Select(p.view.Eligible(best.position))
}

// pickSlow passes over the tried, hashes in every form, and explains.
func (p *weightedRendezvousPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "WeightedRendezvous")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	m := newKeyHasher(p.rows, p.custom, q.Key)
	best := newBestScore()
	for k := range n {
		position := p.view.NextEligible(rest.At(k))
		if hash := m.hash(position); !best.hopeless(hash, p.shares.inverses[position]) {
			best.enter(position, hash, poise.Score(hash, p.shares.weights[position]), &p.shares)
		}
	}
	m.part()
	chosen := p.view.Eligible(best.position)
	explain(p.view, q, "WeightedRendezvous", RuleWeightedHash, chosen, n, n,
		poise.Compared{Index: chosen, Figure: best.hash})
	return p.view.Select(chosen)
}

// Preference lists the candidates by their score, the lowest first.
func (p *weightedRendezvousPicker) Preference(key poise.Key) iter.Seq[int] {
	return ranked(p.view, p.rows, p.custom, key, p.shares.compare)
}
