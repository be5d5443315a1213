package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

const (
	// mostMutants is how many mutants are judged, spread over the modules.
	mostMutants = 250
	// mutantLimit is how long TLC may take for a mutant. The small configuration of
	// a graph takes seconds, so one that takes longer has grown out of its bounds.
	mutantLimit = 40 * time.Second
	// mostStates is how many states a configuration may have to be asked again.
	mostStates = 200_000
	// wholeLimit is how long it may take in larger bounds.
	wholeLimit = 5 * time.Minute
	// survivorsFile gives the reasons of mutants that nobody notices.
	survivorsFile = "survivors.txt"
)

// judge is who noticed a mutant.
type judge string

const (
	bySafety    judge = "safety"
	byWitnesses judge = "witnesses"
	byReplay    judge = "replay"
	byLiveness  judge = "liveness"
	equal       judge = "equal graph" // nobody can within the bounds of the graph
	survives    judge = "survives"
)

// killing is what the judges say of mutants.
type killing struct {
	tree *tree
	run  runner
	// walks returns whether a graph is refused by the walks of a specification, if
	// there are any.
	walks walker
	// reached are the witnesses that the unchanged modules reach in the bounds of
	// their graphs, by module.
	reached map[string][]string
}

type walker func(ctx context.Context, spec string, g *replay.Graph) (refused bool, err error)

// noted is a module that checks another one and prints which witnesses it reaches.
// One worker runs, so one register for each is enough.
func (t *tree) noted(m module) (text string, names []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "---- MODULE %sNoted ----\nEXTENDS %s, TLC\n", m.name, m.name)
	for _, d := range m.definitions {
		if name, is := strings.CutPrefix(d.name, "Witness_"); is {
			names = append(names, name)
			n := len(names)
			fmt.Fprintf(&b, "ASSUME TLCSet(%d, FALSE)\n", n)
			fmt.Fprintf(&b, "Noted_%s == %s \\/ TLCGet(%d) \\/ (TLCSet(%d, TRUE) /\\ PrintT(\"reached %s\"))\n", name, d.name, n, n, name)
		}
	}
	b.WriteString("====\n")
	return b.String(), names
}

// small returns the run in which a module is held against its invariants and its
// properties of steps, in the bounds of its graph, and what it prints of witnesses.
func (t *tree) small(name, text string) (tlc.Job, []string) {
	noted, names := t.noted(t.modules[name])
	whole := parseConfig(t.configs[name])
	config := t.configs[name+"_Dump"] + "\nINVARIANTS\n"
	for _, i := range whole.invariants {
		config += "  " + i + "\n"
	}
	for _, n := range names {
		config += "  Noted_" + n + "\n"
	}
	if len(whole.properties) > 0 {
		config += "PROPERTIES\n  " + strings.Join(whole.properties, "\n  ") + "\n"
	}
	return tlc.Job{
		Name: name + "Noted", Module: noted, Beside: map[string]string{name: text}, Config: config, Dump: true, Limit: mutantLimit,
	}, names
}

// reachedIn returns the witnesses that a run printed.
func reachedIn(r tlc.Result, names []string) (reached []string) {
	for _, n := range names {
		if strings.Contains(r.Said, `"reached `+n+`"`) {
			reached = append(reached, n)
		}
	}
	return reached
}

// unchanged notes what the modules reach as they are.
func (k *killing) unchanged(ctx context.Context, names []string) error {
	k.reached = map[string][]string{}
	for _, name := range names {
		job, witnesses := k.tree.small(name, k.tree.modules[name].text)
		r, err := k.run(ctx, job)
		if err != nil {
			return err
		}
		if r.Verdict != tlc.Success {
			return fmt.Errorf("%s is refused without any change: %s: %s", name, r.Verdict, r.Errors())
		}
		k.reached[name] = reachedIn(r, witnesses)
		if g, err := replay.FromDot(r.Dot, replay.Counts{Initial: r.Initial, Generated: r.Generated, Distinct: r.Distinct}); err != nil || !k.same(name, g) {
			return fmt.Errorf("the committed graph of %s is another one: %v", name, err)
		}
	}
	return nil
}

// same reports whether a graph is the committed one.
func (k *killing) same(name string, g *replay.Graph) bool {
	committed, err := replay.Parse(k.tree.graphs[k.tree.graphFile(name)])
	if err != nil {
		return false
	}
	g.Spec, g.Source, g.Go, g.Constants = committed.Spec, committed.Source, committed.Go, committed.Constants
	return g.String() == committed.String()
}

// judge returns who notices the mutant. Liveness is asked when nobody else does, and
// then safety again, in the bounds of its own configuration.
func (k *killing) judge(ctx context.Context, m mutant) ([]judge, error) {
	job, witnesses := k.tree.small(m.module, m.text)
	r, err := k.run(ctx, job)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return []judge{bySafety}, nil // it has no end any more
	}
	if err != nil {
		return nil, err
	}
	if r.Verdict != tlc.Success {
		return []judge{bySafety}, nil
	}
	g, err := replay.FromDot(r.Dot, replay.Counts{Initial: r.Initial, Generated: r.Generated, Distinct: r.Distinct})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name(), err)
	}
	if k.same(m.module, g) {
		return []judge{equal}, nil
	}
	var noticed []judge
	if !slices.Equal(reachedIn(r, witnesses), k.reached[m.module]) {
		noticed = append(noticed, byWitnesses)
	}
	refused, err := k.walks(ctx, m.module, g)
	if err != nil {
		return nil, err
	}
	if refused {
		noticed = append(noticed, byReplay)
	}
	if len(noticed) > 0 {
		return noticed, nil
	}
	for _, last := range []struct {
		config string
		by     judge
	}{{m.module + "_Live", byLiveness}, {m.module, bySafety}} {
		config, exists := k.tree.configs[last.config]
		if !exists || k.tree.row(last.config).Distinct > mostStates {
			continue
		}
		r, err := k.run(ctx, tlc.Job{Name: m.module, Module: m.text, Config: config, Limit: wholeLimit})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name(), err)
		}
		if r.Verdict != tlc.Success {
			return []judge{last.by}, nil
		}
	}
	return []judge{survives}, nil
}

// tally counts the mutants of one module.
type tally map[judge]int

// campaign judges mutants side by side.
func (k *killing) campaign(ctx context.Context, all []mutant, width int, out io.Writer) (map[string]tally, []string, error) {
	tallies := map[string]tally{}
	var survivors []string
	var failed error
	var said sync.Mutex
	each(len(all), width, func(i int) {
		noticed, err := k.judge(ctx, all[i])
		said.Lock()
		defer said.Unlock()
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		of := tallies[all[i].module]
		if of == nil {
			of = tally{}
			tallies[all[i].module] = of
		}
		of["mutants"]++
		for _, j := range noticed {
			of[j]++
		}
		fmt.Fprintf(out, "%-22s line %3d  %s\n", fmt.Sprint(noticed), all[i].line, all[i].name())
		if noticed[0] == survives {
			survivors = append(survivors, all[i].name())
		}
	})
	slices.Sort(survivors)
	return tallies, survivors, failed
}

// killTable returns the tallies as Markdown.
func killTable(tallies map[string]tally) string {
	var b strings.Builder
	columns := []judge{"mutants", bySafety, byWitnesses, byReplay, byLiveness, equal, survives}
	b.WriteString("| Specification | Mutants | Safety | Witnesses | Replay | Liveness | Equal graph | Survivors |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		b.WriteString("| " + name)
		for _, c := range columns {
			fmt.Fprintf(&b, " | %d", tallies[name][c])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// mutate is the command.
func mutate(ctx context.Context, s settings) error {
	t, _, err := s.open(false)
	if err != nil {
		return err
	}
	run, err := with(ctx)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "walks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	walks, err := walksOf(ctx, s.root, folder)
	if err != nil {
		return err
	}
	var all []mutant
	for _, name := range t.names() {
		all = append(all, mutants(t.modules[name])...)
	}
	fmt.Fprintf(s.out, "%d mutants, of which up to %d are judged\n", len(all), mostMutants)
	all = slices.DeleteFunc(spread(all, mostMutants), func(m mutant) bool { return s.spec != "" && m.module != s.spec })
	k := &killing{tree: t, run: run, walks: walks}
	names := t.names()
	if s.spec != "" {
		names = []string{s.spec}
	}
	if err := k.unchanged(ctx, names); err != nil {
		return err
	}
	tallies, survivors, err := k.campaign(ctx, all, width(), s.out)
	if err != nil {
		return err
	}
	table := killTable(tallies)
	fmt.Fprint(s.out, table)
	reasons, err := parseReasons(t.survivors)
	if err != nil {
		return err
	}
	problems := unexplained(survivors, reasons, s.spec)
	if s.spec == "" {
		if err := s.keepTable(table); err != nil {
			return err
		}
	}
	for _, p := range problems {
		fmt.Fprintln(s.out, p)
	}
	if len(problems) > 0 {
		return errFailed
	}
	return nil
}

// walksOf builds the tests that walk, and returns what asks them.
func walksOf(ctx context.Context, root, folder string) (walker, error) {
	type binary struct{ path, dir, listed string }
	var binaries []binary
	for i, args := range [][]string{{"./spec/replay"}, {"-tags", "interleave", "./models/walk"}} {
		b := binary{filepath.Join(folder, fmt.Sprintf("walk%d.exe", i)), filepath.Join(root, args[len(args)-1]), ""}
		build := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-vet=off", "-o", b.path}, args...)...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the walks do not compile: %w: %s", err, out)
		}
		list := exec.CommandContext(ctx, b.path, "-test.list", "_Walk")
		list.Dir = b.dir
		out, err := list.Output()
		if err != nil {
			return nil, err
		}
		b.listed = "\n" + string(out)
		binaries = append(binaries, b)
	}
	return func(ctx context.Context, spec string, g *replay.Graph) (refused bool, err error) {
		file, err := os.CreateTemp(folder, "*.graph")
		if err != nil {
			return false, err
		}
		defer os.Remove(file.Name())
		_, err = file.WriteString(g.String())
		if err = errors.Join(err, file.Close()); err != nil {
			return false, err
		}
		for _, b := range binaries {
			if !strings.Contains(b.listed, "\nTest"+spec+"_Walk") {
				continue
			}
			walk := exec.CommandContext(ctx, b.path, "-test.run", "^Test"+spec+"_Walk", "-test.timeout", "2m")
			walk.Dir, walk.Env = b.dir, append(os.Environ(), "POISE_GRAPH="+file.Name())
			var exit *exec.ExitError
			switch err := walk.Run(); {
			case errors.As(err, &exit):
				return true, nil
			case err != nil:
				return false, err
			}
		}
		return false, nil
	}, nil
}

// parseReasons reads survivors.txt: a mutant at the margin, or a pattern that ends
// in *, and below it the reason, indented.
func parseReasons(text string) (map[string]string, error) {
	reasons := map[string]string{}
	current := ""
	for i, l := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(l); {
		case trimmed == "" || strings.HasPrefix(l, "#"):
		case strings.HasPrefix(l, " "):
			if current == "" {
				return nil, fmt.Errorf("spec/tla/%s:%d: a reason of nothing", survivorsFile, i+1)
			}
			reasons[current] = strings.TrimSpace(reasons[current] + " " + trimmed)
		default:
			current = trimmed
			reasons[current] = ""
		}
	}
	for name, reason := range reasons {
		if reason == "" {
			return nil, fmt.Errorf("spec/tla/%s:1: no reason is given for %s", survivorsFile, name)
		}
	}
	return reasons, nil
}

// unexplained compares survivors and reasons, of one specification or of all.
func unexplained(survivors []string, reasons map[string]string, spec string) (problems []string) {
	used := map[string]bool{}
	for _, s := range survivors {
		found := false
		for pattern := range reasons {
			prefix, all := strings.CutSuffix(pattern, "*")
			if pattern == s || all && strings.HasPrefix(s, prefix) {
				found, used[pattern] = true, true
			}
		}
		if !found {
			problems = append(problems, fmt.Sprintf("survives without a reason: %s", s))
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(reasons)) {
		if !used[pattern] && (spec == "" || strings.HasPrefix(pattern, spec+".")) {
			problems = append(problems, fmt.Sprintf("spec/tla/%s: no survivor is %s; take the reason out", survivorsFile, pattern))
		}
	}
	return problems
}

// keepTable writes the kill table into the README.
func (s settings) keepTable(table string) error {
	file := filepath.Join(s.root, "spec", "tla", readme)
	now, err := os.ReadFile(file) // not as it was minutes ago
	if err != nil {
		return err
	}
	text, err := between(string(now), killsBegin, killsEnd, table)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
