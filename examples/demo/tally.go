package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// tally counts what the library's events and the callers say.
type tally struct {
	mu sync.Mutex
	// Guarded by mu.
	backends  map[string]*backendTally
	attempts  int
	retries   int
	endings   [endings]int
	latencies []time.Duration // of whole requests that were answered
	causes    map[string]int  // of requests that ended with a typed error
	strange   []string        // the first few endings that the library promises not to make
	exhibits  [len(exhibits)]*exhibit
}

// backendTally counts the attempts at one backend.
type backendTally struct {
	attempts  []attempt
	errors    int
	latencies []time.Duration // from admission to the end of the body, or the error
	// unheard are the requests that were sent here and given up before an answer:
	// they may begin at the server later than they ended at the client.
	unheard map[uint64]bool
}

// attempt is one request sent to one backend.
type attempt struct {
	number   uint64
	began    time.Time
	ordinary bool // neither a trial nor for want of anybody else
}

func newTally() *tally {
	return &tally{backends: map[string]*backendTally{}, causes: map[string]int{}}
}

// of returns what was counted of a backend. Requires mu.
func (t *tally) of(backend string) *backendTally {
	b := t.backends[backend]
	if b == nil {
		b = &backendTally{unheard: map[uint64]bool{}}
		t.backends[backend] = b
	}
	return b
}

// observe takes one event of the library: the end of an attempt.
func (t *tally) observe(e poisehttp.Event) {
	number := numberOf(e.Request.Header)
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.of(e.Endpoint)
	b.attempts = append(b.attempts, attempt{number, e.Began, e.Choice == observe.Picked || e.Choice == observe.Room})
	t.attempts++
	if e.Attempt > 1 {
		t.retries++
	}
	if e.Result.Outcome.IsFailure() || e.Late.Outcome.IsFailure() {
		b.errors++
	}
	if e.Status == 0 {
		b.unheard[number] = true
	}
	if e.Result.Outcome != poise.Cancelled {
		b.latencies = append(b.latencies, e.Total)
	}
	t.exhibit(number, e)
}

// ended takes the end of one request, as its caller saw it.
func (t *tally) ended(number uint64, how ending, err error, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endings[how]++
	if how == answered {
		t.latencies = append(t.latencies, took)
	}
	if how == typedError {
		t.causes[innermost(err).Error()]++
	}
	const few = 3
	if how == otherEnding && len(t.strange) < few {
		t.strange = append(t.strange, fmt.Sprintf("request %d: %v", number, err))
	}
}

// innermost returns the cause of an error, without all that was in between.
func innermost(err error) error {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return err
		}
		err = cause
	}
}

// exhibit is an attempt whose decision is worth showing.
type exhibit struct {
	title    string
	number   uint64
	event    poisehttp.Event
	decision *poise.Decision
}

// exhibits are the kinds of decisions to show one of each.
var exhibits = [...]struct {
	title string
	fits  func(poisehttp.Event) bool
}{
	{"a retry", func(e poisehttp.Event) bool { return e.Attempt > 1 && e.Decision.Tried > 0 }},
	{"a first attempt", func(e poisehttp.Event) bool { return e.Attempt == 1 && e.Decision.Rule != policy.RuleTieOfTwo }},
	{"backends ejected and draining", func(e poisehttp.Event) bool {
		return leftOut(e.Decision.View, poise.ExcludedEjected) && leftOut(e.Decision.View, poise.ExcludedDraining)
	}},
}

func leftOut(v *poise.View, why poise.Reason) bool {
	for i := range v.All() {
		if v.Reason(i) == why {
			return true
		}
	}
	return false
}

// exhibit keeps the first attempt of each kind. Requires mu.
func (t *tally) exhibit(number uint64, e poisehttp.Event) {
	if e.Decision == nil {
		return
	}
	for i, kind := range exhibits {
		if t.exhibits[i] == nil && kind.fits(e) {
			t.exhibits[i] = &exhibit{kind.title, number, e, e.Decision}
			return
		}
	}
}

// recent is how many of the last latencies the live view looks at.
const recent = 500

// last returns the last n of all.
func last(all []time.Duration, n int) []time.Duration { return all[max(0, len(all)-n):] }

// quantile returns the smallest of the values that at least the part q of them do
// not exceed: the nearest rank, exact, since every value is kept. It is 0 if there
// are none.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[max(rank, 1)-1]
}
