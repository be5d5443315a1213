package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// healthPath is what probes ask for. Servers do not count it as an arrival.
const healthPath = "/healthz"

// serverFault is what is wrong with a server until it recovers.
type serverFault struct {
	backend string
	needs   int            // how many requests it takes to find out
	reasons []poise.Reason // for one of which it has to be left out
}

// serverFaults are those of the demo's own servers. Who fails, and who flaps, answers
// probes well: only calls can find that out.
var serverFaults = []serverFault{
	{"failing", 5, []poise.Reason{poise.ExcludedEjected}},
	{"flapping", 60, []poise.Reason{poise.ExcludedEjected}},
	{"hanging", 0, []poise.Reason{poise.ExcludedUnhealthy, poise.ExcludedEjected}},
	{"stalling", 0, []poise.Reason{poise.ExcludedUnhealthy, poise.ExcludedEjected}},
}

// How long the servers have to be ill before they recover, and how long there has to
// be traffic after that, for the promise to be tried: the longest time aside, open or
// ejected, and what a busy machine takes beside.
const (
	faultyFor = 3 * time.Second
	soundFor  = 4 * time.Second
)

// plenty is how many requests leave nobody without one to whom any went before.
const plenty = 1000

// probesOf is how the demo's own servers are probed.
func probesOf() *dispatch.ProbesConfig[poisehttp.Endpoint] {
	return &dispatch.ProbesConfig[poisehttp.Endpoint]{
		Probe: func(m poisehttp.Member) (func(context.Context) error, error) {
			probe, err := poisehttp.NewHTTPProbe(poisehttp.HTTPProbeConfig{URL: "http://demo.invalid" + healthPath, Transport: m.Endpoint})
			if err != nil {
				return nil, err
			}
			return probe.Probe, nil
		},
		Active:  health.ActiveHealthConfig{Interval: 250 * time.Millisecond, UnhealthyThreshold: 2, HealthyThreshold: 2},
		Timeout: 300 * time.Millisecond,
	}
}

// faulty is a server that behaves badly until it recovers, and then like the good one.
// With gentle it answers probes well even so.
type faulty struct {
	bad, good http.HandlerFunc
	gentle    bool
	well      atomic.Bool
}

func (s *faulty) behave(w http.ResponseWriter, r *http.Request) {
	if s.well.Load() || s.gentle && r.URL.Path == healthPath {
		s.good(w, r)
		return
	}
	s.bad(w, r)
}

// flaps fails every other request.
func flaps() http.HandlerFunc {
	var requests atomic.Uint64
	good := answersIn(4 * time.Millisecond)
	return func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%2 == 0 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		good(w, r)
	}
}

// faultHistory is how an serverFault went.
type faultHistory struct {
	serverFault
	requests  int           // that began at it while it was ill
	after     uint64        // all that began after it recovered
	ill       time.Duration // how long it was ill under traffic
	well      time.Duration // how long there was traffic after it recovered
	leftOut   bool          // for one of its reasons, while it was ill
	otherwise poise.Reason  // for which it was left out instead, if at all
	back      bool          // it was seen eligible after it had recovered
	served    bool          // and had a request begin
	last      poise.Reason  // what was seen last
}

// faultWatch watches the serverFaults. The zero value watches none.
type faultWatch struct {
	began, recovered time.Time
	begun            uint64 // requests when they recovered
	histories        []faultHistory
}

func (c *faultWatch) look(states []poisehttp.EndpointState) {
	for i := range c.histories {
		at := &c.histories[i]
		for _, s := range states {
			if s.ID != at.backend {
				continue
			}
			at.last = s.Reason
			switch {
			case !c.recovered.IsZero():
				at.back = at.back || s.Reason == poise.NotExcluded
			case slices.Contains(at.reasons, s.Reason):
				at.leftOut = true
			case s.Reason != poise.NotExcluded:
				at.otherwise = s.Reason
			}
		}
	}
}

// recover has all servers recover, if they were ill for long enough to show it.
func (t *check) recover() string {
	if time.Since(t.faultWatch.began) < faultyFor {
		return "the run is too short for servers to recover"
	}
	for _, b := range t.backends {
		if b.server.faulty != nil {
			b.server.faulty.well.Store(true)
		}
	}
	t.faultWatch.recovered, t.faultWatch.begun = time.Now(), t.traffic.begun.Load()
	return "failing, flapping, hanging and stalling recover"
}

// results says how the serverFaults went, with what began at the servers.
func (c *faultWatch) results(now time.Time, begun uint64, arrivals map[string][]arrival) []faultHistory {
	if c.recovered.IsZero() {
		return nil
	}
	results := slices.Clone(c.histories)
	for i := range results {
		at := &results[i]
		at.ill, at.well = c.recovered.Sub(c.began), now.Sub(c.recovered)
		at.after = begun - c.begun
		for _, a := range arrivals[at.backend] {
			if a.number > c.begun {
				at.served = true
			} else {
				at.requests++
			}
		}
	}
	return results
}

// faultyIsLeftOut looks at each server that was ill and recovered.
func faultyIsLeftOut(e evidence) promise {
	tried := 0
	var faults []string
	for _, at := range e.histories {
		if at.ill < faultyFor || at.well < soundFor || at.requests < at.needs {
			continue
		}
		tried++
		switch {
		case !at.leftOut && at.otherwise != poise.NotExcluded:
			faults = append(faults, fmt.Sprintf("%s was left out as %s, not as %s", at.backend, at.otherwise, at.reasons[0]))
		case !at.leftOut:
			faults = append(faults, fmt.Sprintf("%s was ill and never left out", at.backend))
		case !at.back:
			faults = append(faults, fmt.Sprintf("%s recovered and is %s still", at.backend, at.last))
		case !at.served && at.requests > 0 && at.after >= plenty: // a keyed policy may have nothing for it
			faults = append(faults, fmt.Sprintf("%s recovered and got no request", at.backend))
		}
	}
	return verdict("a server that fell ill was left out, and came back", tried > 0, counted(tried, "server"), faults)
}
