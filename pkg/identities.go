package poise

import "maps"

// identities finds indices by identity. It does not change once its View is made;
// nil has none.
type identities struct {
	index map[string]uint32
	// joined holds those that joined after index was made, so that it can be shared;
	// nil if there are none.
	joined map[string]uint32
}

func newIdentities(n int) *identities { return &identities{index: make(map[string]uint32, n)} }

// len returns how many there are.
func (d *identities) len() int {
	if d == nil {
		return 0
	}
	return len(d.index) + len(d.joined)
}

// find returns the index of the identity.
func (d *identities) find(id string) (index int, found bool) {
	if d == nil {
		return 0, false
	}
	i, found := d.index[id]
	if !found && d.joined != nil {
		i, found = d.joined[id]
	}
	return int(i), found
}

// add adds an identity while its View is being made. It reports whether it was new.
func (d *identities) add(id string, i int) bool {
	before := len(d.index)
	d.index[id] = uint32(i)
	return len(d.index) > before
}

// joining returns a copy to which identities can be joined. Every so often it makes
// one map of the two: when a quarter has joined.
func (d *identities) joining() *identities {
	if d == nil {
		d = newIdentities(0)
	}
	next := &identities{index: d.index, joined: maps.Clone(d.joined)}
	if next.joined == nil {
		next.joined = map[string]uint32{}
	}
	if len(d.joined) > 16 && len(d.joined) > len(d.index)/4 {
		next.index = make(map[string]uint32, d.len()*5/4)
		maps.Copy(next.index, d.index)
		maps.Copy(next.index, d.joined)
		clear(next.joined)
	}
	return next
}

// join adds an identity that is not there.
func (d *identities) join(id string, i int) { d.joined[id] = uint32(i) }
