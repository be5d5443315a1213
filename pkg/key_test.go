package poise_test

import (
	"bytes"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Cases: B41.
func TestKey_OnlyTheZeroValueIsNoKey(t *testing.T) {
	if !(poise.Key{}).IsZero() {
		t.Error("the zero Key is a key")
	}
	for _, key := range []poise.Key{
		poise.StringKey(""), poise.BytesKey(nil), poise.BytesKey([]byte{}), poise.Uint64Key(0), poise.StringKey("a"),
	} {
		if key.IsZero() {
			t.Errorf("%v is no key", key)
		}
	}
}

func TestKey_AppendsTheStreamOfItsKind(t *testing.T) {
	for _, row := range []struct {
		name string
		key  poise.Key
		want []byte
	}{
		{"no key", poise.Key{}, nil},
		{"text", poise.StringKey("ab"), []byte{'a', 'b', 0xff}},
		{"empty text", poise.StringKey(""), []byte{0xff}},
		{"bytes", poise.BytesKey([]byte("ab")), []byte{2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}},
		{"no bytes", poise.BytesKey(nil), []byte{0, 0, 0, 0, 0, 0, 0, 0}},
		{"number", poise.Uint64Key(0x0102030405060708), []byte{8, 7, 6, 5, 4, 3, 2, 1}},
	} {
		if got := row.key.AppendStream(nil); !bytes.Equal(got, row.want) {
			t.Errorf("%s: %x, want %x", row.name, got, row.want)
		}
		if got := row.key.AppendStream([]byte{1}); !bytes.Equal(got, append([]byte{1}, row.want...)) {
			t.Errorf("%s, after another byte: %x", row.name, got)
		}
	}
}

func TestBytesKey_DoesNotCopy(t *testing.T) {
	b := []byte("ab")
	key := poise.BytesKey(b)
	b[0] = 'x'
	if got := key.AppendStream(nil); got[8] != 'x' {
		t.Errorf("the key holds a copy: %x", got)
	}
}
