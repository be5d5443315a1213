package poise_test

import (
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"pgregory.net/rapid"
)

// requireUntried requires that the Untried lists exactly the candidates given.
func requireUntried(t failer, u *poise.Untried, want []int, n int) {
	t.Helper()
	if u.Len() != len(want) {
		t.Fatalf("%d are untried, want %v", u.Len(), want)
	}
	for position := -1; position <= len(want); position++ {
		index := -1
		if position >= 0 && position < len(want) {
			index = want[position]
		}
		if got := u.At(position); got != index {
			t.Fatalf("At(%d) is %d, want %d", position, got, index)
		}
	}
	for index := -1; index <= n; index++ {
		if got, want := u.Next(index), nextIn(want, index, n); got != want {
			t.Fatalf("Next(%d) is %d, want %d", index, got, want)
		}
	}
}

// Claim: Untried holds the eligible candidates that were not tried, in the order
// of the View.
//
// Claim: Next finds the first untried candidate at or after an index, going round.
func TestUntried_LawListsAsItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := anySamples().Draw(t, "samples")
		v, twin := view(t, samples...), slowView{samples: samples}
		if rapid.Bool().Draw(t, "in a scope") {
			var members []int
			for i := range samples {
				if twin.mayJoin(i) && rapid.IntRange(0, 3).Draw(t, "member") > 0 {
					members = append(members, i)
				}
			}
			v, twin = scope(t, v, members...), twin.scope(members)
		}
		tried := new(poise.Tried)
		var lives []life
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(samples))).Draw(t, "tried") {
			l := life{id: "stranger"}
			if i < len(samples) {
				l = life{samples[i].ID, samples[i].Incarnation + rapid.Uint64Range(0, 1).Draw(t, "later")}
			}
			tried.Add(l.id, l.number)
			lives = append(lives, l)
		}
		u := v.Untried(tried)
		requireUntried(t, &u, twin.untried(lives), len(samples))
	})
}
