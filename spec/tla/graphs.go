package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// graphs writes the graphs of the dump configurations beside their modules.
func graphs(ctx context.Context, s settings) error {
	t, rows, err := s.open(true) // a stale graph is a breach of form
	if err != nil {
		return err
	}
	run, err := with(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, r := range rows {
		if _, k, _, _ := spell(r.Config); k != dump {
			continue
		}
		result, err := run(ctx, t.job(r))
		if err != nil {
			return err
		}
		g, err := t.graph(r, result)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.Config, err))
			continue
		}
		file := t.graphFile(g.Spec)
		if err := os.WriteFile(filepath.Join(s.root, "spec", "tla", file), []byte(g.String()), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: %d states, %d edges\n", file, len(g.States), len(g.Edges))
	}
	return failed
}

// graphFile returns the path of a module's graph, below spec/tla.
func (t *tree) graphFile(module string) string {
	return strings.TrimSuffix(t.modules[module].path, ".tla") + ".graph"
}

// fresh compares the graph of a dump with the committed one.
func (t *tree) fresh(r row, result tlc.Result) error {
	g, err := t.graph(r, result)
	if err != nil {
		return err
	}
	if file := t.graphFile(g.Spec); t.graphs[file] != g.String() {
		return fmt.Errorf("spec/tla/%s:1: is not the graph of this specification; read the difference, then run make tla-graphs", file)
	}
	return nil
}

// graph makes the graph of a dump.
func (t *tree) graph(r row, result tlc.Result) (*replay.Graph, error) {
	if result.Verdict != tlc.Success {
		return nil, fmt.Errorf("TLC says %s: %s", result.Verdict, result.Errors())
	}
	of, _, _, _ := spell(r.Config)
	g, err := replay.FromDot(result.Dot, replay.Counts{
		Initial: result.Initial, Generated: result.Generated, Distinct: result.Distinct,
	})
	if err != nil {
		return nil, err
	}
	g.Spec, g.Source, g.Go = of, t.source(of), map[string]string{}
	g.Constants = replay.Record{}
	for name, text := range parseConfig(t.configs[r.Config]).constants {
		if g.Constants[name], err = replay.ParseValue(text); err != nil {
			return nil, fmt.Errorf("constant %s: %w", name, err)
		}
	}
	for _, a := range t.modules[of].actions() {
		g.Go[a.name] = a.function()
	}
	return g, nil
}

// source is the digest of what a graph is made from. Comments do not matter,
// except where an action names its Go function.
func (t *tree) source(module string) string {
	m := t.modules[module]
	text := code(m.text) + code(t.configs[module+"_Dump"])
	for _, a := range m.actions() {
		text += a.name + a.function()
	}
	return replay.Digest(text)
}

// function returns the Go function that an action's comment names; "" for a step
// of the world.
func (d definition) function() string {
	for _, l := range d.comment {
		if text, is := strings.CutPrefix(l.text, "Go: "); is {
			return goName.FindString(text)
		}
	}
	return ""
}
