package main

import (
	"slices"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func TestRoster_TellsWhoHasMoved(t *testing.T) {
	state := func(id string, incarnation uint64, reason poise.Reason) poisehttp.EndpointState {
		return poisehttp.EndpointState{MemberInspection: dispatch.MemberInspection{ID: id, Incarnation: incarnation, Reason: reason}}
	}
	var r memberList
	for i, look := range []struct {
		states []poisehttp.EndpointState
		moves  []move
	}{
		{[]poisehttp.EndpointState{state("a", 1, 0), state("b", 2, 0)}, []move{{"a", joins}, {"b", joins}}},
		{[]poisehttp.EndpointState{state("a", 1, poise.ExcludedEjected), state("b", 2, 0)}, nil},
		{[]poisehttp.EndpointState{state("a", 1, poise.ExcludedDraining), state("b", 3, 0)}, []move{{"a", drains}, {"b", rejoin}}},
		{[]poisehttp.EndpointState{state("a", 1, 0), state("c", 4, 0)}, []move{{"b", leaves}, {"a", stays}, {"c", joins}}},
		{nil, []move{{"a", leaves}, {"c", leaves}}},
		{[]poisehttp.EndpointState{state("b", 5, 0)}, []move{{"b", joins}}},
	} {
		if moves := r.look(look.states); !slices.Equal(moves, look.moves) {
			t.Errorf("look %d: %v, want %v", i, moves, look.moves)
		}
	}
	if !slices.Equal(r.names, []string{"a", "b", "c"}) {
		t.Errorf("names %v", r.names)
	}
}
