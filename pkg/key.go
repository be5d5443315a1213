package poise

import "unsafe"

// Key is what a keyed policy hashes to find the candidate a request belongs to.
//
// The hash takes about a nanosecond for each byte of a key. Where keys are long, hash
// them with a faster hash first and give the number to Uint64Key.
//
// The zero value is no key, which is not the same as an empty one.
type Key struct {
	kind   keyKind
	number uint64
	text   string
}

type keyKind uint8

const (
	keyNone keyKind = iota
	keyString
	keyBytes
	keyUint64
)

// StringKey returns the key of the text s.
func StringKey(s string) Key { return Key{kind: keyString, text: s} }

// BytesKey returns the key of the bytes b, which differs from the StringKey of the
// same bytes. It does not copy b: b must not change until the last pick with the
// key has returned.
func BytesKey(b []byte) Key {
	return Key{kind: keyBytes, text: unsafe.String(unsafe.SliceData(b), len(b))}
}

// Uint64Key returns the key of a number, such as a hash the caller already has.
func Uint64Key(v uint64) Key { return Key{kind: keyUint64, number: v} }

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.kind == keyNone }

// AppendStream appends to b the bytes that FNV.Key hashes, for a hash of the
// caller's own.
func (k Key) AppendStream(b []byte) []byte {
	switch k.kind {
	case keyString:
		return append(append(b, k.text...), 0xff)
	case keyBytes:
		return append(appendUint64(b, uint64(len(k.text))), k.text...)
	case keyUint64:
		return appendUint64(b, k.number)
	}
	return b
}

func appendUint64(b []byte, v uint64) []byte {
	for range 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}
