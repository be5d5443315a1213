package main

import (
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// noon is when the events of these tests happen.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// soundEvidence is of a run in which every promise was tried and held.
func soundEvidence() evidence {
	return evidence{
		begun:   6,
		endings: [endings]int{answered: 3, tornOff: 1, typedError: 2},
		arrivals: map[string][]arrival{
			"a": {{1, "GET"}, {2, "POST"}, {4, "GET"}, {6, "POST"}},
			"b": {{1, "GET"}, {3, "POST"}, {2, "GET"}, {0, "POST"}, {0, "POST"}},
		},
		drainages: []*drainage{
			{backend: "c", lastBefore: 5, quiet: 0},
			{backend: "b", lastBefore: 3, quiet: 2, unheard: map[uint64]bool{2: true, 0: true}},
		},
		attempts: map[string][]attempt{
			"a": {{2, at(10), true}, {4, at(110), true}},
			"b": {{6, at(251), true}, {1, at(0), true}, {3, at(126), true}, {2, at(125), false}},
		},
		sightings: []sighting{
			{"b", at(-10), at(0)},   // an attempt at the end
			{"b", at(20), at(120)},  // none of it
			{"b", at(124), at(126)}, // a trial
			{"b", at(300), at(301)}, // after all attempts
		},
		endpoints: 2,
		histories: []faultHistory{
			soundCourse(),
			{serverFault: serverFaults[1], ill: time.Second},                                                              // too short to tell
			{serverFault: serverFaults[1], ill: time.Minute, well: time.Minute, requests: 59},                             // too few requests to tell
			{serverFault: serverFaults[2], ill: time.Minute, well: time.Minute, leftOut: true, back: true, after: plenty}, // no key led there
		},
	}
}

func soundCourse() faultHistory {
	return faultHistory{
		serverFault: serverFaults[0], requests: 5, after: plenty, ill: faultyFor, well: soundFor,
		leftOut: true, back: true, served: true,
	}
}

func TestJudge_SoundEvidenceBreaksNothing(t *testing.T) {
	promises := judge(soundEvidence())
	if len(promises) != 8 {
		t.Errorf("%d promises, want 8", len(promises))
	}
	for _, p := range promises {
		if !p.Held || !p.tried || p.Detail != "" || p.on == "" {
			t.Errorf("%+v", p)
		}
	}
}

func TestJudge_EveryFaultBreaksItsPromiseAndNoOther(t *testing.T) {
	for _, fault := range []struct {
		name, broken, detail string
		plant                func(*evidence)
	}{
		{"who is ill and not left out", "fell ill", "failing was ill and never left out",
			func(e *evidence) { e.histories[0].leftOut = false }},
		{"who is left out for another reason", "fell ill", "failing was left out as draining, not as ejected",
			func(e *evidence) { e.histories[0].leftOut, e.histories[0].otherwise = false, poise.ExcludedDraining }},
		{"who recovers and does not come back", "fell ill", "failing recovered and is unhealthy still",
			func(e *evidence) { e.histories[0].back, e.histories[0].last = false, poise.ExcludedUnhealthy }},
		{"who comes back and gets nothing", "fell ill", "failing recovered and got no request",
			func(e *evidence) { e.histories[0].served = false }},
		{"a request that ends in some other error", "every request ended",
			"request 6: EOF", func(e *evidence) {
				e.endings[typedError]--
				e.endings[otherEnding]++
				e.strange = []string{"request 6: EOF"}
			}},
		{"more such requests than are listed", "every request ended",
			"request 6: EOF; 1 more ended in an error that is no CallError", func(e *evidence) {
				e.endings[typedError] -= 2
				e.endings[otherEnding] += 2
				e.strange = []string{"request 6: EOF"}
			}},
		{"a request that never ends", "every request ended",
			"6 requests began, 5 ended", func(e *evidence) { e.endings[answered]-- }},
		{"a POST at two servers", "sent twice",
			"POST 2 began 2 times: at a, b", func(e *evidence) { e.arrivals["b"][2].method = "POST" }},
		{"a POST twice at one server", "sent twice",
			"POST 6 began 2 times: at a, a", func(e *evidence) { e.arrivals["a"] = append(e.arrivals["a"], arrival{6, "POST"}) }},
		{"a new request at the drained backend", "a drained backend",
			"request 4 began at b, which was draining since request 3", func(e *evidence) { e.arrivals["b"] = append(e.arrivals["b"], arrival{4, "GET"}) }},
		{"an old request that comes late to the drained backend", "a drained backend",
			"request 1 began at b, which was draining and held nothing any more", func(e *evidence) { e.arrivals["b"] = append(e.arrivals["b"], arrival{1, "GET"}) }},
		{"a request at a backend that is ejected", "ejected",
			"request 5 went to b, which was ejected", func(e *evidence) {
				e.attempts["b"] = append(e.attempts["b"], attempt{5, at(30), true})
			}},
		{"a request at the backend that has left", "a drained backend",
			"request 5 began at c, which was draining and held nothing any more", func(e *evidence) { e.arrivals["c"] = []arrival{{5, "GET"}} }},
		{"an endpoint that is not closed", "every endpoint",
			"the endpoint of a was closed 0 times", func(e *evidence) { e.unclosed = []string{"the endpoint of a was closed 0 times"} }},
		{"a slot that is not given back", "every slot",
			"a still holds 2", func(e *evidence) { e.held = map[string]uint64{"a": 2} }},
		{"a goroutine that stays", "no goroutine",
			"started by main.leak", func(e *evidence) { e.goroutines = []string{"started by main.leak"} }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			e := soundEvidence()
			fault.plant(&e)
			for _, p := range judge(e) {
				broken := strings.Contains(p.Name, fault.broken)
				if p.Held == broken {
					t.Errorf("%q: held is %v (%s)", p.Name, p.Held, p.Detail)
				}
				if broken && p.Detail != fault.detail {
					t.Errorf("%q says %q, want %q", p.Name, p.Detail, fault.detail)
				}
			}
		})
	}
}

func TestJudge_WhatWasNotTriedIsNotCalledHeld(t *testing.T) {
	e := evidence{begun: 1, endings: [endings]int{answered: 1}, endpoints: 1}
	tried := 0
	for _, p := range judge(e) {
		if p.tried {
			tried++
		}
	}
	if tried != 4 { // endings, slots, endpoints, goroutines
		t.Errorf("%d promises were tried, want 4", tried)
	}
}

func TestVerdict_ListsAFewFaultsAndCountsTheRest(t *testing.T) {
	p := verdict("x", true, "", []string{"1", "2", "3", "4", "5"})
	if p.Detail != "1; 2; 3; and 2 more" {
		t.Error(p.Detail)
	}
}

func TestCount_SetsThousandsApart(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) is %s", n, got)
		}
	}
}
