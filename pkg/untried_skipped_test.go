package poise_test

import (
	"fmt"
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: Skipped lists the tried ones, by their positions in the eligible list of the View, ascending.
func TestUntried_SkippedListsTheTried(t *testing.T) {
	var candidates []poise.Candidate
	for i := range 24 {
		s := poise.Sample{ID: fmt.Sprint(i)}
		if i%4 == 1 {
			s.Status = poise.Draining
		}
		candidates = append(candidates, s)
	}
	v, err := poise.NewView(candidates)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		tried []int // indices
		want  []int // positions
	}{
		{"nobody", nil, nil},
		{"the first", []int{0}, []int{0}},
		{"out of order", []int{7, 0, 23}, []int{0, 5, 17}},
		{"one that is not eligible", []int{1, 2}, []int{1}},
		{"more than eight", []int{23, 22, 20, 19, 18, 16, 15, 14, 12, 11}, []int{8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
	} {
		tried := new(poise.Tried)
		tried.Add("stranger", 0)
		for _, i := range row.tried {
			tried.Add(fmt.Sprint(i), 0)
		}
		u := v.Untried(tried)
		var got []int
		for k := 0; u.Skipped(k) >= 0; k++ {
			got = append(got, u.Skipped(k))
		}
		if !slices.Equal(got, row.want) || u.Len() != v.EligibleLen()-len(got) {
			t.Errorf("%s: skipped %v, want %v; %d left of %d", row.name, got, row.want, u.Len(), v.EligibleLen())
		}
		if u.Skipped(-1) != -1 || u.Skipped(len(row.want)+1) != -1 {
			t.Errorf("%s: a number out of range is skipped", row.name)
		}
	}
	if none := new(poise.Untried); none.Skipped(0) != -1 {
		t.Error("the zero value skipped somebody")
	}
}
