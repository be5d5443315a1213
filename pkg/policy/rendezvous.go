package policy

import poise "github.com/copyleftdev/poise-go/pkg"

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
//   - Rendezvous picks the candidate with the highest Mix64 of the hash of 0, the key, 1 and the identity; of equal ones the earlier.
//   - Adding a candidate moves keys only to it, and removing one moves only its keys.
//   - The order of the candidates changes no pick of Rendezvous.
//   - A query without a key answers ErrNoKey, or goes to the policy that NoKey names.
//   - An empty key is a key.
//   - The default hash reads the key once a pick, and a custom Hash once for each candidate it is asked about.
//
// # Cost
//
// A pick is O(key) plus O(length of all eligible identities). Prepare is O(n)
// time and memory. With a custom Hash it is O(key) for each candidate; the buffer
// it reads from grows to the longest stream so far, and a pick that overlaps
// another may allocate one of its own.
//
// # Concurrency
//
// A Rendezvous has no state; picks do not touch each other.
type Rendezvous struct {
	cfg RendezvousConfig
}

var _ poise.Policy = (*Rendezvous)(nil)

// The domain bytes that keep the parts of the stream apart.
const (
	rendezvousKey      = 0
	rendezvousIdentity = 1
)

// NewRendezvous returns a Rendezvous. Every config is legal.
func NewRendezvous(cfg RendezvousConfig) (*Rendezvous, error) {
	return &Rendezvous{cfg: cfg}, nil
}

// Prepare returns a Picker for the View, or the error of the NoKey policy.
func (p *Rendezvous) Prepare(v *poise.View) (poise.Picker, error) {
	if v == nil {
		return nil, errNilView
	}
	picker := &rendezvousPicker{view: v, ids: make([]string, v.Len())}
	for i, s := range v.All() {
		picker.ids[i] = s.ID
	}
	if p.cfg.Hash != nil {
		picker.custom = newStreamHash(p.cfg.Hash)
	}
	if p.cfg.NoKey != nil {
		noKey, err := p.cfg.NoKey.Prepare(v)
		if err != nil {
			return nil, err
		}
		picker.noKey = noKey
	}
	return picker, nil
}

type rendezvousPicker struct {
	view   *poise.View
	ids    []string     // by index
	custom *streamHash  // nil: FNV-1a
	noKey  poise.Picker // nil: ErrNoKey
}

// Pick takes the candidate of the highest hash.
func (p *rendezvousPicker) Pick(q poise.Query) (poise.Selection, error) {
	n := p.view.EligibleLen()
	if q.Tried == nil && n > 0 {
		return p.pick(&q, nil, n)
	}
	rest := p.view.Untried(q.Tried)
	if rest.Len() == 0 {
		return nothing(p.view, &q, "Rendezvous")
	}
	return p.pick(&q, &rest, rest.Len())
}

// pick chooses among n candidates.
func (p *rendezvousPicker) pick(q *poise.Query, rest *poise.Untried, n int) (poise.Selection, error) {
	var highest poise.Compared
	switch {
	case q.Key.IsZero() && p.noKey == nil:
		return failed(p.view, q, "Rendezvous", n, poise.ErrNoKey)
	case q.Key.IsZero():
		return p.pickWithoutKey(q)
	case p.custom == nil:
		highest = p.highest(q.Key, rest, n)
	default:
		highest = p.highestCustom(q.Key, rest, n)
	}
	explain(p.view, q, "Rendezvous", poise.RuleHighestHash, highest.Index, n, n, highest)
	return p.view.Select(highest.Index)
}

// pickWithoutKey asks the policy for that case. Its reasons stand, but for the rule
// that decided first: that there was no key.
func (p *rendezvousPicker) pickWithoutKey(q *poise.Query) (poise.Selection, error) {
	selection, err := p.noKey.Pick(*q)
	if q.Why != nil {
		q.Why.Policy = "Rendezvous"
		if err == nil {
			q.Why.Rule = poise.RuleFallback
		}
	}
	return selection, err
}

func (p *rendezvousPicker) highest(key poise.Key, rest *poise.Untried, n int) poise.Compared {
	// Every candidate's stream begins alike, so that part is hashed once.
	prefix := poise.FNVBasis.Byte(rendezvousKey).Key(key).Byte(rendezvousIdentity)
	highest := poise.Compared{Index: -1}
	for position := range n {
		index := at(p.view, rest, position)
		hash := poise.Mix64(uint64(prefix.String(p.ids[index])))
		highest = higher(highest, poise.Compared{Index: index, Figure: hash})
	}
	return highest
}

func (p *rendezvousPicker) highestCustom(key poise.Key, rest *poise.Untried, n int) poise.Compared {
	buffer := p.custom.take()
	prefix := append(key.AppendStream(append((*buffer)[:0], rendezvousKey)), rendezvousIdentity)
	stream := prefix
	highest := poise.Compared{Index: -1}
	for position := range n {
		index := at(p.view, rest, position)
		stream = append(append(stream[:len(prefix)], p.ids[index]...), 0xff)
		hash := poise.Mix64(p.custom.hash(stream))
		highest = higher(highest, poise.Compared{Index: index, Figure: hash})
	}
	*buffer = stream // it may have grown
	p.custom.give(buffer)
	return highest
}

// higher returns the one with the higher hash; the first of equal ones.
func higher(first, second poise.Compared) poise.Compared {
	if second.Figure > first.Figure || first.Index < 0 {
		return second
	}
	return first
}
