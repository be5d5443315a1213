package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// traceLimit is how long TLC may follow the traces of one module.
const traceLimit = time.Minute

// traceModule is a module that follows sequences of steps through another one. A
// step that the other cannot make ends it early. The last step of a wrong trace is
// one that it must not be able to make.
const traceModule = `---- MODULE %[1]sTraces ----
EXTENDS %[1]s, Sequences
VARIABLES traceNumber, tracePlace
traceVars == <<vars, traceNumber, tracePlace>>
Traces == <<
%[2]s
>>
Wrong == {%[3]s}
TraceInit == /\ Init
             /\ tracePlace = 0
             /\ %[4]s
TraceNext == /\ tracePlace < Len(Traces[traceNumber])
             /\ Next
             /\ last' = Traces[traceNumber][tracePlace + 1]
             /\ tracePlace' = tracePlace + 1
             /\ UNCHANGED traceNumber
TraceSpec == TraceInit /\ [][TraceNext]_traceVars
WrongTracesEndEarly == traceNumber \in Wrong => tracePlace < Len(Traces[traceNumber])
====
`

// trace is a sequence of steps from an initial state.
type trace struct {
	start replay.Record
	steps []replay.Value
	wrong bool
}

// historiesFile returns the path of a module's histories, below spec/tla.
func (t *tree) historiesFile(module string) string {
	return strings.TrimSuffix(t.modules[module].path, ".tla") + ".histories"
}

// traces looks the histories of a module up in its graph, and adds to each trace a
// wrong one, whose last step returns something else.
func (t *tree) traces(module string) (all []trace, err error) {
	histories, err := replay.ParseHistories(t.histories[t.historiesFile(module)])
	if err != nil {
		return nil, fmt.Errorf("spec/tla/%s: %w", t.historiesFile(module), err)
	}
	g, err := replay.Parse(t.graphs[t.graphFile(module)])
	if err != nil {
		return nil, err
	}
	look := replay.NewLookup(g)
	for _, h := range histories {
		path, err := look.Accepts(h)
		if err != nil {
			return nil, fmt.Errorf("spec/tla/%s: %w", t.historiesFile(module), err)
		}
		good := trace{start: g.States[path.Initial]}
		for _, e := range path.Edges {
			good.steps = append(good.steps, g.Edges[e].Step)
		}
		all = append(all, good)
		if wrong, found := altered(g, good, path); found {
			all = append(all, wrong)
		}
	}
	return all, nil
}

// altered exchanges the result of the last step by one that the same call returns
// elsewhere, and that no edge has here.
func altered(g *replay.Graph, good trace, path replay.Path) (trace, bool) {
	if len(path.Edges) == 0 {
		return trace{}, false
	}
	last := g.Edges[path.Edges[len(path.Edges)-1]]
	step := last.Step.Fields()
	here := map[replay.Value]bool{}
	for _, e := range g.Edges {
		if e.From == last.From {
			here[e.Step] = true
		}
	}
	for _, e := range g.Edges {
		other := e.Step.Fields()
		if g.Go[other["op"].Str()] != g.Go[step["op"].Str()] || other["res"] == step["res"] {
			continue
		}
		wrong := replay.Record{}
		for name, v := range step {
			wrong[name] = v
		}
		wrong["res"] = other["res"]
		if v := wrong.Value(); !here[v] {
			return trace{good.start, append(slices.Clone(good.steps[:len(good.steps)-1]), v), true}, true
		}
	}
	return trace{}, false
}

// traceJob returns the run in which TLC follows the traces of a module, and how
// many distinct states it finds if it can follow each to its end, and each wrong
// one to its last step but one.
func (t *tree) traceJob(module string, traces []trace) (job tlc.Job, distinct int) {
	g, _ := replay.Parse(t.graphs[t.graphFile(module)]) // parsed before
	var texts, wrong, starts []string
	for i, tr := range traces {
		var steps []string
		for _, s := range tr.steps {
			steps = append(steps, string(s))
		}
		texts = append(texts, "  <<"+strings.Join(steps, ",\n    ")+">>")
		start := fmt.Sprintf("traceNumber = %d", i+1)
		for _, name := range g.Varying() {
			start += fmt.Sprintf(" /\\ %s = %s", name, tr.start[name])
		}
		starts = append(starts, "\\/ "+start)
		distinct += len(tr.steps) + 1
		if tr.wrong {
			wrong = append(wrong, fmt.Sprint(i+1))
			distinct--
		}
	}
	config := "SPECIFICATION TraceSpec\nCHECK_DEADLOCK FALSE\nINVARIANT WrongTracesEndEarly\nCONSTANTS\n"
	for name, value := range parseConfig(t.configs[module+"_Dump"]).constants {
		config += fmt.Sprintf("  %s = %s\n", name, value)
	}
	return tlc.Job{
		Name: module + "Traces", Config: config, Limit: traceLimit,
		Module: fmt.Sprintf(traceModule, module, strings.Join(texts, ",\n"), strings.Join(wrong, ", "),
			strings.Join(starts, "\n                ")),
		Beside: map[string]string{module: t.modules[module].text},
	}, distinct
}

// followed has TLC follow the traces of a module.
func (t *tree) followed(ctx context.Context, module string, run runner) (v verdict) {
	v.row.Config = module + " traces"
	fail := func(format string, args ...any) verdict {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
		return v
	}
	traces, err := t.traces(module)
	if err != nil {
		return fail("%v", err)
	}
	job, distinct := t.traceJob(module, traces)
	if v.result, err = run(ctx, job); err != nil {
		return fail("%v", err)
	}
	switch {
	case v.result.Verdict != tlc.Success:
		return fail("TLC says %s: %s\n%s", v.result.Verdict, v.result.Errors(), v.result.Trace)
	case v.result.Distinct != distinct:
		return fail("TLC follows %d steps of traces instead of %d: some trace that the code made is none of the module", v.result.Distinct, distinct)
	}
	v.traces = len(traces)
	return v
}
