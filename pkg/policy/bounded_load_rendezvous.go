// Explorable.

package policy

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// BoundedLoadRendezvousConfig are the settings of a BoundedLoadRendezvous.
type BoundedLoadRendezvousConfig struct {
	_ struct{}
	// Percent is how much of its share of the load a candidate may hold, in percent,
	// from 100. 0 is 150. Lower keeps the loads more even, higher keeps more keys
	// with their owner.
	Percent uint32
	// Hash replaces the default hash, as in RendezvousConfig.
	Hash func(stream []byte) uint64
	// NoKey chooses for queries without a key. nil answers ErrNoKey.
	NoKey poise.Policy
}

// DefaultBoundedLoadPercent is the BoundedLoadRendezvousConfig.Percent that 0
// stands for.
const DefaultBoundedLoadPercent = 150

// BoundedLoadRendezvous picks like WeightedRendezvous among the candidates that
// have room (after Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with
// Bounded Loads", 2018, with the next best score in place of the next point on a
// ring).
//
// The zero value allows 150 percent, uses the default hash and answers ErrNoKey
// without a key.
//
// # Contract
//
//   - The capacity of a candidate is the percentage of its weight's share of the loads read plus one, rounded up.
//   - BoundedLoadRendezvous picks the candidate that WeightedRendezvous would pick among those whose load is under their capacity.
//   - The owner of a key is the candidate that WeightedRendezvous would pick, and it is passed over only if its load is not under its capacity.
//   - Some candidate always has room.
//   - BoundedLoadRendezvous picks as if the tried candidates were not there, neither their loads nor their weights.
//   - Loads whose sum plus one passes 64 bits fail the pick with ErrLoadOverflow.
//   - With no load anywhere BoundedLoadRendezvous picks as WeightedRendezvous does.
//   - The order of the candidates changes no pick of BoundedLoadRendezvous, unless two hashes are equal.
//   - NewBoundedLoadRendezvous refuses a percentage under 100.
//   - BoundedLoadRendezvous refuses to prepare a View in which a candidate has no load tracker.
//   - Without a key BoundedLoadRendezvous answers ErrNoKey, or asks the policy that NoKey names.
//   - BoundedLoadRendezvous says in Query.Why the capacity of the candidate, and who the owner is where it spilled.
//
// # Cost
//
// A pick is O(key) plus O(n): what WeightedRendezvous needs, and one load read for
// each eligible candidate. The loads stay in a buffer of eight bytes for each while
// the pick lasts; of more than sixteen picks that overlap each may allocate one.
// Prepare and the memory are those of WeightedRendezvous. Preference is the order
// without load.
//
// # Concurrency
//
// The loads are read one after the other, not at one instant, and nothing is
// reserved: picks that overlap may take the last room together. Where the bound
// must hold, admission does: an InFlight with a limit.
type BoundedLoadRendezvous struct {
	cfg    BoundedLoadRendezvousConfig
	newest syncx.Pointer[identityRows]
	loads  spares[[]uint64]
}

var _ poise.Policy = (*BoundedLoadRendezvous)(nil)

// NewBoundedLoadRendezvous returns a BoundedLoadRendezvous, or a
// [poise.FieldError] of a RangeError for a percentage from 1 to 99.
func NewBoundedLoadRendezvous(cfg BoundedLoadRendezvousConfig) (*BoundedLoadRendezvous, error) {
	if cfg.Percent != 0 && cfg.Percent < 100 {
		return nil, &poise.FieldError{Field: "Percent", Value: cfg.Percent, Err: &poise.RangeError{Min: uint32(100)}}
	}
	return &BoundedLoadRendezvous{cfg: cfg}, nil
}

// Prepare returns a Picker for the View, a [poise.FieldError] of ErrNilTracker, or
// the error of the NoKey policy.
func (p *BoundedLoadRendezvous) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if err := v.CheckLoad(); err != nil {
		return nil, err
	}
	keyless, err := prepareKeyless("BoundedLoadRendezvous", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	picker := &boundedLoadPicker{
		keyless: keyless, view: v, shares: sharesOf(v), inFlight: allInFlight(v),
		rows: carryRows(&p.newest, v, p.cfg.Hash), custom: newStreamHash(p.cfg.Hash),
		percent: p.cfg.Percent, loads: &p.loads,
	}
	if picker.percent == 0 {
		picker.percent = DefaultBoundedLoadPercent
	}
	for _, weight := range picker.shares.weights {
		picker.weights += uint64(weight.Value()) // fewer than 2^32 of 32 bits each
	}
	return picker, nil
}

type boundedLoadPicker struct {
	keyless  keyless
	view     *poise.View
	shares   shares
	weights  uint64 // the sum of all
	percent  uint32
	inFlight []*poise.InFlight // of all, or nil if some are of another kind
	rows     *identityRows
	custom   *streamHash // nil: FNV-1a
	loads    *spares[[]uint64]
}

var _ poise.Preferrer = (*boundedLoadPicker)(nil)

// Pick takes the best candidate that has room.
func (p *boundedLoadPicker) Pick(q poise.Query) (poise.Selection, error) {
	if !plain(&q) || q.Key.IsZero() || len(p.inFlight) == 0 {
		return p.pickSlow(&q)
	}
	state := beginning(q.Key)
	row := p.rows.row(state)
	if len(row) == 0 {
		return p.pickSlow(&q)
	}
	buffer := p.loads.take()
	loads, items := p.read((*buffer)[:0])
	best := p.best(state, row, loads, items)
	*buffer = loads
	p.loads.give(buffer)
	return p.view.Select(p.view.Eligible(best.position))
}

// read appends the load of each eligible candidate and returns how many items
// there are with the one to be placed. Leases that were taken one by one are
// together far fewer than 2^64.
func (p *boundedLoadPicker) read(loads []uint64) (list []uint64, items uint64) {
	items = 1
	for _, tracker := range p.inFlight {
		load := tracker.Current()
		items += load
		loads = append(loads, load)
	}
	return loads, items
}

// best returns who wins among those with room.
func (p *boundedLoadPicker) best(state poise.FNV, row, loads []uint64, items uint64) contest {
	power, inverses, loads := p.rows.power[:len(row)], p.shares.inverses[:len(row)], loads[:len(row)]
	best := newContest()
	for k, constant := range row {
		hash := poise.Mix64(uint64(state)*power[k] + constant)
		if best.hopeless(hash, inverses[k]) {
			continue
		}
		weight := p.shares.weights[k]
		score := poise.Score(hash, weight)
		if poise.Less(score, hash, best.score, best.hash) &&
			loads[k] < capacity(p.percent, weight.Value(), items, p.weights) {
			best.enter(k, hash, score)
		}
	}
	return best
}
