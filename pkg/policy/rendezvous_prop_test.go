package policy_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"pgregory.net/rapid"
)

// drawIdentities draws distinct identities of any bytes.
func drawIdentities(t *rapid.T, least int) []poise.Sample {
	ids := rapid.SliceOfNDistinct(rapid.StringN(1, 6, -1), least, 8, rapid.ID[string]).Draw(t, "identities")
	return named(ids...)
}

func TestRendezvous_LawOfRemoval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawIdentities(t, 2)
		q := poise.Query{Key: poise.BytesKey(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "key"))}
		owner := open(t, new(policy.Rendezvous), samples).pick(t, q)
		// One that is not the owner leaves, or merely is left out.
		other := rapid.IntRange(0, len(samples)-1).Filter(func(i int) bool { return i != owner }).Draw(t, "other")
		samples[other].Status = poise.Unavailable
		if got := open(t, new(policy.Rendezvous), samples).pick(t, q); got != owner {
			t.Fatalf("without %d the owner is %d, was %d", other, got, owner)
		}
	})
}

func TestRendezvous_LawOfAddition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawIdentities(t, 2)
		q := poise.Query{Key: poise.StringKey(rapid.String().Draw(t, "key"))}
		newcomer := len(samples) - 1
		owner := open(t, new(policy.Rendezvous), samples[:newcomer]).pick(t, q)
		if got := open(t, new(policy.Rendezvous), samples).pick(t, q); got != owner && got != newcomer {
			t.Fatalf("the newcomer %d moved the key from %d to %d", newcomer, owner, got)
		}
	})
}

func TestRendezvous_LawOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawIdentities(t, 1)
		q := poise.Query{Key: poise.Uint64Key(rapid.Uint64().Draw(t, "key"))}
		owner := samples[open(t, new(policy.Rendezvous), samples).pick(t, q)].ID
		shuffled := rapid.Permutation(samples).Draw(t, "order")
		if got := shuffled[open(t, new(policy.Rendezvous), shuffled).pick(t, q)].ID; got != owner {
			t.Fatalf("in another order the owner is %q, was %q", got, owner)
		}
	})
}
