package observe_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Claim: An Attempt tells of its first End, and of no other.
//
// Claim: An AttemptObserver is told once of each Attempt, when it ends.
//
// Claim: An instant before the beginning counts as the beginning.
func TestAttempt_TellsOnce(t *testing.T) {
	m := new(observe.Metrics)
	began := time.Unix(1, 0)
	a := observe.Begin(m, began)
	if !a.End(poise.Overloaded, began.Add(7*time.Millisecond)) || a.End(poise.Success, began) {
		t.Error("an attempt ends twice, or not at all")
	}
	s := m.Snapshot()
	if s.Attempts(observe.AttemptOverloaded) != 1 || s.AttemptTime().Count() != 1 || s.AttemptTime().Seconds() != 0.007 {
		t.Errorf("it told of %d attempts of %v s", s.AttemptTime().Count(), s.AttemptTime().Seconds())
	}
	var took attemptTimes
	observe.Begin(&took, began).End(poise.Success, began.Add(-time.Hour))
	if len(took) != 1 || took[0] != 0 {
		t.Errorf("an end before the beginning took %v", took)
	}
	if !new(observe.Attempt).End(poise.Success, began) || !observe.Begin(nil, began).End(poise.Success, began) {
		t.Error("an attempt without an observer does not end")
	}
}

func TestAttempt_ManyEndsTellOnce(t *testing.T) {
	var told, ended atomic.Int64
	a := observe.Begin(countAttempts{&told}, time.Time{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if a.End(poise.Success, time.Time{}) {
				ended.Add(1)
			}
		})
	}
	group.Wait()
	if told.Load() != 1 || ended.Load() != 1 {
		t.Errorf("%d ends, told %d times", ended.Load(), told.Load())
	}
}

// attemptTimes writes down how long attempts took.
type attemptTimes []time.Duration

func (l *attemptTimes) Attempted(a observe.Attempted) { *l = append(*l, a.Took) }

type countAttempts struct{ n *atomic.Int64 }

func (c countAttempts) Attempted(observe.Attempted) { c.n.Add(1) }
