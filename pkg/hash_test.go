package poise_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"math/bits"
	"os"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// The encoder below builds, from the methods of FNV, the streams that the Rust
// sibling feeds its hash for shapes that a Key cannot have. Only vectors need it.

func hashU8(h poise.FNV, v uint8) poise.FNV { return h.Byte(v) }

func hashU16(h poise.FNV, v uint16) poise.FNV { return h.Byte(byte(v)).Byte(byte(v >> 8)) }

func hashU32(h poise.FNV, v uint32) poise.FNV { return hashU16(hashU16(h, uint16(v)), uint16(v>>16)) }

func hashU128(h poise.FNV, high, low uint64) poise.FNV { return h.Uint64(low).Uint64(high) }

func hashBool(h poise.FNV, v bool) poise.FNV {
	if v {
		return h.Byte(1)
	}
	return h.Byte(0)
}

func hashDuration(h poise.FNV, d time.Duration) poise.FNV {
	return hashU32(h.Uint64(uint64(d/time.Second)), uint32(d%time.Second))
}

// bytesOf feeds the bytes one by one, each by the definition of FNV-1a.
func bytesOf(bytes ...byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range bytes {
		h ^= uint64(b)
		h *= 0x100000001b3
	}
	return h
}

// Cases: G24, H1, H2.
func TestFNV_HashesEveryShapeAsTheSiblingDoes(t *testing.T) {
	basis := poise.FNVBasis
	list := func(n uint64) poise.FNV { return basis.Uint64(n) }
	minusOne := int64(-1)
	for _, row := range []struct {
		name string
		got  poise.FNV
		want uint64
	}{
		{"no bytes", basis.Raw(""), 0xcbf29ce484222325},
		{"raw a", basis.Raw("a"), 0xaf63dc4c8601ec8c},
		{"raw hello", basis.Raw("hello"), 0xa430d84680aabd0b},
		{"raw foobar", basis.Raw("foobar"), 0x85944171f73967e8},
		{"empty text", basis.String(""), 0xaf64724c8602eb6e},
		{"text a", basis.String("a"), 0x089bc907b544c769},
		{"text hello", basis.String("hello"), 0xa9bd73cca220c59c},
		{"text customer-42", basis.String("customer-42"), 0x41c504df7b68f3d3},
		{"u8 7", hashU8(basis, 7), 0xaf63ba4c8601b2c6},
		{"u16 7", hashU16(basis, 7), 0x08285607b4e2c672},
		{"u32 7", hashU32(basis, 7), 0x6d3572669b2cde42},
		{"u64 7", basis.Uint64(7), 0x4bd7a317074c5b62},
		{"i64 -1", basis.Uint64(uint64(minusOne)), 0x8cf51a8bfca3883d},
		{"u128 7", hashU128(basis, 0, 7), 0x9b25de6127c01ba2},
		{"true", hashBool(basis, true), 0xaf63bc4c8601b62c},
		{"false", hashBool(basis, false), 0xaf63bd4c8601b7df},
		{"char a", hashU32(basis, 'a'), 0xac804b820e4fe984},
		{"unit", basis, 0xcbf29ce484222325},
		{"tuple of text and u32", hashU32(basis.String("a"), 1), 0xb10c43f666ed51e8},
		{"tuple ab, c", basis.String("ab").String("c"), 0x20ba9b3025a8b421},
		{"tuple a, bc", basis.String("a").String("bc"), 0xa0a3542c19b900ab},
		{"bytes hello", list(5).Raw("hello"), 0xff7a61ff11320f78},
		{"list of u64", list(2).Uint64(1).Uint64(2), 0x422dee74521c4b44},
		{"list of texts", list(2).String("a").String("b"), 0xafe6dd348dfb7270},
		{"none", basis.Uint64(0), 0xa8c7f832281a39c5},
		{"some u32", hashU32(basis.Uint64(1), 7), 0xbf2981316c0c6f53},
		{"one and a half seconds", hashDuration(basis, 1500*time.Millisecond), 0x596c9b3a4fc2c61d},
	} {
		if uint64(row.got) != row.want {
			t.Errorf("%s: %016x, want %016x", row.name, uint64(row.got), row.want)
		}
	}
}

// Cases: H2.
func TestFNV_WritesIntegersLittleEndianOfTheirOwnWidth(t *testing.T) {
	i8, i16, i32, i64 := int8(-37), int16(-12345), int32(-123456789), int64(-1234567890123456)
	third := uint64(math.MaxUint64) / 3
	for _, row := range []struct {
		name string
		got  poise.FNV
		want uint64
	}{
		{"u8", hashU8(poise.FNVBasis, 0xa5), bytesOf(0xa5)},
		{"u16", hashU16(poise.FNVBasis, 0xa5c3), bytesOf(0xc3, 0xa5)},
		{"u32", hashU32(poise.FNVBasis, 0xa5c391e7), bytesOf(0xe7, 0x91, 0xc3, 0xa5)},
		{"u64", poise.FNVBasis.Uint64(0x0102030405060708), bytesOf(8, 7, 6, 5, 4, 3, 2, 1)},
		{"u128", hashU128(poise.FNVBasis, 0xa5c391e74268f0bd, 0x1029384756abcdef),
			bytesOf(0xef, 0xcd, 0xab, 0x56, 0x47, 0x38, 0x29, 0x10, 0xbd, 0xf0, 0x68, 0x42, 0xe7, 0x91, 0xc3, 0xa5)},
		{"a third of all", poise.FNVBasis.Uint64(third), bytesOf(0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55)},
		{"i8", hashU8(poise.FNVBasis, uint8(i8)), bytesOf(0xdb)},
		{"i16", hashU16(poise.FNVBasis, uint16(i16)), bytesOf(0xc7, 0xcf)},
		{"i32", hashU32(poise.FNVBasis, uint32(i32)), bytesOf(0xeb, 0x32, 0xa4, 0xf8)},
		{"i64", poise.FNVBasis.Uint64(uint64(i64)), bytesOf(0x40, 0x45, 0x75, 0xc3, 0x2a, 0x9d, 0xfb, 0xff)},
	} {
		if uint64(row.got) != row.want {
			t.Errorf("%s: %016x, want %016x", row.name, uint64(row.got), row.want)
		}
	}
}

// Cases: B41, G24.
func TestFNV_KeyHashesEachKindByItsOwnStream(t *testing.T) {
	for _, row := range []struct {
		name string
		key  poise.Key
		want uint64
	}{
		{"no key adds nothing", poise.Key{}, 0xcbf29ce484222325},
		{"empty text is not no key", poise.StringKey(""), 0xaf64724c8602eb6e},
		{"text", poise.StringKey("hello"), 0xa9bd73cca220c59c},
		{"bytes differ from the text", poise.BytesKey([]byte("hello")), 0xff7a61ff11320f78},
		{"no bytes is not no key", poise.BytesKey(nil), 0xa8c7f832281a39c5},
		{"number", poise.Uint64Key(7), 0x4bd7a317074c5b62},
	} {
		if got := poise.FNVBasis.Key(row.key); uint64(got) != row.want {
			t.Errorf("%s: %016x, want %016x", row.name, uint64(got), row.want)
		}
	}
}

// Cases: H3.
func TestMix64_GivesThePublishedValues(t *testing.T) {
	for v, want := range map[uint64]uint64{
		0:                  0,
		1:                  0x5692161d100b05e5,
		2:                  0xdbd238973a2b148a,
		3:                  0x1e535eede31428f0,
		42:                 0xa759ea27d4727622,
		0xcbf29ce484222325: 0xf52a15e9a9b5e89b,
		0x0123456789abcdef: 0xb2c058e4ebb5112c,
		1 << 63:            0x25c26ea579cea98a,
		math.MaxUint64 - 1: 0xda26e52fa3730902,
		math.MaxUint64:     0xb4d055fcf2cbbd7b,
	} {
		if got := poise.Mix64(v); got != want {
			t.Errorf("Mix64(%x) = %016x, want %016x", v, got, want)
		}
	}
}

// rendezvous is the hash by which rendezvous policies rank an identity for a key,
// up to and without the identity.
func rendezvousPrefix(key poise.Key) poise.FNV { return poise.FNVBasis.Byte(0).Key(key).Byte(1) }

func rendezvous(key poise.Key, id string) uint64 {
	return poise.Mix64(uint64(rendezvousPrefix(key).String(id)))
}

// Cases: H5, H6.
func TestRendezvousStream_RanksAsTheSiblingDoes(t *testing.T) {
	ids := []string{"west", "east", "a", "b", "c"}
	for _, row := range []struct {
		key  string
		want [5]uint64
	}{
		{"customer-42", [5]uint64{0x64a13fd5cac5f3a7, 0xe8031bb3f8ada6c9, 0xceb2b67a0843e132, 0xdfb40c01dddfd0d2, 0x331541cc8d38a82e}},
		{"account-42", [5]uint64{0xf5414d1acacaf7db, 0x796b925e9c4c93a2, 0xf3b8ed77922b9724, 0xdcc4cfe3c85ddb86, 0x9da13606f3beaada}},
		{"request-00000", [5]uint64{0x45fb3d090b0a3176, 0xcfe6217c5480d30c, 0xf7d48afd7f73a4dc, 0xbb8fa78b3b414715, 0x602c98400228a312}},
		{"", [5]uint64{0x073b557e0a3e1064, 0xd4d3078154034ee0, 0xf20e04025eec23fa, 0xf390109fe84390d3, 0x7c802e20d1dc85ed}},
	} {
		for i, id := range ids {
			if got := rendezvous(poise.StringKey(row.key), id); got != row.want[i] {
				t.Errorf("%q, %q: %016x, want %016x", row.key, id, got, row.want[i])
			}
		}
	}
	for key, want := range map[uint64][3]uint64{
		0:  {0x7a42b2553d284c4f, 0x58ae72cb4c7ead77, 0xbf6550240677aff9},
		1:  {0x0995818b3a1c3601, 0x08898a3c0f89a1e8, 0xef0f607fae3db795},
		42: {0x0bcf1b4f99b35ccd, 0xa8f032013266cc41, 0xce75b5f9cb254ed7},
		91: {0xdcaae6aaa4c74a8e, 0xb4faac03d87d6a4e, 0x60c14be19b78d005},
	} {
		for i, id := range []string{"a", "b", "c"} {
			if got := rendezvous(poise.Uint64Key(key), id); got != want[i] {
				t.Errorf("%d, %q: %016x, want %016x", key, id, got, want[i])
			}
		}
	}
	for _, row := range []struct {
		key  poise.Key
		id   string
		want uint64
	}{
		{poise.StringKey("customer-42"), "small", 0x5a0744d94d7d5176},
		{poise.StringKey("customer-42"), "large", 0xbddc33e09b6a261a},
	} {
		if got := rendezvous(row.key, row.id); got != row.want {
			t.Errorf("%q: %016x, want %016x", row.id, got, row.want)
		}
	}
	for _, row := range []struct {
		key  uint64
		id   uint32
		want uint64
	}{
		{0, 1, 0x67a95141ebafccfd},
		{0, 2, 0x399c79c79a6b251a},
		{1, 1, 0x15192e7f15b62ae9},
		{1, 2, 0x15f2a201fa2aa5fa},
	} {
		got := poise.Mix64(uint64(hashU32(rendezvousPrefix(poise.Uint64Key(row.key)), row.id)))
		if got != row.want {
			t.Errorf("%d, u32 %d: %016x, want %016x", row.key, row.id, got, row.want)
		}
	}
}

func mustWeight(t testing.TB, w uint32) poise.Weight {
	t.Helper()
	weight, err := poise.NewWeight(w)
	if err != nil {
		t.Fatal(err)
	}
	return weight
}

// Cases: H7, H9.
func TestScore_IsBitExact(t *testing.T) {
	weights := []poise.Weight{mustWeight(t, 1), mustWeight(t, 3), mustWeight(t, math.MaxUint32)}
	const negativeZero = 1 << 63
	for _, row := range []struct {
		hash uint64
		want [3]uint64
	}{
		{0, [3]uint64{0x40425e4f7b2737fa, 0x40287dbf4edef54d, 0x3e425e4f7b399649}},
		{1, [3]uint64{0x40425e4f7b2737fa, 0x40287dbf4edef54d, 0x3e425e4f7b399649}},
		{0x7ff, [3]uint64{0x40425e4f7b2737fa, 0x40287dbf4edef54d, 0x3e425e4f7b399649}},
		{0x800, [3]uint64{0x404205966f2b4f12, 0x402807733ee4696d, 0x3e4205966f3d54a8}},
		{0x0123456789abcdef, [3]uint64{0x4015aa16394d4818, 0x3ffce2c84c670acb, 0x3e15aa163962f22e}},
		{0x4000000000000000, [3]uint64{0x3ff62e42fefa39ed, 0x3fdd9303fea2f7e7, 0x3df62e42ff106830}},
		{0x7fffffffffffffff, [3]uint64{0x3fe62e42fefa39ef, 0x3fcd9303fea2f7e9, 0x3de62e42ff106832}},
		{0x8000000000000000, [3]uint64{0x3fe62e42fefa39ed, 0x3fcd9303fea2f7e7, 0x3de62e42ff106830}},
		{0xc000000000000000, [3]uint64{0x3fd269621134db8e, 0x3fb88c82c19bcf68, 0x3dd26962114744f0}},
		{0xfffffffffffff7ff, [3]uint64{0x3d09000000000000, 0x3cf0aaaaaaaaaaab, 0x3b09000000190000}},
		{0xfffffffffffff800, [3]uint64{negativeZero, negativeZero, negativeZero}},
		{math.MaxUint64, [3]uint64{negativeZero, negativeZero, negativeZero}},
	} {
		for i, w := range weights {
			if got := math.Float64bits(poise.Score(row.hash, w)); got != row.want[i] {
				t.Errorf("Score(%016x, %v) = %016x, want %016x", row.hash, w, got, row.want[i])
			}
		}
	}
}

// Cases: H7.
func TestScore_IsGreatestAtHashZero(t *testing.T) {
	got := poise.Score(0, poise.Weight{})
	if got < 36.7368 || got > 36.7369 {
		t.Errorf("greatest score is %v, want about 36.7368", got)
	}
}

// Cases: H8.
func TestLess_PrefersTheSmallerScoreThenTheLargerHash(t *testing.T) {
	for _, row := range []struct {
		name             string
		score            float64
		hash             uint64
		holder           float64
		holderHash       uint64
		challengerShould bool
	}{
		{"smaller score wins", 1, 0, 2, 9, true},
		{"larger score loses", 2, 9, 1, 0, false},
		{"equal score, larger hash wins", 1, 9, 1, 7, true},
		{"equal score, smaller hash loses", 1, 7, 1, 9, false},
		{"an equal pair does not beat", 1, 7, 1, 7, false},
		{"negative zeros are equal", math.Copysign(0, -1), 3, math.Copysign(0, -1), 2, true},
	} {
		if got := poise.Less(row.score, row.hash, row.holder, row.holderHash); got != row.challengerShould {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

// unrounded returns the places in a Go source where a float operation is not the
// whole argument of a float64 conversion. The Go specification lets a compiler
// fuse a product with a sum unless an explicit conversion rounds the product.
func unrounded(t *testing.T, name, source string) []string {
	t.Helper()
	fset := token.NewFileSet()
	files := []*ast.File{}
	for _, more := range []string{"key.go", "weight.go"} {
		file, err := parser.ParseFile(fset, more, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	file, err := parser.ParseFile(fset, name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{
		Importer: importer.ForCompiler(fset, "source", nil),
		Error: func(err error) {
			// Of the other files no more is read than what hash.go needs.
			if strings.HasPrefix(err.Error(), name) {
				t.Fatal(err)
			}
		},
	}
	_, _ = config.Check("poise", fset, append(files, file), info) // Error has seen the errors
	isFloat := func(e ast.Expr) bool {
		basic, ok := info.Types[e].Type.Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsFloat != 0 && info.Types[e].Value == nil
	}
	rounded := map[ast.Expr]bool{}
	var found []string
	complain := func(at ast.Node) { found = append(found, fset.Position(at.Pos()).String()) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if info.Types[n.Fun].IsType() && len(n.Args) == 1 {
				rounded[ast.Unparen(n.Args[0])] = true
			}
		case *ast.BinaryExpr:
			fusible := n.Op == token.MUL || n.Op == token.ADD || n.Op == token.SUB
			if fusible && isFloat(n) && !rounded[n] {
				complain(n)
			}
		case *ast.AssignStmt:
			switch n.Tok {
			case token.MUL_ASSIGN, token.ADD_ASSIGN, token.SUB_ASSIGN:
				if isFloat(n.Lhs[0]) {
					complain(n)
				}
			}
		case *ast.SelectorExpr:
			if n.Sel.Name == "FMA" {
				complain(n)
			}
		}
		return true
	})
	return found
}

// Cases: H9.
func TestHashSource_RoundsEveryFloatOperationByItself(t *testing.T) {
	source, err := os.ReadFile("hash.go")
	if err != nil {
		t.Fatal(err)
	}
	if found := unrounded(t, "hash.go", string(source)); len(found) != 0 {
		t.Errorf("float operations that a CPU may fuse: %v", found)
	}

	const conversion = "float64(term * square)"
	planted := strings.Replace(string(source), conversion, "term * square", 1)
	if found := unrounded(t, "planted.go", planted); len(found) != 1 {
		t.Errorf("of one product without its conversion %q the check found %v", conversion, found)
	}
}

func TestMix64_SpreadsOneBitOverHalfOfTheResult(t *testing.T) {
	generator := poise.NewGenerator(1)
	flipped := 0
	const samples = 64 * 64
	for i := range samples {
		v := generator.Uint64()
		flipped += bits.OnesCount64(poise.Mix64(v) ^ poise.Mix64(v^1<<(i%64)))
	}
	if mean := float64(flipped) / samples; mean < 31.5 || mean > 32.5 {
		t.Errorf("one flipped bit flips %.2f of 64 bits on average", mean)
	}
}
