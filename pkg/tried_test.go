package poise_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Claim: Has reports exactly the incarnations that Add was given.
//
// The sizes are those at which the entries outgrow their places.
func TestTried_HasExactlyWhatWasAdded(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 5, 8, 9, 40} {
		tried := new(poise.Tried)
		for i := range n {
			if tried.Len() != i {
				t.Errorf("of %d the length is %d", i, tried.Len())
			}
			if !tried.Add(strconv.Itoa(i), uint64(i)) {
				t.Errorf("%d was not new", i)
			}
		}
		for i := range n + 2 {
			if got := tried.Has(strconv.Itoa(i), uint64(i)); got != (i < n) {
				t.Errorf("of %d, Has(%d) is %t", n, i, got)
			}
		}
	}
}

// Claim: Add of an incarnation it already names returns false and changes nothing.
func TestTried_AddOfAKnownOneChangesNothing(t *testing.T) {
	tried := new(poise.Tried)
	for i := range 7 {
		tried.Add(strconv.Itoa(i), 1)
		for known := range i + 1 {
			if tried.Add(strconv.Itoa(known), 1) {
				t.Errorf("%d was new a second time", known)
			}
		}
		if tried.Len() != i+1 {
			t.Errorf("of %d the length is %d", i+1, tried.Len())
		}
	}
}

// Claim: Another incarnation of the same identity is not tried.
func TestTried_TellsIncarnationsApart(t *testing.T) {
	tried := new(poise.Tried)
	tried.Add("a", 1)
	if tried.Has("a", 2) || tried.Has("a", 0) || tried.Has("b", 1) || !tried.Has("a", 1) {
		t.Error("it does not hold incarnation 1 of a alone")
	}
	if !tried.Add("a", 2) || tried.Len() != 2 {
		t.Error("a later incarnation was not new")
	}
}

func TestTried_NilAndZeroNameNone(t *testing.T) {
	for _, tried := range []*poise.Tried{nil, new(poise.Tried)} {
		if tried.Len() != 0 || tried.Has("", 0) {
			t.Errorf("it names %d", tried.Len())
		}
	}
}

// Claim: Has reports exactly the incarnations that Add was given.
//
// Claim: Add of an incarnation it already names returns false and changes nothing.
func TestTried_TakesEachOnceFromManyGoroutines(t *testing.T) {
	const goroutines, lives = 4, 24
	for range 50 {
		tried := new(poise.Tried)
		var news atomic.Int64
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for k := range lives {
					// Each goroutine adds all of them, in an order of its own.
					id := strconv.Itoa((k + g*5) % lives)
					if tried.Add(id, 0) {
						news.Add(1)
					}
					if !tried.Has(id, 0) {
						t.Errorf("%s was added and is not seen", id)
					}
				}
			})
		}
		wg.Go(func() {
			seen := 0
			for seen < lives {
				n := tried.Len()
				if n < seen {
					t.Errorf("the length fell from %d to %d", seen, n)
					return
				}
				seen = n
				tried.Has("stranger", 0)
			}
		})
		wg.Wait()
		if news.Load() != lives || tried.Len() != lives {
			t.Fatalf("%d were new, the length is %d, want %d", news.Load(), tried.Len(), lives)
		}
	}
}

// The race detector finds a View that reads entries which Add still writes.
func TestTried_MayGrowWhileAViewReadsIt(t *testing.T) {
	samples := named(20)
	v := view(t, samples...)
	tried := new(poise.Tried)
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, s := range samples {
			tried.Add(s.ID, 0)
		}
	})
	wg.Go(func() {
		last := len(samples)
		for last > 0 {
			u := v.Untried(tried)
			if u.Len() > last {
				t.Errorf("untried grew from %d to %d", last, u.Len())
				return
			}
			last = u.Len()
		}
	})
	wg.Wait()
}
