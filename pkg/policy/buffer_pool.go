// Explorable.

package policy

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// bufferPool keeps buffers between picks, so that picks of which no more than
// len(slots) overlap allocate nothing once the buffers have grown. It takes no
// lock. A buffer belongs to whoever took it.
type bufferPool[T any] struct {
	slots [16]syncx.Pointer[T]
}

// take returns a buffer that no one else has, as it was given back, or a new one.
func (s *bufferPool[T]) take() *T {
	for i := range s.slots {
		// Only a swap takes; the load bufferPool the swaps that could take nothing.
		if s.slots[i].Load() == nil {
			continue
		}
		if buffer := s.slots[i].Swap(nil); buffer != nil {
			return buffer
		}
	}
	return new(T)
}

// give hands a buffer back. Where every slot is full it is dropped.
func (s *bufferPool[T]) give(buffer *T) {
	for i := range s.slots {
		if s.slots[i].CompareAndSwap(nil, buffer) {
			return
		}
	}
}
