package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// evidence is what the promises are judged by: what began at the servers, how the
// requests ended for their callers, and, where only the library can know, its
// events and the state it shows.
type evidence struct {
	begun   uint64 // requests that were given to the client
	endings [endings]int
	strange []string // the first few of otherEnding

	arrivals  map[string][]arrival // what began at each server; none at the user's own
	drainages []*drainage
	attempts  map[string][]attempt // by the library's events

	sightings []sighting     // of backends that were ejected
	histories []faultHistory // of serverFaults whose servers recovered

	endpoints  int
	held       map[string]uint64 // slots that are held after all has ended
	unclosed   []string          // what is wrong with how endpoints were closed
	goroutines []string          // those that stayed
}

// drainage is the draining of one backend.
type drainage struct {
	backend string
	// lastBefore is the last request that may have begun before SetStatus returned,
	// or before the balancer showed what its directory said.
	lastBefore uint64
	// quiet is how many requests had begun at the server when its endpoint was seen
	// to hold no call any more; -1 if it never was.
	quiet int
	// unheard are the requests that were given up while the server owed an answer:
	// it may notice them when they are long over.
	unheard map[uint64]bool
}

// promise is one thing the demo checks about the library.
type promise struct {
	Name   string `json:"name"`
	Held   bool   `json:"held"`
	Detail string `json:"detail"` // what broke it; empty when held

	tried bool   // there was something to check it on
	on    string // what it was checked on
}

// judge checks every promise.
func judge(e evidence) []promise {
	return []promise{
		everyRequestEnds(e),
		nothingIsSentTwice(e),
		drainedGetsNothingNew(e),
		ejectedGetsOnlyTrials(e),
		faultyIsLeftOut(e),
		everySlotComesBack(e),
		everyEndpointIsClosed(e),
		noGoroutineStays(e),
	}
}

// verdict makes a promise of what broke it; it held if nothing did.
func verdict(name string, tried bool, on string, faults []string) promise {
	const few = 3
	if extra := len(faults) - few; extra > 0 {
		faults = append(slices.Clone(faults[:few]), fmt.Sprintf("and %d more", extra))
	}
	return promise{
		Name: name, Held: len(faults) == 0, Detail: strings.Join(faults, "; "),
		tried: tried || len(faults) > 0, on: on,
	}
}

func everyRequestEnds(e evidence) promise {
	faults := slices.Clone(e.strange)
	if extra := e.endings[otherEnding] - len(e.strange); extra > 0 {
		faults = append(faults, fmt.Sprintf("%d more ended in an error that is no CallError", extra))
	}
	all := uint64(0)
	for _, n := range e.endings {
		all += uint64(n)
	}
	if all != e.begun {
		faults = append(faults, fmt.Sprintf("%s began, %d ended", counted(e.begun, "request"), all))
	}
	return verdict("every request ended with a response or a typed error", e.begun > 0,
		counted(e.begun, "request"), faults)
}

// nothingIsSentTwice looks at the servers: a POST without an idempotency key begins
// at one of them at most, once, even if the server was killed in the middle.
func nothingIsSentTwice(e evidence) promise {
	places := map[uint64][]string{}
	for _, name := range slices.Sorted(maps.Keys(e.arrivals)) {
		for _, a := range e.arrivals[name] {
			if a.method == http.MethodPost && a.number > 0 {
				places[a.number] = append(places[a.number], name)
			}
		}
	}
	var faults []string
	for _, number := range slices.Sorted(maps.Keys(places)) {
		if at := places[number]; len(at) > 1 {
			faults = append(faults, fmt.Sprintf("POST %d began %d times: at %s", number, len(at), strings.Join(at, ", ")))
		}
	}
	return verdict("no request that may not be repeated was sent twice", len(places) > 0,
		counted(len(places), "POST"), faults)
}

// drainedGetsNothingNew looks at the servers that were drained or have left. No
// request that began after the drain may begin there; and none at all, be it the
// retry of an older one, once the endpoint held no call any more.
func drainedGetsNothingNew(e evidence) promise {
	var faults []string
	after := uint64(0)
	for _, d := range e.drainages {
		for i, a := range e.arrivals[d.backend] {
			switch {
			case a.number > d.lastBefore:
				faults = append(faults, fmt.Sprintf("request %d began at %s, which was draining since request %d", a.number, d.backend, d.lastBefore))
			case d.quiet >= 0 && i >= d.quiet && !d.unheard[a.number]:
				faults = append(faults, fmt.Sprintf("request %d began at %s, which was draining and held nothing any more", a.number, d.backend))
			}
		}
		after = max(after, e.begun-min(e.begun, d.lastBefore))
	}
	return verdict("a drained backend got no new request", after > 0,
		fmt.Sprintf("%s of them, %s began after", count(len(e.drainages)), count(after)), faults)
}

// ejectedGetsOnlyTrials looks at what began at a backend while it was ejected: trials,
// and requests for which nobody else was left, and no others.
func ejectedGetsOnlyTrials(e evidence) promise {
	var faults []string
	known := map[uint64]bool{}
	for _, s := range e.sightings {
		for _, a := range e.attempts[s.backend] {
			if a.ordinary && a.began.After(s.from) && a.began.Before(s.to) && !known[a.number] {
				known[a.number] = true
				faults = append(faults, fmt.Sprintf("request %d went to %s, which was ejected", a.number, s.backend))
			}
		}
	}
	return verdict("a backend that was ejected got trials only", len(e.sightings) > 0,
		"seen so "+counted(len(e.sightings), "time"), faults)
}

func everySlotComesBack(e evidence) promise {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(e.held)) {
		faults = append(faults, fmt.Sprintf("%s still holds %d", name, e.held[name]))
	}
	return verdict("every slot was given back", e.endpoints > 0, counted(e.endpoints, "endpoint"), faults)
}

func everyEndpointIsClosed(e evidence) promise {
	return verdict("every endpoint was closed once, after its last call", e.endpoints > 0, counted(e.endpoints, "endpoint"), e.unclosed)
}

func noGoroutineStays(e evidence) promise {
	return verdict("no goroutine stayed", true, "once all was closed", e.goroutines)
}

// counted writes a number of things; more than one of them end in s.
func counted[N int | uint64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return count(n) + " " + thing
}

// count writes a number with its thousands apart.
func count[N int | uint64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
