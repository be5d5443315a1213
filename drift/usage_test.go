package drift

import "testing"

func TestUsage(t *testing.T) { judge(t, Usage) }

const soundUsage = `
-- drift/lattice.txt --
clock in pkg/dispatch/dispatch.go, pkg/health/runner.go   # drivers
goroutine in pkg/dispatch/dispatch.go, pkg/health/runner.go   # drivers
goroutine in pkg/policytest/laws.go, pkg/internal/syncx/event.go   # tests, and the door
-- pkg/inflight.go --
// Explorable.

package poise

import (
	"time"

	"example.com/m/pkg/internal/syncx"
)

// InFlight counts.
type InFlight struct {
	used syncx.Uint64
	mu   syncx.Mutex
}

// Load takes the instant.
func (f *InFlight) Load(now time.Time) time.Duration { return -now.Sub(now) }
-- pkg/tried.go --
package poise

// Explorable.

import "fmt"
-- pkg/dispatch/dispatch.go --
package dispatch

import "time"

func run() { go println(time.Now()) }
-- pkg/health/runner.go --
package health

import "time"

func run() { go println(time.Tick(1)) }
-- pkg/policytest/laws.go --
package policytest

func run() { go println() }
-- pkg/internal/syncx/event.go --
package syncx

func Go(f func()) { go f() }
-- pkg/a_test.go --
package poise_test

import "time"

func TestA(t *testing.T) { go println(time.Now()) }
`

func TestUsage_ReportsEveryFault(t *testing.T) {
	plant(t, Usage, soundUsage, []fault{
		{"a clock in the library, under any name and as a value", `
-- pkg/more.go --
package poise

import (
	"context"
	clock "time"
)

var now = clock.Now

func more() { context.WithTimeout(nil, clock.Second); clock.Sleep(1) }
-- pkg/health/circuit.go --
package health

import "time"

func more() { time.Since(time.Time{}) }
`, []string{
			"pkg/more.go:8 time.Now keeps a clock", "pkg/more.go:10 context.WithTimeout keeps a clock",
			"pkg/more.go:10 time.Sleep keeps a clock", "pkg/health/circuit.go:5 time.Since keeps a clock",
		}},
		{"a goroutine in the library", `
-- pkg/policy/more.go --
package policy

func more(wg *syncx.WaitGroup) {
	go println()
	syncx.Go(more)
	wg.Go(more)
}
`, []string{
			"pkg/policy/more.go:4 starts a goroutine", "pkg/policy/more.go:5 starts a goroutine", "pkg/policy/more.go:6 starts a goroutine",
		}},
		{"a clock and a goroutine beside a file that may have them", `
-- pkg/dispatch/more.go --
package dispatch

import "time"

func more() { go println(time.Now()) }
`, []string{"pkg/dispatch/more.go:5 time.Now keeps a clock", "pkg/dispatch/more.go:5 starts a goroutine"}},
		{"a permission that nothing needs, and one for a folder", `
-- pkg/health/runner.go --
package health

import "time"

func run() { println(time.Tick(1)) }
-- pkg/dispatch/dispatch.go --
`, []string{
			"drift/lattice.txt:1 pkg/dispatch/dispatch.go needs no clock", "drift/lattice.txt:2 pkg/dispatch/dispatch.go needs no goroutine",
			"drift/lattice.txt:2 pkg/health/runner.go needs no goroutine",
		}},
		{"evidence that looks at private names", `
-- spec/replay/a_test.go --
package replay_test

import (
	"reflect"
	"runtime"
)

func look(v any) { reflect.ValueOf(v).Elem().FieldByName("used"); runtime.Callers(1, nil) }
`, []string{"spec/replay/a_test.go:8 private names by FieldByName", "spec/replay/a_test.go:8 private names by Callers"}},
		{"a sleeping test, anywhere", `
-- fuzz/a_test.go --
package fuzz

import "time"

func TestA(t *testing.T) { time.Sleep(1) }
`, []string{"fuzz/a_test.go:5 a test sleeps"}},
		{"an explorable file with everything that no explorer schedules", `
-- pkg/dispatch/slots.go --
// Explorable.

package dispatch

import (
	"sync"
	"time"

	"example.com/m/pkg/internal/syncx"
)

type Slots struct {
	c chan int
	p sync.Pool
	m syncx.Map
}

func (s *Slots) run() {
	s.c <- 1
	<-s.c
	select {}
	go println()
	time.After(1)
	time.NewTimer(1)
}
`, []string{
			"pkg/dispatch/slots.go:13 a channel type", "pkg/dispatch/slots.go:14 sync.Pool", "pkg/dispatch/slots.go:15 syncx.Map",
			"pkg/dispatch/slots.go:19 a send", "pkg/dispatch/slots.go:20 a receive", "pkg/dispatch/slots.go:21 a select",
			"pkg/dispatch/slots.go:22 a go statement", "pkg/dispatch/slots.go:23 time.After, which no", "pkg/dispatch/slots.go:24 time.NewTimer, which no",
			"pkg/dispatch/slots.go:22 starts a goroutine", "pkg/dispatch/slots.go:23 time.After keeps", "pkg/dispatch/slots.go:24 time.NewTimer keeps",
		}},
		{"a mark that stands too low to be seen", `
-- pkg/more.go --
package poise

// More is more.
//
// Explorable.
type More struct{}

// Explorable.
`, []string{"pkg/more.go:8 stands below a declaration"}},
	})
}
