package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

// trial is one run, from the first listener to the last goroutine.
type trial struct {
	settings   settings
	goroutines int // before it
	began      time.Time
	backends   []backend
	script     []step // what is left of it
	balancer   *dispatch.Balancer
	tally      *tally
	traffic    *traffic

	watch    watch
	drainage *drainage // nil until a backend is drained
	notes    []note
}

// note is something that happened.
type note struct {
	at   time.Duration
	text string
}

// newTrial starts the servers and sets the library up.
func newTrial(s settings) (*trial, error) {
	t := &trial{settings: s, goroutines: runtime.NumGoroutine(), began: time.Now()}
	t.traffic = &traffic{settings: s}
	if s.own() {
		t.backends = ownBackends(s.backends)
		// The library connects to the backends whatever host a request names; a
		// request names one logical service.
		t.traffic.origin = "http://" + s.backends[0]
	} else {
		var err error
		if t.backends, err = startBackends(); err != nil {
			return nil, err
		}
		t.script = script
		t.traffic.origin = "http://demo.invalid"
	}
	t.tally = newTally(t.backends)
	t.traffic.tally = t.tally
	var err error
	if t.balancer, err = newBalancer(s, t.backends, t.tally); err != nil {
		killServers(t.backends)
		return nil, err
	}
	t.traffic.client = &http.Client{
		Transport:     t.balancer,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t, nil
}

func (t *trial) backend(name string) backend {
	return t.backends[slices.IndexFunc(t.backends, func(b backend) bool { return b.name == name })]
}

func (t *trial) note(format string, args ...any) {
	t.notes = append(t.notes, note{time.Since(t.began), fmt.Sprintf(format, args...)})
}

// run makes one run and reports it.
func run(ctx context.Context, s settings, screen *screen) (report, error) {
	t, err := newTrial(s)
	if err != nil {
		return report{}, err
	}
	return t.perform(ctx, screen)
}

// perform lets the traffic flow, follows the script, shows what happens, and
// judges it when all has ended. An error means that the script could not be
// followed.
func (t *trial) perform(ctx context.Context, screen *screen) (report, error) {
	traffic, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.traffic.run(traffic)
	}()
	scriptErr := t.direct(traffic, ended, screen)
	stop()
	// Whatever happens, a request ends in time; if it does not, that is for the
	// promises to say.
	t.await(ended)
	e := t.evidence()
	states := t.balancer.Endpoints()
	screen.draw(t.picture(states, recent))
	took := time.Since(t.began)

	_ = t.balancer.Close()
	killServers(t.backends)
	e.goroutines = t.goroutinesLeft()
	return t.report(states, e, took, ctx.Err() != nil), scriptErr
}

// glance is how often the trial looks at the endpoints.
const glance = 20 * time.Millisecond

// direct follows the script until the traffic has ended, or a step has failed.
func (t *trial) direct(ctx context.Context, ended <-chan struct{}, screen *screen) error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	interrupted := ctx.Done()
	for {
		select {
		case <-ended:
			return nil
		case <-interrupted:
			t.note("interrupted: no new requests, waiting for those under way")
			interrupted = nil
		case <-ticker.C:
		}
		states := t.look()
		if err := t.follow(ctx); err != nil {
			return err
		}
		if screen.due() {
			screen.draw(t.picture(states, recent))
		}
	}
}

// follow takes the steps of the script that are due.
func (t *trial) follow(ctx context.Context) error {
	part := float64(t.traffic.begun.Load()) / float64(t.settings.requests)
	for len(t.script) > 0 && t.script[0].at <= part && ctx.Err() == nil {
		text, err := t.script[0].do(ctx, t)
		if err != nil {
			return err
		}
		t.note("%s", text)
		t.script = t.script[1:]
	}
	return nil
}

// look reads the state of the endpoints, and notes what has changed.
func (t *trial) look() []dispatch.EndpointState {
	from := time.Now()
	states := t.balancer.Endpoints()
	to := time.Now()
	for _, s := range states {
		switch t.watch.look(s.ID, s.Reason == poise.ExcludedSetAside, from, to) {
		case gone:
			t.note("%s is set aside: its last calls failed", s.ID)
		case back:
			t.note("%s is back", s.ID)
		}
		if d := t.drainage; d != nil && d.backend == s.ID && d.quiet < 0 && s.InFlight == 0 {
			d.quiet = len(t.backend(s.ID).server.began())
		}
	}
	return states
}

// await waits for the end of the traffic, but not for ever.
func (t *trial) await(ended <-chan struct{}) {
	timer := time.NewTimer(2 * t.settings.patience.whole)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// settled asks until the answer is yes, or for so long.
func settled(patience time.Duration, ask func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !ask() {
		if !wait(ctx, 5*time.Millisecond) {
			return ask()
		}
	}
	return true
}

// evidence gathers what the promises are judged by, but for the goroutines.
func (t *trial) evidence() evidence {
	e := evidence{
		arrivals:  map[string][]arrival{},
		attempts:  map[string][]attempt{},
		sightings: t.watch.sightings,
		drainage:  t.drainage,
		held:      map[string]uint64{},
		endpoints: len(t.backends),
	}
	settled(t.settings.patience.after, func() bool {
		clear(e.held)
		for _, s := range t.balancer.Endpoints() {
			if s.InFlight > 0 {
				e.held[s.ID] = s.InFlight
			}
		}
		return len(e.held) == 0
	})
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	e.begun, e.endings, e.strange = t.traffic.begun.Load(), t.tally.endings, slices.Clone(t.tally.strange)
	for _, b := range t.backends {
		e.attempts[b.name] = slices.Clone(t.tally.backends[b.name].attempts)
		if b.server != nil {
			e.arrivals[b.name] = b.server.began()
		}
	}
	if d := e.drainage; d != nil {
		d.unheard = t.tally.backends[d.backend].unheard
	}
	return e
}

// goroutinesLeft waits for the goroutines of the run to end, and describes those
// that do not.
func (t *trial) goroutinesLeft() []string {
	if settled(t.settings.patience.after, func() bool { return runtime.NumGoroutine() <= t.goroutines }) {
		return nil
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		// The last line but one says who started it.
		if _, by, found := strings.Cut(stack, "created by "); found {
			by, _, _ = strings.Cut(by, "\n")
			left = append(left, "started by "+by)
		}
	}
	if extra := runtime.NumGoroutine() - t.goroutines; extra < len(left) {
		return append(left[:0:0], fmt.Sprintf("%d more than before; there are: %s", extra, strings.Join(left, ", ")))
	}
	return left
}
