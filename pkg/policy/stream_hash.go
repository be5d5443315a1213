package policy

import poise "github.com/copyleftdev/poise-go/pkg"

// streamHash is a caller's hash of byte streams, and buffers to build them in.
type streamHash struct {
	hash    func(stream []byte) uint64
	buffers bufferPool[[]byte]
}

// newStreamHash returns nil for a nil hash, which stands for FNV-1a.
func newStreamHash(hash func(stream []byte) uint64) *streamHash {
	if hash == nil {
		return nil
	}
	return &streamHash{hash: hash}
}

// request returns the mixed hash of the domain byte and the key.
func (h *streamHash) request(domain byte, key poise.Key) uint64 {
	if h == nil {
		return poise.Mix64(uint64(poise.FNVBasis.Byte(domain).Key(key)))
	}
	buffer := h.buffers.take()
	*buffer = key.AppendStream(append((*buffer)[:0], domain))
	hash := poise.Mix64(h.hash(*buffer))
	h.buffers.give(buffer)
	return hash
}

// identity returns the mixed hash of the domain byte and the identity.
func (h *streamHash) identity(domain byte, id string) uint64 {
	if h == nil {
		return poise.Mix64(uint64(poise.FNVBasis.Byte(domain).String(id)))
	}
	return h.request(domain, poise.StringKey(id)) // the same stream
}
