package replay

import (
	"reflect"
	"strings"
	"testing"
)

func enter(call, ret int64, result string) Call {
	return Call{Name: "(*Gate).Enter", Args: Record{"by": Of("a")}, Result: Of(result), Call: call, Return: ret}
}

func TestAccepts_FollowsEveryCallFromItsCallToItsReturn(t *testing.T) {
	opens := func(call, ret int64) Call { return Call{Name: "Open", Result: Of(""), Call: call, Return: ret} }
	closes := func(call, ret int64) Call {
		return Call{Name: "(*Gate).Close", Result: Of(""), Call: call, Return: ret}
	}
	for _, c := range []struct {
		name  string
		calls []Call
		want  string // of the error; "" for none
	}{
		{"nothing happened", nil, ""},
		{"one after the other", []Call{opens(0, 1), enter(2, 3, "in"), opens(4, 5), closes(6, 7)}, ""},
		{"the order of the entries does not matter", []Call{enter(2, 3, "in"), opens(0, 1)}, ""},
		{"too early", []Call{enter(0, 1, "in"), opens(2, 3)}, "no path returns from 0 1 (*Gate).Enter"},
		{"calls that overlap may take effect in either order", []Call{enter(0, 3, "in"), opens(1, 2)}, ""},
		{"equal stamps overlap", []Call{enter(0, 1, "in"), opens(1, 2)}, ""},
		{"another result", []Call{opens(0, 1), enter(2, 3, "out")}, "no path returns from 2 3 (*Gate).Enter"},
		{"a call of another name", []Call{{Name: "(*Gate).Kick", Return: 1}}, "no path returns"},
		{"one call does not open for two", []Call{opens(0, 1), enter(2, 3, "in"), enter(4, 5, "in")}, "no path returns from 4 5"},
		{"a call that has begun keeps others out", []Call{opens(0, 1), enter(2, 5, "in"), closes(3, 4), opens(6, 7)}, "no path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gateGraph()
			path, err := NewLookup(g).Accepts(History{Start: Record{"open": Of(false)}, Calls: c.calls})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			state := path.Initial
			for _, e := range path.Edges {
				if g.Edges[e].From != state {
					t.Fatalf("the edges %v are no path", path.Edges)
				}
				state = g.Edges[e].To
			}
		})
	}
	if _, err := NewLookup(gateGraph()).Accepts(History{Start: Record{"open": Of(true)}}); err == nil {
		t.Error("a history that starts nowhere is accepted")
	}
}

func TestHistories_AreReadAsWritten(t *testing.T) {
	want := []History{
		{Start: Record{"limit": Of(1)}, Calls: []Call{enter(0, 3, "in"), {Name: "Open", Args: Record{}, Result: Of(""), Call: 1, Return: 2}}},
		InOrder(Record{}, enter(0, 0, "in"), enter(0, 0, "in")),
	}
	got, err := ParseHistories(want[0].String() + want[1].String())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"0 1 Open [] => \"\"\n", "history [\n", "history []\n0 1 Open\n", "history []\nx 1 Open [] => 0\n", "history []\n0 1 Open [] =>\n"} {
		if _, err := ParseHistories(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
