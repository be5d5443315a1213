//go:build interleave

package models

import (
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// marks is a Tried, or a twin of it with a planted bug.
type marks interface {
	add(number int) bool
	has(number int) bool
	len() int
}

type realMarks struct{ poise.Tried }

func (m *realMarks) add(n int) bool { return m.Add(fmt.Sprint(n), 0) }
func (m *realMarks) has(n int) bool { return m.Has(fmt.Sprint(n), 0) }
func (m *realMarks) len() int       { return m.Len() }

// buggyMarks keeps its entries in hooked cells, so that the bug is one of order
// and not a data race; and in a plain array, where it is both.
type buggyMarks struct {
	mu       explore.Mutex
	count    explore.Int64
	entries  [8]explore.Int64
	plain    [8]int64
	unlocked bool // Add looks outside the lock
	early    bool // the count is stored before the entry
	racy     bool // entries are plain
}

func (m *buggyMarks) add(n int) bool {
	if m.unlocked && m.has(n) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.unlocked && m.has(n) {
		return false
	}
	at := m.count.Load()
	if m.early {
		m.count.Store(at + 1)
	}
	if m.racy {
		m.plain[at] = int64(n) + 1
	} else {
		m.entries[at].Store(int64(n) + 1)
	}
	if !m.early {
		m.count.Store(at + 1)
	}
	return true
}

func (m *buggyMarks) has(n int) bool {
	for i := range m.count.Load() {
		if m.racy && m.plain[i] == int64(n)+1 || !m.racy && m.entries[i].Load() == int64(n)+1 {
			return true
		}
	}
	return false
}

func (m *buggyMarks) len() int { return int(m.count.Load()) }

// Claim: Has reports exactly the incarnations that Add was given.
// Claim: Add of an incarnation it already names returns false and changes nothing.
func TestTried_AddsAndLooksInAnyOrder(t *testing.T) {
	for _, filled := range []int{0, 3, 4} { // four are held inline, the fifth is not
		t.Run(fmt.Sprintf("%d_before", filled), func(t *testing.T) {
			with := func(m marks) func() marks {
				return func() marks {
					if _, real := m.(*realMarks); real {
						m = new(realMarks)
					} else {
						b := m.(*buggyMarks)
						m = &buggyMarks{unlocked: b.unlocked, early: b.early, racy: b.racy}
					}
					for i := range filled {
						m.add(10 + i)
					}
					return m
				}
			}
			var before []seq.Op
			for i := range filled {
				before = append(before, seq.Op{Name: "Add", Arg: 10 + i, Result: true})
			}
			add := func(n int) func(marks, *explore.T) {
				return func(m marks, h *explore.T) { h.Call("Add", n, func() any { return m.add(n) }) }
			}
			explore.Check(t, explore.Model[marks]{
				Name:     fmt.Sprintf("Tried: two adds of one, one of another, and a look, after %d", filled),
				NotShown: "More than one look, and sets over six.",
				New:      with(new(realMarks)),
				Tasks: []explore.Task[marks]{
					{Name: "adder 0", Body: add(0)},
					{Name: "adder 1", Body: func(m marks, h *explore.T) { add(0)(m, h); add(1)(m, h) }},
					{Name: "reader", Body: func(m marks, h *explore.T) {
						h.Call("Len", nil, func() any { return m.len() })
						h.Call("Has", 0, func() any { return m.has(0) })
						h.Call("Has", 1, func() any { return m.has(1) })
					}},
				},
				Outcome: results[marks],
				Spec:    seq.After(seq.Marks(), before...),
				Bugs: []explore.Bug[marks]{
					bug("look outside the lock", "history", with(&buggyMarks{unlocked: true})),
					bug("count before entry", "history", with(&buggyMarks{early: true})),
					bug("count before plain entry", "race", with(&buggyMarks{early: true, racy: true})),
				},
			})
		})
	}
}
