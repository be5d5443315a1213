//go:build interleave

package models

import (
	"fmt"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// pair is two endpoints of which one may be aside, or a twin with a planted bug.
type pair interface {
	fail(endpoint int) (aside bool)
	back(endpoint int)
	aside() int
}

type realPair [2]*poisehttp.Quarantine

func newPair() pair {
	w, err := poisehttp.NewWard(poisehttp.QuarantineConfig{Failures: 1, Backoff: 1, MaxBackoff: 1, MaxAside: 50})
	if err != nil {
		panic(err)
	}
	w.Resize(2)
	return realPair{w.Quarantine(), w.Quarantine()}
}

func (p realPair) fail(endpoint int) bool {
	q := p[endpoint]
	permit, err := q.Admit()
	return err == nil && q.Report(permit, poise.Failure, time.Unix(0, 0), poise.NewGenerator(1))
}

func (p realPair) back(endpoint int) { p[endpoint].Return(time.Unix(0, 1)) }

func (p realPair) aside() (n int) {
	for _, q := range p {
		if q.Aside() {
			n++
		}
	}
	return n
}

// buggyPair counts who is aside and looks at the count before it goes up.
type buggyPair struct{ inside explore.Int64 }

func (p *buggyPair) fail(int) bool {
	if p.inside.Load() >= 1 {
		return false
	}
	p.inside.Add(1)
	return true
}

func (p *buggyPair) back(int)   { p.inside.Add(-1) }
func (p *buggyPair) aside() int { return int(p.inside.Load()) }

// Claim: Enter and Leave by several goroutines bring the number inside above the bound at no instant.
// Claim: A Quarantine whose Ward is full stays admitting instead, and asks again at its next failure.
func TestQuarantine_TwoThatFailAtOnceWithOnePlaceInTheirWard(t *testing.T) {
	explore.Check(t, explore.Model[pair]{
		Name:     "ward: two endpoints that fail at once, of which one may be aside",
		NotShown: "A ward that is resized meanwhile; larger bounds.",
		New:      newPair,
		Tasks: numbered(2, "call", func(endpoint int, p pair, h *explore.T) {
			h.Call("Fail", endpoint, func() any { return p.fail(endpoint) })
		}),
		Final: func(p pair, _ *explore.Run) error {
			if n := p.aside(); n != 1 {
				return fmt.Errorf("%d endpoints are aside", n)
			}
			return nil
		},
		Outcome: results[pair],
		Bugs:    []explore.Bug[pair]{bug("look first and enter second", "final", func() pair { return new(buggyPair) })},
	})
}

// Claim: A Quarantine is in its Ward exactly while its endpoint is aside.
func TestQuarantine_ReturnAgainstAFailureElsewhere(t *testing.T) {
	explore.Check(t, explore.Model[pair]{
		Name:     "ward: an endpoint that comes back against two failures of another",
		NotShown: "A ward that is resized meanwhile; larger bounds.",
		New: func() pair {
			p := newPair()
			p.fail(0)
			return p
		},
		Tasks: []explore.Task[pair]{
			{Name: "control", Body: func(p pair, _ *explore.T) { p.back(0) }},
			{Name: "call", Body: func(p pair, h *explore.T) {
				for range 2 {
					h.Call("Fail", 1, func() any { return p.fail(1) })
				}
			}},
		},
		Final: func(p pair, r *explore.Run) error {
			entered := 0
			for _, op := range r.History {
				if op.Result == true {
					entered++
				}
			}
			if n := p.aside(); n != entered {
				return fmt.Errorf("%d endpoints are aside, and the ward let %d in", n, entered)
			}
			return nil
		},
		Outcome: results[pair],
	})
}
