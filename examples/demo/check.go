package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// check is one run, from the first listener to the last goroutine.
type check struct {
	settings   settings
	goroutines int // before it
	began      time.Time
	backends   []backend // those that the demo started
	script     []step    // what is left of it
	directory  *discovery.Directory[target.Address]
	session    *discovery.Session[target.Address]
	finder     *finder // nil: the script says who is there
	endpoints  *endpoints
	transport  *poisehttp.Transport
	tally      *tally
	traffic    *traffic

	watch      watch
	faultWatch faultWatch
	memberList memberList
	drainages  []*drainage
	notes      []note
}

// note is something that happened.
type note struct {
	at   time.Duration
	text string
}

// newCheck finds the user's backends or starts servers, and sets the library up.
func newCheck(s settings, resolver target.Resolver) (*check, error) {
	t := &check{settings: s, goroutines: runtime.NumGoroutine(), began: time.Now(), tally: newTally(), endpoints: new(endpoints)}
	t.traffic = &traffic{settings: s, tally: t.tally}
	err := t.open(resolver)
	if err == nil {
		t.transport, err = newTransport(s, t.directory, t.endpoints, t.tally)
	}
	if err != nil {
		killServers(t.backends)
		return nil, err
	}
	t.traffic.client = &http.Client{
		Transport:     t.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if !s.own() {
		t.faultWatch.began = time.Now()
		for _, i := range serverFaults {
			t.faultWatch.histories = append(t.faultWatch.histories, faultHistory{serverFault: i})
		}
	}
	t.memberList.look(t.transport.Endpoints()) // who is there from the start is no news
	return t, nil
}

// open makes the directory and puts in it who is there.
func (t *check) open(resolver target.Resolver) (err error) {
	if t.directory, err = newDirectory(); err != nil {
		return err
	}
	if t.session, err = t.directory.Open("demo"); err != nil {
		return err
	}
	if s := t.settings; s.own() {
		t.finder, err = find(s, t.session, resolver)
		if err == nil {
			t.traffic.origin = "http://" + hostOf(s.target, t.directory.Load())
		}
		return err
	}
	t.script, t.traffic.origin = script, "http://demo.invalid"
	if t.backends, err = startBackends(); err != nil {
		return err
	}
	var list []discovery.Entry[target.Address]
	for _, b := range t.backends {
		if !b.late {
			list = append(list, discovery.Entry[target.Address]{ID: b.name, Value: target.Address{HostPort: b.server.address}})
		}
	}
	_, err = t.session.Reconcile(list)
	return err
}

// server returns the demo's own server of that name; nil if there is none.
func (t *check) server(name string) *server {
	for _, b := range t.backends {
		if b.name == name {
			return b.server
		}
	}
	return nil
}

func (t *check) drainageOf(name string) *drainage {
	for _, d := range t.drainages {
		if d.backend == name {
			return d
		}
	}
	return nil
}

// drained notes that the demo's own backend of that name gets no request that begins
// from now on.
func (t *check) drained(name string) *drainage {
	if t.server(name) == nil {
		return nil // nobody could tell what begins at the user's own
	}
	d := &drainage{backend: name, lastBefore: t.traffic.begun.Load(), quiet: -1}
	t.drainages = append(t.drainages, d)
	return d
}

// quiet notes that the endpoint of a draining backend held no call any more.
func (t *check) quiet(d *drainage) {
	if d != nil && d.quiet < 0 {
		d.quiet = len(t.server(d.backend).began())
	}
}

func (t *check) note(format string, args ...any) {
	t.notes = append(t.notes, note{time.Since(t.began), fmt.Sprintf(format, args...)})
}

// run makes one run and reports it.
func run(ctx context.Context, s settings, screen *screen) (report, error) {
	t, err := newCheck(s, net.DefaultResolver)
	if err != nil {
		return report{}, err
	}
	return t.perform(ctx, screen)
}

// perform lets the traffic flow, follows the script, shows what happens, and
// judges it when all has ended. An error means that the script could not be
// followed.
func (t *check) perform(ctx context.Context, screen *screen) (report, error) {
	traffic, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.traffic.run(traffic)
	}()
	var finding sync.WaitGroup
	if t.finder != nil {
		finding.Go(func() { t.finder.run(traffic, t.settings.patience.header) })
	}
	scriptErr := t.direct(traffic, ended, screen)
	stop()
	finding.Wait()
	// Whatever happens, a request ends in time; if it does not, that is for the
	// promises to say.
	t.await(ended)
	e := t.evidence()
	states := t.look()
	screen.draw(t.picture(states, recent))
	took := time.Since(t.began)

	_ = t.transport.Close()
	t.directory.Close()
	e.unclosed = t.unclosed()
	killServers(t.backends)
	e.goroutines = t.goroutinesLeft()
	return t.report(states, e, took, ctx.Err() != nil), scriptErr
}

// glance is how often the check looks at the endpoints.
const glance = 20 * time.Millisecond

// direct follows the script until the traffic has ended, or a step has failed.
func (t *check) direct(ctx context.Context, ended <-chan struct{}, screen *screen) error {
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
func (t *check) follow(ctx context.Context) error {
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
func (t *check) look() []poisehttp.EndpointState {
	from := time.Now()
	states := t.transport.Endpoints()
	to := time.Now()
	if t.finder != nil {
		if news := t.finder.look(); news != "" {
			t.note("%s", news)
		}
	}
	t.moved(t.memberList.look(states))
	t.faultWatch.look(states)
	for _, s := range states {
		var since time.Time
		if s.Passive.State == health.Ejected {
			since = s.Passive.Since
		}
		switch t.watch.look(s.ID, since, from, to) {
		case gone:
			t.note("%s is ejected: %s", s.ID, s.Passive.Cause)
		case back:
			t.note("%s is back", s.ID)
		}
		if s.InFlight == 0 {
			t.quiet(t.drainageOf(s.ID))
		}
	}
	return states
}

// await waits for the end of the traffic, but not for ever.
func (t *check) await(ended <-chan struct{}) {
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
func (t *check) evidence() evidence {
	now := time.Now()
	e := evidence{
		arrivals:  map[string][]arrival{},
		attempts:  map[string][]attempt{},
		sightings: t.watch.sightings,
		drainages: t.drainages,
		held:      map[string]uint64{},
		endpoints: len(t.endpoints.all()),
	}
	settled(t.settings.patience.after, func() bool {
		clear(e.held)
		for _, s := range t.transport.Endpoints() {
			if s.InFlight > 0 {
				e.held[s.ID] = s.InFlight
			}
		}
		return len(e.held) == 0
	})
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	e.begun, e.endings, e.strange = t.traffic.begun.Load(), t.tally.endings, slices.Clone(t.tally.strange)
	for name, b := range t.tally.backends {
		e.attempts[name] = slices.Clone(b.attempts)
	}
	for _, b := range t.backends {
		e.arrivals[b.name] = b.server.began()
	}
	e.histories = t.faultWatch.results(now, e.begun, e.arrivals)
	for _, d := range e.drainages {
		d.unheard = t.tally.of(d.backend).unheard
	}
	return e
}

// unclosed waits for every endpoint to be closed, and describes those that were not
// closed once. An endpoint is closed after its last call.
func (t *check) unclosed() (wrong []string) {
	all := t.endpoints.all()
	settled(t.settings.patience.after, func() bool {
		return !slices.ContainsFunc(all, func(e *endpoint) bool { return e.closed.Load() == 0 })
	})
	for _, e := range all {
		if n := e.closed.Load(); n != 1 {
			wrong = append(wrong, fmt.Sprintf("the endpoint of %s was closed %s", e.name, counted(uint64(n), "time")))
		}
	}
	return wrong
}

// goroutinesLeft waits for the goroutines of the run to end, and describes those
// that do not.
func (t *check) goroutinesLeft() []string {
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
