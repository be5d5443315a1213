// Explorable.

package policy

import (
	"iter"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// MaglevConfig are the settings of a Maglev.
type MaglevConfig struct {
	_ struct{}
	// TableSize is how many slots the table has: a prime from 2 to 5,000,011. 0 is
	// 65,537. Shares differ by at most one slot, so a table of a hundred slots for
	// each candidate keeps them within one percent.
	TableSize uint32
	// Hash replaces the default hash where keys are hostile: a keyed hash of the
	// whole byte stream, safe for concurrent use, that does not keep the slice. nil
	// is the default, FNV-1a, which agrees with every other process.
	Hash func(stream []byte) uint64
	// NoKey chooses for queries without a key. nil answers ErrNoKey.
	NoKey poise.Policy
}

// The MaglevConfig.TableSize that 0 stands for, and the largest.
const (
	DefaultTableSize = 65_537
	MaxTableSize     = 5_000_011
)

// Maglev picks the owner of the key's slot in a table that the candidates fill in
// turns, each in an order of its own (Eisenbud et al., "Maglev: A Fast and Reliable
// Software Network Load Balancer", 2016). It ignores weights.
//
// The zero value has 65,537 slots, uses the default hash and answers ErrNoKey
// without a key.
//
// # Contract
//
//   - Each candidate takes, in its turn, the next free slot of its permutation, until no slot is free.
//   - The permutation of a candidate begins at the Mix64 of the hash of 6 and the identity, modulo the slots, and goes on by one more than that of 7 modulo one slot less.
//   - The turns go by the Mix64 of the hash of 8 and the identity, then by that of 9, then by identity.
//   - The slot of a key is the Mix64 of the hash of 10 and the key, modulo the slots.
//   - The slots of two candidates differ in number by at most one.
//   - Removing one of n candidates moves its keys, and few others.
//   - Weights change no pick of Maglev.
//   - The order of the candidates changes no pick of Maglev.
//   - A Maglev retry walks on through the slots of the table to the next owner that was not tried.
//   - Without a key Maglev answers ErrNoKey, or asks the policy that NoKey names.
//
// # Cost
//
// A pick is O(key) and O(1) in the number of candidates and slots. With Tried it is
// O(tried) for each slot walked over. Prepare costs what has changed where the table
// stays, else O(slots·log slots) on average and O(n·slots) at worst; identities that
// it has met are not hashed again. A table takes four bytes a slot and the order of
// the turns 60 bytes a candidate; the policy keeps the newest, and each Picker its
// own. Preference is O(slots) time at worst and O(n) memory.
//
// # Concurrency
//
// Picks do not touch each other. Of two calls of Prepare that overlap, each may
// make a table, and one decides what the next can use again.
type Maglev struct {
	cfg         MaglevConfig
	newest      syncx.Pointer[maglevTurns]
	generations syncx.Uint64
}

var _ poise.Policy = (*Maglev)(nil)

// NewMaglev returns a Maglev, or a [poise.FieldError] of a RangeError or of
// ErrNotPrime.
//
// # Contract
//
//   - NewMaglev refuses a table size of 1, one above 5,000,011, and one that is not prime, in this order.
func NewMaglev(cfg MaglevConfig) (*Maglev, error) {
	var err error
	switch size := cfg.size(); {
	case size < 2, size > MaxTableSize:
		err = &poise.RangeError{Min: uint32(2), Max: uint32(MaxTableSize)}
	case !isPrime(size):
		err = ErrNotPrime
	default:
		return &Maglev{cfg: cfg}, nil
	}
	return nil, &poise.FieldError{Field: "TableSize", Value: cfg.TableSize, Err: err}
}

// size returns the setting with its default.
func (cfg *MaglevConfig) size() uint32 {
	if cfg.TableSize == 0 {
		return DefaultTableSize
	}
	return cfg.TableSize
}

// Prepare returns a Picker for the View, a [poise.FieldError] of ErrTooMany, or the
// error of the NoKey policy.
//
// # Contract
//
//   - A View with more eligible candidates than slots is refused with a FieldError of ErrTooMany.
//   - A refused View leaves the table and its generation as they were.
//   - Maglev numbers its tables from 1, and a View with the same eligible identities gets the table there is, whatever their order.
func (p *Maglev) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if n := v.EligibleLen(); uint64(n) > uint64(p.cfg.size()) {
		return nil, &poise.FieldError{Field: "eligible candidates", Value: n, Err: poise.ErrTooMany}
	}
	custom := newStreamHash(p.cfg.Hash)
	turns := p.newest.Load()
	if turns == nil {
		turns = &maglevTurns{table: newMaglevTable(nil, p.cfg.size(), custom)}
	}
	turns, fresh := turns.on(v, p.cfg.size(), custom)
	keyless, err := prepareKeyless("Maglev", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	// Only now nothing can fail any more, and the table counts.
	if fresh {
		turns.table.generation = p.generations.Add(1)
	}
	p.newest.Store(turns)
	return &maglevPicker{keyless: keyless, view: v, table: turns.table, owners: turns.owners, custom: custom}, nil
}

type maglevPicker struct {
	keyless keyless
	view    *poise.View
	table   *maglevTable
	owners  []uint32    // the candidates, by member of the table
	custom  *streamHash // nil: FNV-1a
}

var _ poise.Preferrer = (*maglevPicker)(nil)

// Pick takes the owner of the slot.
func (p *maglevPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || q.Key.IsZero() || len(p.owners) == 0 {
		return p.pickSlow(&q)
	}
	var hash uint64
	if p.custom == nil { // as request has it, a call less
		hash = poise.Mix64(uint64(poise.FNVBasis.Byte(domainMaglevRequest).Key(q.Key)))
	} else {
		hash = p.custom.request(domainMaglevRequest, q.Key)
	}
	return p.view.Select(int(p.owners[p.table.slots[p.table.slot(hash)]]))
}

// pickSlow walks on over the tried and explains.
func (p *maglevPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "Maglev")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	first := p.table.slot(p.custom.request(domainMaglevRequest, q.Key))
	slot := first
	for !holds(&rest, p.owner(slot)) {
		slot = p.table.after(slot)
	}
	rule := RuleTable
	if slot != first {
		rule = RuleWalked
	}
	chosen := p.owner(slot)
	explain(p.view, q, "Maglev", rule, chosen, n, 1, poise.Compared{Index: chosen, Figure: slot})
	if q.Why != nil {
		q.Why.AddNote(poise.Note{Name: NoteTable, Value: p.table.generation})
	}
	return p.view.Select(chosen)
}

// owner returns the index of the owner of a slot.
func (p *maglevPicker) owner(slot uint64) int { return int(p.owners[p.table.slots[slot]]) }

// Preference lists the owners through the table from the slot of the key, each at
// its first slot.
func (p *maglevPicker) Preference(key poise.Key) iter.Seq[int] {
	return func(yield func(int) bool) {
		if key.IsZero() || len(p.owners) == 0 {
			return
		}
		first := p.table.slot(p.custom.request(domainMaglevRequest, key))
		for slot := range firsts(len(p.owners), len(p.table.slots), int(first), func(at int) uint32 { return p.table.slots[at] }) {
			if !yield(p.owner(uint64(slot))) {
				return
			}
		}
	}
}
