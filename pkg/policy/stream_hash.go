package policy

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// streamHash is a caller's hash of byte streams and one buffer to build them in,
// so that a pick which overlaps no other allocates nothing.
type streamHash struct {
	hash  func(stream []byte) uint64
	spare syncx.Pointer[[]byte]
}

func newStreamHash(hash func(stream []byte) uint64) *streamHash {
	h := &streamHash{hash: hash}
	h.spare.Store(new([]byte))
	return h
}

// take returns an empty buffer that no one else has.
func (h *streamHash) take() *[]byte {
	if buffer := h.spare.Swap(nil); buffer != nil {
		return buffer
	}
	return new([]byte)
}

// give hands a buffer back.
func (h *streamHash) give(buffer *[]byte) { h.spare.Store(buffer) }
