package poisehttp_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Claim: ObserveState is told of every endpoint whose Reason a publication changed, in the order of publications.
func TestBalancer_TellsOfEveryChangeOfState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		requireTold := func(what, want string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(told, ", "); got != want {
				t.Errorf("%s: it was told %q, want %q", what, got, want)
			}
			told = nil
		}
		bad := failing(errBroken)
		list := members(bad, answering(200), answering(200))
		list[2].Status = poise.Draining
		refuses := false
		b := newBalancer(t, poisehttp.Config{
			Members: list, Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 1},
			ObserveState: func(s poisehttp.EndpointState) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, fmt.Sprintf("%s/%d %s", s.ID, s.Incarnation, s.Reason))
			},
			Policy: fixed{func(v *poise.View) (poise.Picker, error) {
				if refuses {
					return nil, errBroken
				}
				return new(policy.RoundRobin).Prepare(v)
			}},
		})
		requireTold("New", "")
		_, _ = get(t, b)
		requireTold("a failure", "a/1 ejected")
		pass(time.Second)
		requireTold("the end of the backoff", "a/1 eligible")
		for _, status := range []poise.Status{poise.Draining, poise.Draining, poise.Unavailable, poise.Ready} {
			_ = b.SetStatus("b", status)
		}
		requireTold("SetStatus", "b/2 draining, b/2 unavailable, b/2 eligible")
		refuses = true
		_ = b.SetStatus("b", poise.Draining)
		refuses = false
		_ = b.SetStatus("b", 77)
		_ = b.SetStatus("nobody", poise.Draining)
		requireTold("a change that failed", "")
		list[1].Status, list[2].Status = poise.Unavailable, poise.Ready
		_ = b.Update(append(list[1:], poisehttp.Member{ID: "d", Endpoint: answering(200), Status: poise.Draining}, poisehttp.Member{ID: "e", Endpoint: answering(200)}))
		requireTold("Update", "b/2 unavailable, c/3 eligible, d/4 draining")
		_ = b.Update([]poisehttp.Member{{ID: "b", Endpoint: answering(200)}, {ID: "d", Endpoint: answering(200), Status: poise.Draining}})
		requireTold("new lives", "b/6 eligible")
		_ = b.Close()
		requireTold("Close", "")
	})
}

// Claim: ObserveState never runs beside itself, holds no lock, and may call every method of the Balancer.
//
// Claim: ObserveState is told of every endpoint whose Reason a publication changed, in the order of publications.
func TestBalancer_TellsOfStatesOneAfterTheOther(t *testing.T) {
	const goroutines, changes = 4, 200
	var inside, count atomic.Int64
	last := map[string]poise.Reason{}
	b := newBalancer(t, poisehttp.Config{ObserveState: func(s poisehttp.EndpointState) {
		if inside.Add(1) != 1 {
			t.Error("it runs beside itself")
		}
		if last[s.ID] == s.Reason {
			t.Errorf("%s was told to be %s twice", s.ID, s.Reason)
		}
		last[s.ID] = s.Reason
		count.Add(1)
		inside.Add(-1)
	}}, answering(200), answering(200))
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			id := string(rune('a' + g%2))
			for i := range changes {
				_ = b.SetStatus(id, poise.Status(i%3))
			}
		})
	}
	group.Wait()
	for _, state := range b.Endpoints() {
		if last[state.ID] != state.Reason {
			t.Errorf("%s is %s and was told to be %s", state.ID, state.Reason, last[state.ID])
		}
	}
	if count.Load() < changes {
		t.Errorf("%d states were told", count.Load())
	}
}

// Claim: ObserveState never runs beside itself, holds no lock, and may call every method of the Balancer.
//
// Cases: B24.
func TestBalancer_LetsObserveStateCallIt(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *poisehttp.Balancer){
		"on the Balancer's goroutine": func(t *testing.T, b *poisehttp.Balancer) { _, _ = get(t, b) },
		"on a caller's goroutine":     func(_ *testing.T, b *poisehttp.Balancer) { _ = b.SetStatus("a", poise.Unavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a deadlock fails the bubble
				var b *poisehttp.Balancer
				var told []string
				list := members(failing(errBroken), answering(200), answering(200))
				b = newBalancer(t, poisehttp.Config{
					Members: list, Attempts: 1, Quarantine: poisehttp.QuarantineConfig{Failures: 1},
					ObserveState: func(s poisehttp.EndpointState) {
						told = append(told, s.ID)
						switch s.ID {
						case "a":
							_, _ = b.Endpoints(), b.PublishError()
							_ = b.SetStatus("b", poise.Draining)
							list[2].Status = poise.Draining
							_ = b.Update(list)
							_, _ = get(t, b)
						case "c":
							_ = b.Close()
							_ = b.Close()
						}
						panic(errBroken)
					},
				})
				change(t, b)
				synctest.Wait()
				if got := strings.Join(told, ""); got != "abc" {
					t.Errorf("it was told of %s", got)
				}
				if err := b.Update(nil); err != poisehttp.ErrClosed {
					t.Errorf("after Close: %v", err)
				}
				_ = b.Close()
			})
		})
	}
}
