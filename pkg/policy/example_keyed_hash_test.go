package policy_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// A hash with a secret, for keys that strangers choose.
func ExampleRendezvousConfig_hash() {
	seed := maphash.MakeSeed()
	rendezvous := policy.NewRendezvous(policy.RendezvousConfig{
		Hash: func(stream []byte) uint64 { return maphash.Bytes(seed, stream) },
	})
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := rendezvous.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := picker.Pick(poise.Query{Key: poise.StringKey("order 7")})
	again, _ := picker.Pick(poise.Query{Key: poise.StringKey("order 7")})
	fmt.Println(first == again)
	// Output: true
}

// The same among processes that share a secret. A ring hashes once for a pick.
func ExampleRingHashConfig_hash() {
	secret := []byte("from the vault")
	ring, err := policy.NewRingHash(policy.RingHashConfig{
		Hash: func(stream []byte) uint64 {
			mac := hmac.New(sha256.New, secret)
			mac.Write(stream)
			return binary.LittleEndian.Uint64(mac.Sum(nil))
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := ring.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := picker.Pick(poise.Query{Key: poise.StringKey("order 7")}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("found")
	// Output: found
}
