package poisehttp_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func newWard(t testing.TB, maxAside int, endpoints uint32) *poisehttp.Ward {
	t.Helper()
	w, err := poisehttp.NewWard(poisehttp.QuarantineConfig{Failures: 1, MaxAside: maxAside})
	if err != nil {
		t.Fatal(err)
	}
	w.Resize(endpoints)
	return w
}

// Claim: Enter succeeds exactly while fewer are inside than MaxAside percent of the endpoints, rounded down.
func TestWard_LetsInItsPercentRoundedDown(t *testing.T) {
	for _, row := range []struct {
		maxAside  int
		endpoints uint32
		want      int
	}{
		{0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 1}, {0, 4, 2}, {50, 9, 4},
		{100, 1, 1}, {100, 3, 3}, {1, 99, 0}, {1, 100, 1}, {99, 1, 0}, {33, 3, 0}, {34, 3, 1}, {67, 3, 2},
	} {
		w := newWard(t, row.maxAside, row.endpoints)
		inside := 0
		for w.Enter() {
			inside++
		}
		if inside != row.want {
			t.Errorf("%d %% of %d endpoints: %d went in, want %d", row.maxAside, row.endpoints, inside, row.want)
		}
	}
	full := newWard(t, 100, 1<<32-1)
	for range 1000 {
		if !full.Enter() {
			t.Fatal("the largest ward is full")
		}
	}
	w, err := poisehttp.NewWard(poisehttp.QuarantineConfig{})
	if err != nil || w.Enter() {
		t.Errorf("before Resize somebody went in: %v", err)
	}
}

// Claim: Resize puts nobody out: who is inside stays until it leaves.
func TestWard_ResizePutsNobodyOut(t *testing.T) {
	w := newWard(t, 50, 6)
	for range 3 {
		w.Enter()
	}
	w.Resize(2)
	for left := 3; left > 0; left-- {
		if w.Enter() {
			t.Fatalf("with %d inside another one went in", left)
		}
		w.Leave()
	}
	if !w.Enter() || w.Enter() {
		t.Error("the bound is not 1")
	}
	w.Resize(4)
	if !w.Enter() || w.Enter() {
		t.Error("the bound is not 2")
	}
}

// Claim: Enter and Leave by several goroutines bring the number inside above the bound at no instant.
func TestWard_HoldsUnderStress(t *testing.T) {
	const bound = 3
	w := newWard(t, 50, 2*bound)
	var inside atomic.Int64
	var entered [8]int
	var group sync.WaitGroup
	for g := range entered {
		group.Go(func() {
			for range 2000 {
				if !w.Enter() {
					continue
				}
				entered[g]++
				if n := inside.Add(1); n > bound {
					t.Errorf("%d are inside", n)
				}
				inside.Add(-1)
				w.Leave()
			}
		})
	}
	group.Wait()
	for range bound {
		if !w.Enter() {
			t.Fatal("a place was lost")
		}
	}
	if w.Enter() {
		t.Error("a place was gained")
	}
}

func TestNewWard_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, maxAside := range []int{-1, 101} {
		_, err := poisehttp.NewWard(poisehttp.QuarantineConfig{MaxAside: maxAside})
		requireField(t, err, "Quarantine.MaxAside", poisehttp.ErrOutOfRange)
	}
	_, err := poisehttp.NewWard(poisehttp.QuarantineConfig{Failures: -1})
	requireField(t, err, "Quarantine.Failures", poisehttp.ErrOutOfRange)
}

// Claim: A Quarantine whose Ward is full stays admitting instead, and asks again at its next failure.
func TestQuarantine_AsksAgainWhereItsWardIsFull(t *testing.T) {
	w := newWard(t, 50, 2)
	first, second := w.Quarantine(), w.Quarantine()
	if !first.Report(admit(t, first), poise.Failure, start, nil) {
		t.Fatal("the first was not set aside")
	}
	for range 3 {
		if second.Report(admit(t, second), poise.Failure, start, nil) || second.Aside() {
			t.Fatal("both are aside")
		}
	}
	first.Return(start.Add(time.Second))
	if second.Aside() {
		t.Error("it went aside by itself")
	}
	if !second.Report(admit(t, second), poise.Failure, start, nil) {
		t.Error("it did not ask again")
	}
	if first.Report(admit(t, first), poise.Failure, start, nil) {
		t.Error("both are aside")
	}
}

// Claim: Retire is final: the endpoint is not aside, and is never set aside again.
func TestQuarantine_IsNeverSetAsideOnceRetired(t *testing.T) {
	w := newWard(t, 50, 2)
	gone, other := w.Quarantine(), w.Quarantine()
	late := admit(t, gone)
	gone.Report(admit(t, gone), poise.Failure, start, nil)
	for range 2 {
		gone.Retire()
		if gone.Aside() || gone.Return(start) != 0 {
			t.Error("it is aside")
		}
	}
	for _, p := range []poisehttp.Permit{late, admit(t, gone)} {
		if gone.Report(p, poise.Failure, start, nil) || gone.Aside() {
			t.Error("it was set aside")
		}
	}
	if !other.Report(admit(t, other), poise.Failure, start, nil) {
		t.Error("it kept its place in the ward")
	}
	if w.Enter() {
		t.Error("it gave its place back twice")
	}
}

// A group of quarantines under a cap, against a list of who is aside.
//
// Claim: A Quarantine is in its Ward exactly while its endpoint is aside.
//
// Claim: Enter succeeds exactly while fewer are inside than MaxAside percent of the endpoints, rounded down.
//
// Claim: A Quarantine whose Ward is full stays admitting instead, and asks again at its next failure.
func TestWard_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.IntRange(1, 3).Draw(t, "failures")
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		size := rapid.Uint32Range(0, 6).Draw(t, "size")
		w, err := poisehttp.NewWard(poisehttp.QuarantineConfig{Failures: failures, MaxAside: percent, Backoff: 1, MaxBackoff: 1})
		if err != nil {
			t.Fatal(err)
		}
		w.Resize(size)
		type twin struct {
			*poisehttp.Quarantine
			row            int
			again          bool // it was aside since its last success
			aside, retired bool
		}
		group := make([]twin, 5)
		for i := range group {
			group[i].Quarantine = w.Quarantine()
		}
		now := start
		for step, word := range rapid.SliceOf(rapid.Uint8()).Draw(t, "script") {
			q := &group[int(word>>4)%len(group)]
			inside := uint32(0)
			for i := range group {
				if group[i].aside {
					inside++
				}
			}
			switch word & 15 {
			default:
				permit, err := q.Admit()
				if (err != nil) != q.aside {
					t.Fatalf("step %d: aside is %t and Admit answers %v", step, q.aside, err)
				}
				if err != nil {
					break
				}
				q.row++
				want := !q.retired && (q.row >= failures || q.again) && 100*(inside+1) <= size*uint32(percent)
				if got := q.Report(permit, poise.Failure, now, nil); got != want {
					t.Fatalf("step %d: %d of %d endpoints are aside, at most %d %%; Report is %t", step, inside, size, percent, got)
				}
				if want {
					q.aside, q.again, q.row = true, true, 0
				}
			case 10, 11:
				if permit, err := q.Admit(); err == nil {
					q.Report(permit, poise.Success, now, nil)
					q.row, q.again = 0, false
				}
			case 12, 13:
				now = now.Add(1)
				q.Return(now)
				q.aside = false
			case 14:
				size = uint32(word>>4) % 7
				w.Resize(size)
			case 15:
				if word>>4 < 5 { // seldom, for it is final
					q.Retire()
					q.aside, q.retired = false, true
				}
			}
			for i := range group {
				if group[i].Aside() != group[i].aside {
					t.Fatalf("step %d: Aside of %d is %t", step, i, group[i].Aside())
				}
			}
		}
	})
}

// asideOf returns how many endpoints a Balancer shows as set aside.
func asideOf(b *poisehttp.Balancer) (aside int) {
	for _, state := range b.Endpoints() {
		if state.Reason == poise.ExcludedEjected {
			aside++
		}
	}
	return aside
}

// One URL that no backend can serve.
//
// Claim: No more than Quarantine.MaxAside percent of the endpoints are set aside at once; after Update, those beyond it come back before their time.
//
// Cases: B17.
func TestBalancer_KeepsServingThoughEveryEndpointFailsAtOneURL(t *testing.T) {
	for endpoints, most := range map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 9: 4} {
		synctest.Test(t, func(t *testing.T) {
			var list []poisehttp.Endpoint
			for range endpoints {
				list = append(list, &fake{answer: func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/bad" {
						return reply(500, "bad"), nil
					}
					return reply(200, "good"), nil
				}})
			}
			b := newBalancer(t, poisehttp.Config{}, list...)
			bad := newRequest(t, http.MethodGet, nil)
			bad.URL.Path = "/bad"
			for range 20 * endpoints {
				if status, err := do(b, bad); status != 500 || err != nil {
					t.Fatalf("got %d, %v", status, err)
				}
				synctest.Wait()
				if n := asideOf(b); n > most {
					t.Fatalf("%d of %d are set aside", n, endpoints)
				}
			}
			if n := asideOf(b); n != most {
				t.Errorf("%d of %d are set aside, want %d", n, endpoints, most)
			}
			if status, err := get(t, b); status != 200 || err != nil {
				t.Errorf("got %d, %v", status, err)
			}
		})
	}
}

// Claim: No more than Quarantine.MaxAside percent of the endpoints are set aside at once; after Update, those beyond it come back before their time.
func TestBalancer_BringsBackWhomUpdateLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := members(failing(errBroken), failing(errBroken), answering(200), answering(200))
		b := newBalancer(t, poisehttp.Config{
			Members: list, Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
		})
		for range 4 {
			_, _ = get(t, b)
		}
		synctest.Wait()
		if n := asideOf(b); n != 2 {
			t.Fatalf("%d of 4 are set aside", n)
		}
		for _, step := range []struct{ endpoints, aside int }{{3, 1}, {2, 1}, {1, 0}} {
			if err := b.Update(list[:step.endpoints]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := asideOf(b); n != step.aside {
				t.Errorf("%d of %d are set aside, want %d", n, step.endpoints, step.aside)
			}
		}
	})
}

// Claim: Retire is final: the endpoint is not aside, and is never set aside again.
func TestBalancer_GivesThePlaceOfARemovedEndpointBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := &fake{answer: func(*http.Request) (*http.Response, error) {
			<-release
			return nil, errBroken
		}}
		list := members(slow, failing(errBroken), answering(200))
		b := newBalancer(t, poisehttp.Config{
			Members: list, Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 1, Backoff: time.Hour, MaxBackoff: time.Hour},
		})
		var group sync.WaitGroup
		group.Go(func() { _, _ = get(t, b) })
		synctest.Wait()
		if err := b.Update(list[1:]); err != nil {
			t.Fatal(err)
		}
		close(release)
		group.Wait() // the one that was removed fails, and takes no place
		for range 2 {
			_, _ = get(t, b)
		}
		synctest.Wait()
		if got := b.Endpoints()[0]; got.Reason != poise.ExcludedEjected {
			t.Errorf("%+v", got)
		}
	})
}
