package discovery_test

import (
	"context"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

func TestReading_AllocatesNothing(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	s := open(t, d, "x")
	list := many(1000)
	reconcile(t, s, list)
	before := d.Load()
	before.Lookup("nobody")
	c := d.Cursor()
	c.Poll()
	for name, use := range map[string]func(){
		"Load":            func() { d.Load() },
		"Closed":          func() { d.Closed() },
		"At":              func() { before.At(500) },
		"Lookup":          func() { before.Lookup(list[7].ID) },
		"Poll":            func() { c.Poll() },
		"a Cursor":        func() { d.Cursor().Poll() },
		"WaitFor":         func() { _, _ = d.WaitFor(context.Background(), 1) },
		"Delta":           func() { _, _ = before.Delta(before) },
		"an equal Upsert": func() { _, _ = s.Upsert(list[3].ID, 3) },
		"an equal list":   func() { _, _ = s.Reconcile(list) },
		"All": func() {
			for range before.All() {
				continue
			}
		},
	} {
		n := testing.AllocsPerRun(100, use)
		if name == "an equal Upsert" || name == "an equal list" {
			n -= 3 // the closures of a change, whatever its size
		}
		if n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
