package linearizability

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// planted are types that look before they leap, with somebody else let in between.
var planted = []struct {
	name  string
	spec  seq.Spec
	fresh func() func(c *Caller)
}{
	{"limit that is read and then taken", seq.Leases(1), func() func(*Caller) {
		var used atomic.Int64
		return func(c *Caller) {
			if c.Call("Acquire", c.Number, func() any {
				if used.Load() >= 1 {
					return false
				}
				runtime.Gosched()
				used.Add(1)
				return true
			}) == true {
				c.Call("Release", c.Number, func() any { used.Add(-1); return true })
			}
		}
	}},
	{"cursor that is read and then moved", seq.Turns([]bool{true, true, true}, 0), func() func(*Caller) {
		var cursor atomic.Int64
		return func(c *Caller) {
			c.Call("Pick", nil, func() any {
				at := cursor.Load()
				runtime.Gosched()
				cursor.Store((at + 1) % 3)
				return int(at)
			})
		}
	}},
	{"set that looks and then adds", seq.Marks(), func() func(*Caller) {
		var marks atomic.Uint64
		return func(c *Caller) {
			number := c.IntN(3)
			c.Call("Add", number, func() any {
				if marks.Load()&(1<<number) != 0 {
					return false
				}
				runtime.Gosched()
				marks.Or(1 << number)
				return true
			})
		}
	}},
}

func TestRecord_CatchesPlantedBugs(t *testing.T) {
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			folder := t.TempDir()
			for seed := range uint64(1000) {
				step := p.fresh()
				h := Record(seed, callers, func(c *Caller) {
					for range 8 {
						step(c)
					}
				})
				if seq.Check(p.spec, h) != (Judge(p.spec, h) == Ok) {
					t.Fatalf("the checkers disagree about\n%v", h)
				}
				if Judge(p.spec, h) == Illegal {
					keepsAndReads(t, folder, p.spec, h)
					t.Logf("after %d histories", seed+1)
					return
				}
			}
			t.Error("no history in 1000 showed it")
		})
	}
}

func keepsAndReads(t *testing.T, folder string, spec seq.Spec, h seq.History) {
	path, err := Keep(folder, t.Name(), spec, h)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(path + ".json")
	if err != nil || back.Spec != spec.Name() || back.Verdict != Illegal || Judge(spec, back.History) != Illegal {
		t.Errorf("kept as %v, %v", back, err)
	}
	page, err := os.ReadFile(path + ".html")
	if err != nil || !strings.Contains(string(page), h[0].Name) {
		t.Errorf("the page does not show the calls: %v", err)
	}
}
