package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// keyHasher is a key on its way to be hashed with identities, one after the other:
// the form for everything that the fast paths leave out.
type keyHasher struct {
	rows   *identityRows
	state  poise.FNV // after 0, the key and 1
	row    []uint64  // nil: the plain form
	custom *streamHash
	// With a custom hash the stream is built in buffer, behind a prefix of so many
	// bytes.
	buffer *[]byte
	prefix int
}

// newKeyHasher begins a keyHasher. It is ended by part.
func newKeyHasher(rows *identityRows, custom *streamHash, key poise.Key) keyHasher {
	m := keyHasher{rows: rows, custom: custom}
	if custom != nil {
		m.buffer = custom.buffers.take()
		stream := key.AppendStream(append((*m.buffer)[:0], domainRendezvousKey))
		*m.buffer = append(stream, domainRendezvousIdentity)
		m.prefix = len(*m.buffer)
		return m
	}
	m.state = beginning(key)
	m.row = rows.row(m.state)
	return m
}

// beginning returns the state of FNV after what the streams of all identities
// begin with.
func beginning(key poise.Key) poise.FNV {
	return poise.FNVBasis.Byte(domainRendezvousKey).Key(key).Byte(domainRendezvousIdentity)
}

// hash returns the mixed hash of the key with the identity at the position.
func (m *keyHasher) hash(position int) uint64 {
	if m.custom != nil {
		stream := append((*m.buffer)[:m.prefix], m.rows.ids[position]...)
		*m.buffer = append(stream, 0xff)
		return poise.Mix64(m.custom.hash(*m.buffer))
	}
	if m.row != nil {
		return poise.Mix64(uint64(m.state)*m.rows.power[position] + m.row[position])
	}
	return poise.Mix64(uint64(m.state.String(m.rows.ids[position])))
}

// part ends the keyHasher.
func (m *keyHasher) part() {
	if m.custom != nil {
		m.custom.buffers.give(m.buffer)
	}
}
