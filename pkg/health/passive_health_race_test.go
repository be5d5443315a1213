package health_test

import (
	"sync"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: At most one trial of an endpoint runs at once.
//
// Eight goroutines make calls of every outcome while a ninth advances, adds and removes.
func TestPassiveHealth_HoldsUnderManyCallers(t *testing.T) {
	p := newPassive(t, health.PassiveHealthConfig{Seed: 1, UnreachableBackoff: 1, Backoff: 1, MaxBackoff: 1, TrialShare: 1, Trials: 8})
	var endpoints []*health.PassiveEndpoint
	for i := range 6 {
		endpoints = append(endpoints, p.Add(i, passiveStart))
	}
	const each = 4000
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for i := range each {
				now := passiveStart.Add(time.Duration(i*8+k) * time.Millisecond)
				e := endpoints[(i+k)%len(endpoints)]
				var c health.PassiveCall
				if claimed, call, ok := p.Trial(i%2 == 0, func(any) bool { return true }, now); ok {
					e, c = claimed, call
				} else {
					c = e.Begin(now)
				}
				if share := e.Share(now); share <= 0 || share > 1 {
					t.Errorf("the share is %v", share)
				}
				r := poise.Result{Outcome: outcomes[(i*7+k)%len(outcomes)]}
				if i%3 == 0 {
					e.Answered(&c, r, now)
				}
				e.End(&c, r, now)
				e.Ejected()
				e.Serves()
				e.Full()
				e.Sound()
				p.OverloadedShare(now)
			}
		})
	}
	group.Go(func() {
		for i := range each / 4 {
			now := passiveStart.Add(time.Duration(i*32) * time.Millisecond)
			p.Advance(now, 0)
			extra := p.Add("extra", now)
			c := extra.Begin(now)
			extra.End(&c, poise.Result{Outcome: poise.Unreachable}, now)
			extra.Probe(true, now)
			p.Remove(extra, now)
		}
	})
	group.Wait()
	now := passiveStart.Add(time.Hour)
	for range 200 { // whoever is out comes back, so that nothing has been lost
		now = now.Add(100 * time.Millisecond)
		p.Advance(now, 0)
		for _, e := range endpoints {
			if claimed, c, ok := p.Trial(true, func(any) bool { return true }, now); ok {
				claimed.End(&c, poise.Result{}, now)
			}
			c := e.Begin(now)
			e.End(&c, poise.Result{}, now)
		}
	}
	for i, e := range endpoints {
		if in := e.Inspect(now); in.State != health.Serving || in.TrialRunning || in.Run != 0 || in.Share != 1 {
			t.Errorf("endpoint %d is %+v", i, in)
		}
	}
	if _, ok := p.LeastRecentlyTried(func(any) bool { return true }, now); ok {
		t.Error("somebody is among the ejected")
	}
}
