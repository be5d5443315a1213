package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: IsScope is true exactly of what Scope returned.
// Code: View.Scope
func TestView_KnowsWhetherItIsAScope(t *testing.T) {
	v, err := poise.NewView([]poise.Candidate{poise.Sample{ID: "a"}, poise.Sample{ID: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, members := range [][]int{nil, {1}, {0, 1}} {
		scope, err := v.Scope(members)
		if err != nil {
			t.Fatal(err)
		}
		within, err := scope.Scope(members)
		if err != nil {
			t.Fatal(err)
		}
		if v.IsScope() || !scope.IsScope() || !within.IsScope() {
			t.Errorf("members %v: %t, %t, %t", members, v.IsScope(), scope.IsScope(), within.IsScope())
		}
	}
}
