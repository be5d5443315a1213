// Explorable.

package poise

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// Tried names the candidates that one call has already used, so that a retry or
// a hedge goes elsewhere.
//
// The zero value names none, and so does nil, to which nothing can be added.
//
// # Contract
//
//   - Has reports exactly the incarnations that Add was given.
//   - Add of an incarnation it already names returns false and changes nothing.
//   - Another incarnation of the same identity is not tried.
//
// # Cost
//
// Add and Has are O(tried). The first four are held inline; each further Add
// allocates.
//
// # Concurrency
//
// Add is atomic. Has and Len take no lock and see every Add that returned before
// they were called.
type Tried struct {
	mu syncx.Mutex // orders Add

	// count is stored after the entry it makes visible; readers load it first.
	count  syncx.Uint32
	inline [4]incarnation
	// more holds the entries beyond inline; what was published never changes.
	more syncx.Pointer[[]incarnation]
}

// incarnation is one life of one identity.
type incarnation struct {
	id     string
	number uint64
}

// Add names the incarnation number of the identity id. It reports whether it was
// new.
func (t *Tried) Add(id string, number uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Has(id, number) {
		return false
	}
	entry := incarnation{id, number}
	n := int(t.count.Load())
	if n < len(t.inline) {
		t.inline[n] = entry
	} else {
		var more []incarnation
		if old := t.more.Load(); old != nil {
			more = *old
		}
		more = append(more, entry) // who reads the old slice reads no further than its end
		t.more.Store(&more)
	}
	t.count.Store(uint32(n + 1))
	return true
}

// Has reports whether the incarnation number of the identity id was added.
func (t *Tried) Has(id string, number uint64) bool {
	entry := incarnation{id, number}
	for i := range t.Len() {
		if t.at(i) == entry {
			return true
		}
	}
	return false
}

// Len returns how many were added.
func (t *Tried) Len() int {
	if t == nil {
		return 0
	}
	return int(t.count.Load())
}

// at returns entry i, which is under a Len that was read before.
func (t *Tried) at(i int) incarnation {
	if i < len(t.inline) {
		return t.inline[i]
	}
	return (*t.more.Load())[i-len(t.inline)]
}
