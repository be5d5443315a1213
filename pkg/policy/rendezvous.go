// Explorable.

package policy

import (
	"cmp"
	"iter"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// RendezvousConfig are the settings of a Rendezvous.
type RendezvousConfig struct {
	_ struct{}
	// Hash replaces the default hash where keys are hostile: a keyed hash of the
	// whole byte stream, safe for concurrent use, that does not keep the slice. nil
	// is the default, FNV-1a, which agrees with every other process.
	Hash func(stream []byte) uint64
	// NoKey chooses for queries without a key. nil answers ErrNoKey.
	NoKey poise.Policy
}

// Rendezvous picks, for a key, the eligible candidate whose identity hashes
// highest together with it (Thaler and Ravishankar, "Using Name-Based Mappings to
// Increase Hit Rates", 1998). It ignores weights.
//
// The zero value uses the default hash and answers ErrNoKey without a key.
//
// # Contract
//
//   - Rendezvous picks the candidate with the highest Mix64 of the hash of 0, the key, 1 and the identity; of equal ones the lesser identity.
//   - Adding a candidate moves keys only to it, and removing one moves only its keys.
//   - The order of the candidates changes no pick of Rendezvous.
//   - A query without a key answers ErrNoKey, or goes to the policy that NoKey names.
//   - An empty key is a key.
//   - The default hash reads the key once a pick, and a custom Hash once for each candidate it is asked about.
//
// # Cost
//
// A pick is O(key) plus O(n), about a multiplication and a Mix64 for each eligible
// candidate. For that, Prepare makes 2 KiB of constants for each, in time and
// memory O(n), and takes from the View before what it can; the policy keeps those
// of its newest View. Above 16 MiB, which is 8192 eligible candidates, it makes
// none, and a pick is O(length of all eligible identities) instead. With a custom
// Hash it is O(key) for each candidate; the buffer it reads from grows to the
// longest stream so far, and of more than sixteen picks that overlap each may
// allocate one of its own. Preference is O(n log n) time and O(n) memory.
//
// # Concurrency
//
// Picks do not touch each other. Of two calls of Prepare that overlap, one
// decides what the next can take from.
type Rendezvous struct {
	cfg    RendezvousConfig
	newest syncx.Pointer[identityRows]
}

var _ poise.Policy = (*Rendezvous)(nil)

// NewRendezvous returns a Rendezvous.
func NewRendezvous(cfg RendezvousConfig) *Rendezvous {
	return &Rendezvous{cfg: cfg}
}

// Prepare returns a Picker for the View, or the error of the NoKey policy.
func (p *Rendezvous) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	keyless, err := prepareKeyless("Rendezvous", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	return &rendezvousPicker{
		keyless: keyless, view: v,
		rows: carryRows(&p.newest, v, p.cfg.Hash), custom: newStreamHash(p.cfg.Hash),
	}, nil
}

type rendezvousPicker struct {
	keyless keyless
	view    *poise.View
	rows    *identityRows
	custom  *streamHash // nil: FNV-1a
}

var _ poise.Preferrer = (*rendezvousPicker)(nil)

// Pick takes the candidate of the highest hash.
func (p *rendezvousPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || q.Key.IsZero() {
		return p.pickSlow(&q)
	}
	state := beginning(q.Key)
	row := p.rows.row(state)
	if len(row) == 0 {
		return p.pickSlow(&q)
	}
	power := p.rows.power[:len(row)]
	position, highest := 0, uint64(0)
	for k, constant := range row {
		hash := poise.Mix64(uint64(state)*power[k] + constant)
		if hash >= highest && (hash > highest || p.rows.ids[k] < p.rows.ids[position]) {
			position, highest = k, hash
		}
	}
	return p.view.Select(p.view.Eligible(position))
}

// pickSlow passes over the tried, hashes in every form, and explains.
func (p *rendezvousPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "Rendezvous")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	m := newKeyHasher(p.rows, p.custom, q.Key)
	best, highest := -1, uint64(0)
	for k := range n {
		position := p.view.NextEligible(rest.At(k))
		hash := m.hash(position)
		if best < 0 || hash > highest || hash == highest && p.rows.ids[position] < p.rows.ids[best] {
			best, highest = position, hash
		}
	}
	m.part()
	chosen := p.view.Eligible(best)
	explain(p.view, q, "Rendezvous", RuleHighestHash, chosen, n, n, poise.Compared{Index: chosen, Figure: highest})
	return p.view.Select(chosen)
}

// Preference lists the candidates by their hash, the highest first.
func (p *rendezvousPicker) Preference(key poise.Key) iter.Seq[int] {
	return ranked(p.view, p.rows, p.custom, key, func(a, b rank) int {
		return cmp.Or(cmp.Compare(b.hash, a.hash), strings.Compare(p.rows.ids[a.position], p.rows.ids[b.position]))
	})
}
