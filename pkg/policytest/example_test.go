package policytest_test

import (
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policytest"
)

// Earliest is a policy of a user: it picks the first candidate that can be picked.
type Earliest struct{}

func (Earliest) Prepare(v *poise.View) (poise.Picker, error) { return earliest{v}, nil }

type earliest struct{ view *poise.View }

func (p earliest) Pick(q poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	d := poise.Decision{View: p.view, Policy: "Earliest", Chosen: rest.At(0), Err: rest.Check(),
		Tried: p.view.EligibleLen() - rest.Len()}
	if d.Err == nil {
		d.Rule, d.Considered = "the earliest", 1
	}
	if q.Why != nil {
		*q.Why = d
	}
	if d.Err != nil {
		return poise.Selection{}, d.Err
	}
	return p.view.Select(d.Chosen)
}

func TestEarliest(t *testing.T) {
	policytest.Run(t, policytest.Suite{New: func() poise.Policy { return Earliest{} }})
}

// A policy of one's own is two methods. View.Untried does what most policies need:
// it lists whom a pick may return, and says by which error to refuse.
func Example() {
	fmt.Println(policytest.Check(policytest.Suite{New: func() poise.Policy { return Earliest{} }}))

	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "a", Status: poise.Draining}, poise.Sample{ID: "b"}, poise.Sample{ID: "c"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	picker, err := Earliest{}.Prepare(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	var why poise.Decision
	if _, err := picker.Pick(poise.Query{Why: &why}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(why.String())
	// Output:
	// <nil>
	// Earliest chose b: the earliest
	//   of 3 candidates 2 are eligible, 0 tried before, 1 considered
	//   left out a: draining
}
