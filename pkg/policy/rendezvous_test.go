package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// owners returns the identities that the keys 0 to keys-1 go to.
func owners(t reporter, p poise.Policy, samples []poise.Sample, keys int) []string {
	t.Helper()
	d := open(t, p, samples)
	list := make([]string, keys)
	for k := range list {
		list[k] = samples[d.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))})].ID
	}
	return list
}

func TestRendezvous_AssignsAsPublished(t *testing.T) {
	d := open(t, new(policy.Rendezvous), named("a", "b", "c"))
	t.Run("numbers", func(t *testing.T) {
		want := []int{
			2, 2, 1, 2, 1, 0, 2, 0, 1, 2, 1, 0, 2, 2, 1, 2,
			2, 2, 2, 0, 1, 1, 2, 2, 2, 0, 2, 1, 0, 1, 2, 1,
		}
		for k, index := range want {
			if got := d.pick(t, poise.Query{Key: poise.Uint64Key(uint64(k))}); got != index {
				t.Errorf("key %d goes to %d, want %d", k, got, index)
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		for k, index := range []int{1, 1, 1, 2, 0, 1, 0, 2, 2, 1, 2, 2, 1, 2, 1, 0} {
			key := fmt.Sprintf("key-%d", k)
			if got := d.pick(t, poise.Query{Key: poise.StringKey(key)}); got != index {
				t.Errorf("%s goes to %d, want %d", key, got, index)
			}
		}
	})
	t.Run("shares of 300000", func(t *testing.T) {
		counts := make([]int, 3)
		for k := range uint64(300_000) {
			counts[d.pick(t, poise.Query{Key: poise.Uint64Key(k)})]++
		}
		if want := []int{100_136, 99_786, 100_078}; !slices.Equal(counts, want) {
			t.Errorf("shares %v, want %v", counts, want)
		}
	})
	t.Run("zones", func(t *testing.T) {
		zones := open(t, new(policy.Rendezvous), named("west", "east"))
		if got := zones.pick(t, poise.Query{Key: poise.StringKey("account-42")}); got != 0 {
			t.Errorf("account-42 goes to %d, want 0", got)
		}
	})
}

// The figures that Why shows are the published hashes.
func TestRendezvous_HashesAsPublished(t *testing.T) {
	for _, row := range []struct {
		key  poise.Key
		id   string
		hash uint64
	}{
		{poise.StringKey("customer-42"), "west", 0x64a13fd5cac5f3a7},
		{poise.StringKey("customer-42"), "east", 0xe8031bb3f8ada6c9},
		{poise.StringKey("account-42"), "west", 0xf5414d1acacaf7db},
		{poise.StringKey("request-00000"), "c", 0x602c98400228a312},
		{poise.StringKey(""), "a", 0xf20e04025eec23fa},
		{poise.Uint64Key(0), "a", 0x7a42b2553d284c4f},
		{poise.Uint64Key(1), "b", 0x08898a3c0f89a1e8},
		{poise.Uint64Key(42), "c", 0xce75b5f9cb254ed7},
		{poise.Uint64Key(91), "a", 0xdcaae6aaa4c74a8e},
	} {
		var why poise.Decision
		open(t, new(policy.Rendezvous), named(row.id)).pick(t, poise.Query{Key: row.key, Why: &why})
		if why.Compared[0].Figure != row.hash {
			t.Errorf("identity %s: hash %016x, want %016x", row.id, why.Compared[0].Figure, row.hash)
		}
	}
}

func TestRendezvous_TakesTheLesserOfEqualHashes(t *testing.T) {
	for _, constant := range []uint64{0, 1, 1<<64 - 1} {
		p := newRendezvous(t, policy.RendezvousConfig{Hash: func([]byte) uint64 { return constant }})
		samples := named("d", "b", "c", "a")
		d := open(t, p, samples)
		for k := range uint64(20) {
			q := poise.Query{Key: poise.Uint64Key(k)}
			if got := d.pick(t, q); got != 3 {
				t.Fatalf("hash %d: key %d goes to %d, want 3", constant, k, got)
			}
			q.Tried = retried(samples, 3, 1)
			if got := d.pick(t, q); got != 2 {
				t.Fatalf("hash %d: key %d goes to %d after 3 and 1, want 2", constant, k, got)
			}
		}
	}
}

// Claim: A query without a key answers ErrNoKey, or goes to the policy that NoKey names.
//
// Cases: B41, G22.
func TestRendezvous_WithoutAKey(t *testing.T) {
	samples := named("a", "b", "c", "d")
	t.Run("is refused", func(t *testing.T) {
		d := open(t, new(policy.Rendezvous), samples)
		for range 10_000 {
			if index, err := d.try(poise.Query{}); err != poise.ErrNoKey {
				t.Fatalf("picked %d (%v), want %v", index, err, poise.ErrNoKey)
			}
		}
	})
	for name, fallback := range all(t) {
		if name == "Rendezvous" {
			continue
		}
		t.Run("goes to "+name, func(t *testing.T) {
			d := open(t, newRendezvous(t, policy.RendezvousConfig{NoKey: fallback}), samples)
			alone := open(t, all(t)[name], samples)
			keyed := open(t, new(policy.Rendezvous), samples)
			for k := range 100 {
				var why poise.Decision
				if got, want := d.pick(t, poise.Query{Why: &why}), alone.pick(t, poise.Query{}); got != want {
					t.Fatalf("pick %d is %d, want %d", k, got, want)
				}
				if why.Policy != "Rendezvous" || why.Rule != policy.RuleFallback {
					t.Fatalf("Why is %+v", why)
				}
				q := poise.Query{Key: poise.Uint64Key(uint64(k))}
				if got, want := d.pick(t, q), keyed.pick(t, q); got != want {
					t.Fatalf("key %d goes to %d, want %d", k, got, want)
				}
				q = poise.Query{Tried: retried(samples, k%4)}
				if got, want := d.pick(t, q), alone.pick(t, q); got != want || got == k%4 {
					t.Fatalf("without a key the retry of %d goes to %d, want %d", k%4, got, want)
				}
			}
		})
	}
	t.Run("is prepared for", func(t *testing.T) {
		p := newRendezvous(t, policy.RendezvousConfig{NoKey: new(policy.LeastLoaded)})
		untracked := backends(2)
		untracked[1].Load = nil
		_, err := p.Prepare(viewOf(t, untracked))
		checkFieldError(t, "Rendezvous over LeastLoaded", err, "candidates[1].Load", poise.ErrNilTracker)
	})
	t.Run("failing says so", func(t *testing.T) {
		broken := backends(2)
		broken[0].Load, broken[1].Load = untold{}, untold{}
		var why poise.Decision
		d := open(t, newRendezvous(t, policy.RendezvousConfig{NoKey: new(policy.LeastLoaded)}), broken)
		_, err := d.try(poise.Query{Why: &why})
		if !errors.Is(err, poise.ErrLoadOverflow) || why.Err != err || why.Rule != poise.RuleNone || why.Policy != "Rendezvous" {
			t.Errorf("error is %v, Why is %+v", err, why)
		}
	})
}

// Claim: An empty key is a key.
//
// Cases: B41.
func TestRendezvous_EmptyKeyIsAKey(t *testing.T) {
	d := open(t, new(policy.Rendezvous), named("west", "east", "a", "b", "c"))
	// Of the published hashes with the empty text, the highest is b's.
	if got := d.pick(t, poise.Query{Key: poise.StringKey("")}); got != 3 {
		t.Errorf("the empty text goes to %d, want 3", got)
	}
	for _, key := range []poise.Key{poise.BytesKey(nil), poise.BytesKey([]byte{}), poise.StringKey(""), poise.Uint64Key(0)} {
		first := d.pick(t, poise.Query{Key: key})
		for range 100 {
			if got := d.pick(t, poise.Query{Key: key}); got != first {
				t.Fatalf("one empty key goes to %d and to %d", first, got)
			}
		}
	}
	a, b := poise.BytesKey(nil), poise.BytesKey([]byte{})
	if d.pick(t, poise.Query{Key: a}) != d.pick(t, poise.Query{Key: b}) {
		t.Error("nil bytes and no bytes go to different candidates")
	}
}

// Claim: Adding a candidate moves keys only to it, and removing one moves only its keys.
func TestRendezvous_MovesOnlyWhatItMust(t *testing.T) {
	const members, keys = 6, 400
	samples := backends(members)
	p := new(policy.Rendezvous)
	subset := func(set int) []poise.Sample {
		var list []poise.Sample
		for i := range members {
			if set>>i&1 == 1 {
				list = append(list, samples[i])
			}
		}
		return list
	}
	for set := 1; set < 1<<members; set++ {
		before := owners(t, p, subset(set), keys)
		for i := range members {
			switch grown := set | 1<<i; {
			case grown != set:
				for k, owner := range owners(t, p, subset(grown), keys) {
					if owner != before[k] && owner != samples[i].ID {
						t.Fatalf("set %06b: adding %s moved key %d from %s to %s", set, samples[i].ID, k, before[k], owner)
					}
				}
			case set != 1<<i:
				for k, owner := range owners(t, p, subset(set&^(1<<i)), keys) {
					if owner != before[k] && before[k] != samples[i].ID {
						t.Fatalf("set %06b: removing %s moved key %d from %s to %s", set, samples[i].ID, k, before[k], owner)
					}
				}
			}
		}
	}
}

// Claim: The order of the candidates changes no pick of Rendezvous.
//
// Cases: B38.
func TestRendezvous_IgnoresTheOrder(t *testing.T) {
	p := new(policy.Rendezvous)
	t.Run("all orders of five", func(t *testing.T) {
		want := owners(t, p, backends(5), 200)
		orders := 0
		permute(backends(5), func(samples []poise.Sample) {
			orders++
			if got := owners(t, p, samples, 200); !slices.Equal(got, want) {
				t.Fatalf("order %v changes the owners", samples)
			}
		})
		if orders != 120 {
			t.Errorf("%d orders, want 120", orders)
		}
	})
	t.Run("twenty shuffles of six", func(t *testing.T) {
		const keys = 100_000
		samples := backends(6)
		want := owners(t, p, samples, keys)
		chance := poise.NewGenerator(38)
		for range 20 {
			for i := range samples {
				j := chance.Below(uint64(i + 1))
				samples[i], samples[j] = samples[j], samples[i]
			}
			if got := owners(t, p, samples, keys); !slices.Equal(got, want) {
				t.Fatal("a shuffle changes the owners")
			}
		}
	})
}

// permute gives every order of the samples to use.
func permute(samples []poise.Sample, use func([]poise.Sample)) {
	var from func(k int)
	from = func(k int) {
		if k == len(samples) {
			use(samples)
			return
		}
		for i := k; i < len(samples); i++ {
			samples[k], samples[i] = samples[i], samples[k]
			from(k + 1)
			samples[k], samples[i] = samples[i], samples[k]
		}
	}
	from(0)
}

func TestRendezvous_ReachesEveryone(t *testing.T) {
	for n := 2; n <= 7; n++ {
		reached := map[string]bool{}
		for _, owner := range owners(t, new(policy.Rendezvous), backends(n), 20_000) {
			reached[owner] = true
		}
		if len(reached) != n {
			t.Errorf("20000 keys reach %d of %d", len(reached), n)
		}
	}
}

func TestRendezvous_SharesKeysEqually(t *testing.T) {
	const bias = 0.02
	d := open(t, new(policy.Rendezvous), backends(4))
	counts := make([]int, 4)
	for k := range uint64(sampleSize(1.0/4, bias)) {
		counts[d.pick(t, poise.Query{Key: poise.Uint64Key(k)})]++
	}
	if err := checkShares(counts, bias); err != nil {
		t.Error(err)
	}
}

// A retry goes where the key would go if the tried ones were gone.
func TestRendezvous_WalksOnInOrderOfPreference(t *testing.T) {
	samples := backends(6)
	d := open(t, new(policy.Rendezvous), samples)
	for k := range uint64(300) {
		q := poise.Query{Key: poise.Uint64Key(k), Tried: new(poise.Tried)}
		left := slices.Clone(samples)
		for len(left) > 0 {
			got := samples[d.pick(t, q)].ID
			gone := open(t, new(policy.Rendezvous), left)
			at := gone.pick(t, poise.Query{Key: q.Key})
			if left[at].ID != got {
				t.Fatalf("key %d walks on to %s, want %s", k, got, left[at].ID)
			}
			q.Tried.Add(got, 0)
			left = slices.Delete(left, at, at+1)
		}
	}
}

// Claim: The default hash reads the key once a pick, and a custom Hash once for each candidate it is asked about.
//
// Cases: G26.
func TestRendezvous_ReadsTheKey(t *testing.T) {
	t.Run("by the default hash once", func(t *testing.T) {
		file, err := parser.ParseFile(token.NewFileSet(), "key_hasher.go", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if calls, inLoops := keyReads(file); calls != 1 || inLoops != 0 {
			t.Errorf("FNV.Key is called at %d places, %d of them in loops; want 1 and 0", calls, inLoops)
		}
		planted, err := parser.ParseFile(token.NewFileSet(), "planted.go",
			"package p\nfunc f() { for range 3 { h = h.Byte(0).Key(k) } }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, inLoops := keyReads(planted); inLoops != 1 {
			t.Error("a planted call in a loop is not found")
		}
	})
	t.Run("by a custom Hash with each candidate", func(t *testing.T) {
		for _, key := range []struct {
			key    poise.Key
			stream string
		}{
			{poise.StringKey("k-1"), "k-1\xff"},
			{poise.StringKey(""), "\xff"},
			{poise.BytesKey([]byte("k-1")), "\x03\x00\x00\x00\x00\x00\x00\x00k-1"},
			{poise.BytesKey(nil), "\x00\x00\x00\x00\x00\x00\x00\x00"},
			{poise.Uint64Key(0x0807060504030201), "\x01\x02\x03\x04\x05\x06\x07\x08"},
		} {
			var got []string
			p := newRendezvous(t, policy.RendezvousConfig{Hash: func(stream []byte) uint64 {
				got = append(got, string(stream))
				return 1
			}})
			samples := named("a", "left out", "longer-than-a", "tried", "b")
			samples[1].Status = poise.Draining
			open(t, p, samples).pick(t, poise.Query{Key: key.key, Tried: retried(samples, 3)})
			want := []string{
				"\x00" + key.stream + "\x01a\xff",
				"\x00" + key.stream + "\x01longer-than-a\xff",
				"\x00" + key.stream + "\x01b\xff",
			}
			if !slices.Equal(got, want) {
				t.Errorf("Hash was given\n%q, want\n%q", got, want)
			}
		}
	})
}

// keyReads counts the calls of a method Key with one argument, and those of them
// that stand in a loop.
func keyReads(file *ast.File) (calls, inLoops int) {
	var loops []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			loops = append(loops, n)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Key" && len(n.Args) == 1 {
				calls++
				if slices.ContainsFunc(loops, func(l ast.Node) bool { return l.Pos() < n.Pos() && n.End() <= l.End() }) {
					inLoops++
				}
			}
		}
		return true
	})
	return calls, inLoops
}

// A custom hash that is FNV agrees with the default.
func TestRendezvous_CustomHashReadsTheWholeStream(t *testing.T) {
	custom := newRendezvous(t, policy.RendezvousConfig{Hash: func(stream []byte) uint64 {
		h := poise.FNVBasis
		for _, b := range stream {
			h = h.Byte(b)
		}
		return uint64(h)
	}})
	if got, want := owners(t, custom, backends(9), 2000), owners(t, new(policy.Rendezvous), backends(9), 2000); !slices.Equal(got, want) {
		t.Error("a custom FNV-1a picks otherwise than the default")
	}
}

// Picks that overlap must not write into each other's stream.
func TestRendezvous_CustomHashInParallel(t *testing.T) {
	hash := func(stream []byte) uint64 {
		h := poise.FNVBasis
		for _, b := range bytes.Clone(stream) {
			h = h.Byte(b)
		}
		return uint64(h)
	}
	samples := backends(7)
	d := open(t, newRendezvous(t, policy.RendezvousConfig{Hash: hash}), samples)
	want := owners(t, new(policy.Rendezvous), samples, 500)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for k := range uint64(500) {
				index, err := d.try(poise.Query{Key: poise.Uint64Key(k)})
				if err != nil || samples[index].ID != want[k] {
					t.Errorf("key %d goes to %d (%v), want %s", k, index, err, want[k])
					return
				}
			}
		})
	}
	wg.Wait()
}

// Two picks overlap for certain where the hash of one makes the other.
func TestRendezvous_OverlappingPicksHaveStreamsOfTheirOwn(t *testing.T) {
	samples := named("a", "b", "c")
	inner := poise.Query{Key: poise.StringKey("the inner key, longer than the outer")}
	var d desk
	var got []string
	nested := false
	hash := func(stream []byte) uint64 {
		before := string(stream)
		if !nested {
			nested = true
			d.pick(t, inner)
			nested = false
			got = append(got, before)
		}
		if string(stream) != before {
			t.Errorf("the stream %q became %q", before, stream)
		}
		return uint64(len(stream))
	}
	d = open(t, newRendezvous(t, policy.RendezvousConfig{Hash: hash}), samples)
	for range 2 { // the second time a buffer is there to be shared
		got = nil
		d.pick(t, poise.Query{Key: poise.StringKey("outer")})
		if want := []string{"\x00outer\xff\x01a\xff", "\x00outer\xff\x01b\xff", "\x00outer\xff\x01c\xff"}; !slices.Equal(got, want) {
			t.Errorf("Hash was given %q, want %q", got, want)
		}
	}
}

func TestRendezvous_ExplainsInText(t *testing.T) {
	samples := named("a", "b")
	samples[1].Excluded = poise.ExcludedCircuitOpen
	var why poise.Decision
	open(t, new(policy.Rendezvous), samples).pick(t, poise.Query{Key: poise.Uint64Key(0), Why: &why})
	for _, part := range []string{"Rendezvous chose a: highest hash", "hash 7a42b2553d284c4f", "left out b: circuit open"} {
		if !strings.Contains(why.String(), part) {
			t.Errorf("%q is not in %s", part, why.String())
		}
	}
}
