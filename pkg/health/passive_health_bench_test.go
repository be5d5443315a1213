package health_test

import (
	"fmt"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func BenchmarkPassiveHealth(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("success/n=%d", n), func(b *testing.B) {
			_, endpoints := benchmarkFleet(b, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				e := endpoints[i]
				if i++; i == n {
					i = 0
				}
				c := e.Begin(passiveStart)
				e.Answered(&c, poise.Result{}, passiveStart)
				e.End(&c, poise.Result{}, passiveStart)
			}
		})
		b.Run(fmt.Sprintf("one in ten fails/n=%d", n), func(b *testing.B) {
			p, endpoints := benchmarkFleet(b, n)
			b.ReportAllocs()
			i, now := 0, passiveStart
			for b.Loop() {
				i++
				e := endpoints[i%n]
				r := poise.Result{}
				if i%10 == 0 {
					r.Outcome = poise.Failure
				}
				c := e.Begin(now)
				e.End(&c, r, now)
				if i%1000 == 0 {
					now = now.Add(100 * time.Millisecond)
					p.Advance(now, 0)
				}
			}
		})
		b.Run(fmt.Sprintf("advance/n=%d", n), func(b *testing.B) {
			p, _ := benchmarkFleet(b, n)
			b.ReportAllocs()
			now := passiveStart
			for b.Loop() {
				now = now.Add(100 * time.Millisecond)
				p.Advance(now, 0)
			}
		})
		b.Run(fmt.Sprintf("trial of nobody/n=%d", n), func(b *testing.B) {
			p, _ := benchmarkFleet(b, n)
			b.ReportAllocs()
			for b.Loop() {
				p.Trial(true, nil, passiveStart)
			}
		})
	}
}

var passiveStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func benchmarkFleet(tb testing.TB, n int) (*health.PassiveHealth, []*health.PassiveEndpoint) {
	tb.Helper()
	p := newPassive(tb, health.PassiveHealthConfig{Seed: 1})
	var endpoints []*health.PassiveEndpoint
	for i := range n {
		endpoints = append(endpoints, p.Add(i, passiveStart))
	}
	return p, endpoints
}

func newPassive(tb testing.TB, cfg health.PassiveHealthConfig) *health.PassiveHealth {
	tb.Helper()
	p, err := health.NewPassiveHealth(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
