package discovery_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func TestDirectory_IsInspectedWithWhoSaysSo(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	x, y := open(t, d, "x"), open(t, d, "y")
	if _, err := x.ReconcileAt(7, []discovery.Entry[int]{{ID: "a", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Upsert("a", 2); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Upsert("b", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Remove("b"); err != nil {
		t.Fatal(err)
	}
	want := discovery.Inspection[int]{
		Revision: d.Load().Revision(), Incarnations: 2,
		Members: []discovery.MemberInspection[int]{
			{Member: discovery.Member[int]{ID: "a", Incarnation: 1, Value: 1}, Claims: []discovery.Claim[int]{{Source: "x", Value: 1}, {Source: "y", Value: 2}}},
			{Member: discovery.Member[int]{ID: "b", Incarnation: 2, Value: 3, Draining: true}},
		},
		Sources: []discovery.SourceInspection{{Name: "x", Open: true, Claims: 1}, {Name: "y", Open: true, Claims: 1}},
	}
	if got := d.Inspect(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got, want := x.Inspect(), (discovery.SessionInspection{Dated: true, Date: 7}); got != want {
		t.Errorf("the session of x: %+v, want %+v", got, want)
	}
	y.Close()
	again := open(t, d, "x")
	for name, row := range map[string]struct {
		session  *discovery.Session[int]
		replaced bool
	}{"y": {y, false}, "x": {x, true}} {
		var ended *discovery.SessionError
		if got := row.session.Inspect(); !errors.As(got.Ended, &ended) || ended.Source != name || ended.Replaced != row.replaced {
			t.Errorf("the former session of %s: %+v", name, got)
		}
	}
	if got := again.Inspect(); got != (discovery.SessionInspection{}) {
		t.Errorf("the new session of x: %+v", got)
	}
	if got := d.Inspect().Sources; !reflect.DeepEqual(got, []discovery.SourceInspection{{Name: "x", Open: true, Claims: 1}, {Name: "y", Claims: 1}}) {
		t.Errorf("the sources are %+v", got)
	}
	d.Close()
	if got := d.Inspect(); !got.Closed || len(got.Members) != 2 {
		t.Errorf("closed: %+v", got)
	}
}
