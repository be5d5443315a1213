// Explorable.

package policy

import (
	"iter"
	"math/bits"

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
//   - The order of the candidates changes no pick of BoundedLoadRendezvous.
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
	loads  bufferPool[[]uint64]
}

var _ poise.Policy = (*BoundedLoadRendezvous)(nil)

// NewBoundedLoadRendezvous returns a BoundedLoadRendezvous, or a
// [poise.FieldError] of a RangeError for a percentage from 1 to 99.
//
// # Contract
//
//   - NewBoundedLoadRendezvous refuses a percentage under 100.
func NewBoundedLoadRendezvous(cfg BoundedLoadRendezvousConfig) (*BoundedLoadRendezvous, error) {
	if cfg.Percent != 0 && cfg.Percent < 100 {
		return nil, &poise.FieldError{Field: "Percent", Value: cfg.Percent, Err: &poise.RangeError{Min: uint32(100)}}
	}
	return &BoundedLoadRendezvous{cfg: cfg}, nil
}

// Prepare returns a Picker for the View, a [poise.FieldError] of ErrNilTracker or
// ErrLoadUnit, or the error of the NoKey policy.
//
// # Contract
//
//   - BoundedLoadRendezvous refuses to prepare a View in which a candidate has no load tracker, or one that does not count requests in flight.
func (p *BoundedLoadRendezvous) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	if err := checkItems(v); err != nil {
		return nil, err
	}
	keyless, err := prepareKeyless("BoundedLoadRendezvous", p.cfg.NoKey, v)
	if err != nil {
		return nil, err
	}
	rows := carryRows(&p.newest, v, p.cfg.Hash)
	picker := &boundedLoadPicker{
		keyless: keyless, view: v, shares: sharesOf(v, rows.ids), inFlight: allInFlight(v),
		rows: rows, custom: newStreamHash(p.cfg.Hash),
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

// checkItems refuses a View whose loads are not numbers of items: a capacity is a part
// of their sum, plus one. The trackers of a View have one unit, so the first has it.
func checkItems(v *poise.View) error {
	if err := v.CheckLoad(); err != nil {
		return err
	}
	for _, s := range v.All() {
		if unit := s.Load.Unit(); unit != poise.RequestsInFlight {
			return &poise.FieldError{Field: "candidates[0].Load.Unit()", Value: unit.String(), Err: ErrLoadUnit}
		}
		break
	}
	return nil
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
	loads    *bufferPool[[]uint64]
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
func (p *boundedLoadPicker) best(state poise.FNV, row, loads []uint64, items uint64) bestScore {
	power, inverses, loads := p.rows.power[:len(row)], p.shares.inverses[:len(row)], loads[:len(row)]
	best := newBestScore()
	for k, constant := range row {
		hash := poise.Mix64(uint64(state)*power[k] + constant)
		if best.hopeless(hash, inverses[k]) {
			continue
		}
		weight := p.shares.weights[k]
		score := poise.Score(hash, weight)
		if best.losesTo(k, hash, score, &p.shares) &&
			loads[k] < capacity(p.percent, weight.Value(), items, p.weights) {
			best = bestScore{k, hash, score, score * scale}
		}
	}
	return best
}

// room is a candidate in a bounded-load pick, with what decides over it.
type room struct {
	bestScore
	load     uint64
	capacity uint64
}

// pickSlow passes over the tried, reads trackers of every kind, hashes in every
// form, and explains.
func (p *boundedLoadPicker) pickSlow(q *poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	n := rest.Len()
	switch {
	case n == 0:
		return nothing(p.view, q, "BoundedLoadRendezvous")
	case q.Key.IsZero():
		return p.keyless.pick(q, n)
	}
	buffer := p.loads.take()
	loads, items, weights, err := p.readSlow(q, &rest, (*buffer)[:0])
	*buffer = loads
	if err != nil {
		p.loads.give(buffer)
		return failed(p.view, q, "BoundedLoadRendezvous", n, err)
	}
	m := newKeyHasher(p.rows, p.custom, q.Key)
	owner, best := room{bestScore: newBestScore()}, room{bestScore: newBestScore()}
	for k, load := range loads {
		position := p.view.NextEligible(rest.At(k))
		hash, weight := m.hash(position), p.shares.weights[position]
		score, limit := poise.Score(hash, weight), capacity(p.percent, weight.Value(), items, weights)
		if owner.enter(position, hash, score, &p.shares) {
			owner.load, owner.capacity = load, limit
		}
		if load < limit && best.enter(position, hash, score, &p.shares) {
			best.load, best.capacity = load, limit
		}
	}
	m.part()
	p.loads.give(buffer)
	p.explain(q, n, &owner, &best)
	return p.view.Select(p.view.Eligible(best.position))
}

// readSlow appends the load of each untried candidate, and returns how many items
// there are with the one to be placed, and the sum of the weights.
func (p *boundedLoadPicker) readSlow(q *poise.Query, rest *poise.Untried, loads []uint64) (list []uint64, items, weights uint64, err error) {
	items = 1
	for k := range rest.Len() {
		index := rest.At(k)
		load, err := p.view.Load(index, q.Now)
		if err != nil {
			return loads, 0, 0, err
		}
		var carry uint64
		if items, carry = bits.Add64(items, load, 0); carry != 0 {
			return loads, 0, 0, poise.ErrLoadOverflow
		}
		loads = append(loads, load)
		weights += uint64(p.shares.weights[p.view.NextEligible(index)].Value())
	}
	return loads, items, weights, nil
}

// explain says who owns the key, who has room, and how much.
func (p *boundedLoadPicker) explain(q *poise.Query, n int, owner, best *room) {
	if q.Why == nil {
		return
	}
	chosen, ownerIndex := p.view.Eligible(best.position), p.view.Eligible(owner.position)
	compared := []poise.Compared{{Index: chosen, Figure: best.load}, {Index: ownerIndex, Figure: owner.load}}
	if chosen == ownerIndex {
		explain(p.view, q, "BoundedLoadRendezvous", RuleOwner, chosen, n, n, compared[:1]...)
	} else {
		explain(p.view, q, "BoundedLoadRendezvous", RuleSpilled, chosen, n, n, compared...)
	}
	q.Why.AddNote(poise.Note{Name: NoteCapacity, Value: best.capacity})
	if chosen != ownerIndex {
		q.Why.AddNote(poise.Note{Name: NoteOwner, Value: uint64(ownerIndex), Candidate: true})
	}
}

// Preference lists the candidates by their score, the lowest first, as picks
// without load would.
func (p *boundedLoadPicker) Preference(key poise.Key) iter.Seq[int] {
	return ranked(p.view, p.rows, p.custom, key, p.shares.compare)
}
