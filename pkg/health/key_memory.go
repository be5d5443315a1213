// Explorable.

package health

// keyMemory is the keys of the latest failed calls of an endpoint, each once.
//
// The zero value has none.
type keyMemory struct {
	keys [16]uint64
	next uint8
}

// add reports whether the key is new, and keeps it in the place of the oldest. A call
// without a key is always new.
func (m *keyMemory) add(key uint64) bool {
	if key == 0 {
		return true
	}
	if m.has(key) {
		return false
	}
	m.keys[m.next%uint8(len(m.keys))] = key
	m.next++
	return true
}

// has reports whether the key is in, or is none.
func (m *keyMemory) has(key uint64) bool {
	for _, known := range m.keys {
		if known == key {
			return true
		}
	}
	return key == 0
}
