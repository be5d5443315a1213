package replay

import (
	"reflect"
	"testing"
)

func TestFold_TellsStatesApartByTheVariablesAlone(t *testing.T) {
	got, err := gateGraph().Fold("open")
	if err != nil {
		t.Fatal(err)
	}
	want := Folded{
		States: []FoldedState{{Name: "no", Depth: 0, States: 1}, {Name: "yes", Depth: 1, States: 2, Stays: 1}},
		Edges: []FoldedEdge{
			{From: 0, To: 1, Actions: []string{"Open"}, Edges: 1},
			{From: 1, To: 0, Actions: []string{"Close", "EnterStep"}, Edges: 2},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	whole, err := gateGraph().Fold("open", "pc")
	if err != nil || len(whole.States) != 3 || len(whole.Edges) != 4 || whole.States[0].Name != "open no, pc a –" {
		t.Errorf("by every variable: %+v, %v", whole, err)
	}
	if _, err := gateGraph().Fold("door"); err == nil || err.Error() != "Gate: there is no variable door" {
		t.Errorf("by a variable that there is not: %v", err)
	}
}
