package main

import (
	"context"
	"time"
)

// layer is one kind of evidence: one row here, one make target, one row in the
// record, in the report and in README.md.
type layer struct {
	name     string
	target   string        // the make target that runs it alone, or with its neighbours
	shows    string        // what a pass means
	notShown string        // what it does not
	needs    []string      // names in needs (setup.go); one missing: not run
	owns     []string      // folders whose tests are left to this layer by unit
	limit    time.Duration // a layer that takes longer has failed
	run      func(context.Context, *workspace) result
}

// layers in the order in which verify runs them: what is quick and often wrong
// comes first.
var layers = []layer{
	{
		name: "format", target: "check", limit: time.Minute, needs: []string{"git"}, run: formatted,
		shows:    "Every Go file is laid out as gofmt would.",
		notShown: "Whether a file reads well.",
	},
	{
		name: "vet", target: "check", limit: 10 * time.Minute, needs: []string{"git"}, run: vet,
		shows:    "go vet finds nothing, in the normal build and in the one that the explorer uses.",
		notShown: "Mistakes that vet has no rule for.",
	},
	{
		name: "staticcheck", target: "check", limit: 10 * time.Minute, needs: []string{"git"}, run: staticcheck,
		shows:    "staticcheck finds nothing, in the same builds.",
		notShown: "Mistakes that staticcheck has no rule for.",
	},
	{
		name: "unit", target: "check", limit: 15 * time.Minute, run: unit,
		shows:    "Examples, edges, goldens, reference twins and allocation counts are as the tests say.",
		notShown: "Inputs and orders of events that no test names.",
	},
	{
		name: "drift", target: "check", limit: 10 * time.Minute, owns: []string{"drift"}, run: texts,
		shows:    "Claims, links, counts, layering, the exported API and the words of the documentation agree with the code.",
		notShown: "Whether a claim is worth making, or its test a good one.",
	},
	{
		name: "claims", target: "claims", limit: 10 * time.Minute, run: claims,
		shows:    "Every check that quotes a promise passes alone, and its own coverage reaches the code that keeps the promise.",
		notShown: "Whether the check would notice if that code broke the promise.",
	},
	{
		name: "platforms", target: "platforms", limit: 10 * time.Minute, run: onPlatforms,
		shows:    "The tree is vetted where int has 32 bits and where bytes are in the other order, and the goldens hold with 32 bits.",
		notShown: "Tests other than the goldens there, and other operating systems.",
	},
	{
		name: "race", target: "race", limit: 15 * time.Minute, needs: []string{"C compiler"}, run: race,
		shows:    "The race detector saw no unsynchronised access while the tests ran.",
		notShown: "Races on paths or schedules that did not happen in this run.",
	},
	{
		name: "adapters", target: "adapters", limit: 10 * time.Minute, needs: []string{"git", "C compiler"}, run: adapters,
		shows:    "The modules beside the library are vetted, and pass their tests with real parts of what they adapt to, under the race detector.",
		notShown: "Other versions of what they adapt to than their go.mod names.",
	},
	{
		name: "props", target: "props", limit: 15 * time.Minute, run: props,
		shows:    "Every law held for every generated case of a fixed seed.",
		notShown: "Cases that the generators cannot make, or did not with this seed.",
	},
	{
		name: "fuzz", target: "fuzz-smoke", limit: 15 * time.Minute, owns: []string{"fuzz"}, run: fuzz,
		shows:    "The committed corpora pass, and a fixed number of mutated inputs found nothing new.",
		notShown: "Inputs that a longer hunt would find.",
	},
	{
		name: "models", target: "models", limit: 10 * time.Minute, needs: []string{"C compiler"}, owns: []string{"models"}, run: models,
		shows:    "Under every schedule of small cases the shared types keep what their models state, and no data race was seen.",
		notShown: "Larger cases, and types that start goroutines, read clocks or use channels.",
	},
	{
		name: "lin", target: "lin", limit: 10 * time.Minute, needs: []string{"C compiler"}, owns: []string{"linearizability"}, run: lin,
		shows:    "Every recorded history of the shared types is one that calls in sequence could have made.",
		notShown: "Histories that did not happen.",
	},
	{
		name: "tla", target: "tla", limit: 10 * time.Minute, needs: []string{"Java", "Maven"}, owns: []string{"spec/replay"}, run: tla,
		shows:    "TLC finds the specifications as their manifest says, and the shipped types make every edge of their graphs.",
		notShown: "Larger bounds, and what a specification leaves out.",
	},
	{
		name: "sim", target: "sim", limit: 15 * time.Minute, owns: []string{"sim"}, run: sim,
		shows:    "In virtual time the shipped loop keeps every bound of the scenarios, and of random ones, with seeds that it was not tuned on; planted faults are noticed.",
		notShown: "Worlds that no scenario describes, and what real connections, schedulers and clocks add.",
	},
	{
		name: "mutation", target: "mutate", limit: 10 * time.Minute, owns: []string{"mutation"}, run: mutation,
		shows:    "The engine judges its fixtures as it should, and every small change of the packages that are done is noticed by a test or explained.",
		notShown: "Changes in the other packages, and those that no operator makes.",
	},
	{
		name: "kills", target: "kills", limit: 15 * time.Minute, run: kills,
		shows:    "Of every claim that is not listed as open, a test that quotes it fails if a small change is made in the code that keeps it.",
		notShown: "Whether every change of that code is noticed, and the claims that are listed.",
	},
	{
		name: "bench", target: "bench", limit: 10 * time.Minute, run: bench,
		shows:    "The benchmarks run; allocation budgets and ratios within this run hold.",
		notShown: "Speed elsewhere: times belong to this machine at this moment, so they are shown and fail nothing.",
	},
	{
		name: "demo", target: "demo", limit: 3 * time.Minute, run: demo,
		shows:    "On real HTTP servers that are slow, broken, hanging, drained and restarted, the demo kept its promises.",
		notShown: "Other networks, other loads and longer times.",
	},
	{
		name: "pages", target: "pages", limit: 5 * time.Minute, needs: []string{"browser"}, owns: []string{"ci/report/browser"}, run: inBrowser,
		shows:    "In a browser the pages of the report keep their heights at the width of a phone and of a desk, and nothing runs off their edge.",
		notShown: "Other browsers, and whether a reader finds what is looked for.",
	},
}
