package replay_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/seq"
)

var update = flag.Bool("update", false, "write the samples of histories that TLC judges")

// player makes calls on a real object and keeps the history.
type player[S any] struct {
	g      *replay.Graph
	look   *replay.Lookup
	m      replay.Mapping[S]
	s      S
	start  replay.Record
	state  func() replay.Record
	labels []replay.Label
	calls  []replay.Call
}

func play[S any](t failer, look *replay.Lookup, m replay.Mapping[S], initial int) *player[S] {
	g := look.Graph
	p := &player[S]{g: g, look: look, m: m, start: replay.Record{}, labels: look.Labels}
	for _, name := range g.Varying() {
		p.start[name] = g.States[initial][name]
	}
	var err error
	if p.s, err = m.New(g.Constants, g.States[initial]); err != nil {
		t.Fatalf("%v", err)
	}
	p.state = func() replay.Record {
		r := replay.Record{}
		for name, v := range m.Project(p.s) {
			r[name] = replay.Of(v)
		}
		return r
	}
	return p
}

type failer interface{ Fatalf(string, ...any) }

// make makes a call if a client may.
func (p *player[S]) make(t failer, l replay.Label) bool {
	args := l.Args.Fields()
	if !p.m.May(p.g.Constants, p.state(), l.Name, args) {
		return false
	}
	result, err := p.m.Apply[l.Name](p.s, args)
	if err != nil {
		t.Fatalf("%s %s: %v", l.Name, l.Args, err)
	}
	p.calls = append(p.calls, replay.Call{Name: l.Name, Args: args, Result: replay.Of(result)})
	return true
}

// script makes the calls that the bytes choose among those that a client may make.
func (p *player[S]) script(t failer, script []byte) {
	for _, b := range script {
		for i := range p.labels {
			if p.make(t, p.labels[(int(b)+i)%len(p.labels)]) {
				break
			}
		}
	}
}

// accepted checks that the history is a path of the graph which ends in the state
// that the object is in.
func (p *player[S]) accepted(t failer) replay.History {
	h := replay.InOrder(p.start, p.calls...)
	path, err := p.look.Accepts(h)
	if err != nil {
		t.Fatalf("%v", err)
	}
	state := path.Initial
	if n := len(path.Edges); n > 0 {
		state = p.g.Edges[path.Edges[n-1]].To
	}
	for name, got := range p.state() {
		if want := p.g.States[state][name]; got != want {
			t.Fatalf("%s is %s and not %s after\n%s", name, got, want, h)
		}
	}
	return h
}

// requireLaw plays scripts that rapid draws, which lead further than a shortest
// path to an edge, and returns the histories of a few fixed ones.
func requireLaw[S any](t *testing.T, file string, m replay.Mapping[S]) (sample []replay.History) {
	l := law[S]{look: replay.NewLookup(replay.Load(t, file)), mapping: m}
	rapid.Check(t, l.drawn)
	t.Logf("counts: calls-looked-up=%d", l.calls)
	return l.fixed(t)
}

// law is what a type must keep whatever script is played on it.
type law[S any] struct {
	look    *replay.Lookup
	mapping replay.Mapping[S]
	calls   int // that were looked up
}

// drawn plays a script that rapid draws.
func (l *law[S]) drawn(t *rapid.T) {
	p := play(t, l.look, l.mapping, rapid.SampledFrom(l.look.Graph.Initial).Draw(t, "initial"))
	p.script(t, rapid.SliceOfN(rapid.Byte(), 20, 60).Draw(t, "script"))
	l.calls += len(p.accepted(t).Calls)
}

// fixed plays a few scripts, the same each time, and returns their histories.
func (l *law[S]) fixed(t *testing.T) (sample []replay.History) {
	initial := l.look.Graph.Initial
	for i := range 4 {
		chance := poise.NewGenerator(uint64(i + 1))
		script := make([]byte, 25)
		for j := range script {
			script[j] = byte(chance.Below(256))
		}
		p := play(t, l.look, l.mapping, initial[i%len(initial)])
		p.script(t, script)
		sample = append(sample, p.accepted(t))
	}
	return sample
}

func TestInFlight_LawCallsArePathsOfItsGraph(t *testing.T) {
	sample := requireLaw(t, "../tla/inflight/InFlight.graph", inFlightMapping())
	requireSample(t, "../tla/inflight/InFlight.histories", append(sample, explored(t, "InFlight")...))
}

func TestSlots_LawCallsArePathsOfTheirGraph(t *testing.T) {
	sample := requireLaw(t, "../tla/slots/Slots.graph", slotsMapping())
	requireSample(t, "../tla/slots/Slots.histories", append(sample, explored(t, "Slots")...))
}

func TestActiveHealth_LawCallsArePathsOfItsGraph(t *testing.T) {
	requireSample(t, "../tla/activehealth/ActiveHealth.histories", requireLaw(t, "../tla/activehealth/ActiveHealth.graph", activeHealthMapping()))
}

func TestCircuit_LawCallsArePathsOfItsGraph(t *testing.T) {
	requireSample(t, "../tla/circuit/Circuit.histories", requireLaw(t, "../tla/circuit/Circuit.graph", circuitMapping()))
}

func TestDispatch_LawCallsArePathsOfItsGraph(t *testing.T) {
	requireSample(t, "../tla/dispatch/Dispatch.histories", requireLaw(t, dispatchGraph, dispatchMapping("")))
}

func TestLives_LawCallsArePathsOfTheirGraph(t *testing.T) {
	l := law[*lives]{look: replay.NewLookup(replay.Load(t, "../tla/lives/Lives.graph")), mapping: livesMapping()}
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			defer closeLives()
			l.drawn(t)
		})
	})
	t.Logf("counts: calls-looked-up=%d", l.calls)
	synctest.Test(t, func(t *testing.T) {
		defer closeLives()
		requireSample(t, "../tla/lives/Lives.histories", l.fixed(t))
	})
}

// requireSample compares the histories with the committed ones, which TLC judges.
func requireSample(t *testing.T, file string, sample []replay.History) {
	t.Helper()
	text := ""
	for _, h := range sample {
		text += h.String()
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if committed, err := os.ReadFile(file); err != nil || string(committed) != text {
		t.Errorf("%s is not what the code did: %v; read the difference after go test ./spec/replay -run Law -update", file, err)
	}
}

// The entries of the fuzz corpora, as far as they stay in the bounds of a graph:
// their calls are made again and looked up.
func TestHistories_OfTheFuzzCorpora(t *testing.T) {
	looked := 0
	t.Run("InFlight", func(t *testing.T) {
		g := replay.Load(t, "../tla/inflight/InFlight.graph")
		for name, args := range corpus(t, "FuzzInFlight") {
			limit, script := args[0].(int), args[1].([]byte)
			initial := slices.IndexFunc(g.Initial, func(i int) bool { return g.States[i]["limit"].Int() == limit })
			if initial < 0 {
				t.Fatalf("%s: the graph has no limit %d", name, limit)
			}
			p := play(t, replay.NewLookup(g), inFlightMapping(), g.Initial[initial])
			playInFlight(t, p, script)
			looked += len(p.accepted(t).Calls)
		}
	})
	t.Run("ActiveHealth", func(t *testing.T) {
		g := replay.Load(t, "../tla/activehealth/ActiveHealth.graph")
		for _, args := range corpus(t, "FuzzActiveHealth") {
			p := play(t, replay.NewLookup(g), activeHealthMapping(), g.Initial[0])
			playActiveHealth(t, p, args[5].([]byte))
			looked += len(p.accepted(t).Calls)
		}
	})
	t.Logf("counts: corpus-calls-looked-up=%d", looked)
	if looked < 30 {
		t.Errorf("only %d calls of the corpora were looked up", looked)
	}
}

// playInFlight reads a script as FuzzInFlight does. It stops where two callers
// with a lease each are not enough.
func playInFlight(t *testing.T, p *player[*inFlight], script []byte) {
	var owner []string // of each lease, in the order of Acquire
	label := func(name, by, of string) replay.Label {
		return replay.Label{Name: name, Args: replay.Record{"by": replay.Of(by), "of": replay.Of(of)}.Value()}
	}
	for _, op := range script {
		if op&1 == 1 && len(owner) > 0 {
			of := owner[int(op>>1)%len(owner)]
			if of == "" {
				return // the variable has held another lease since
			}
			p.make(t, label("(*Lease).Release", of, of))
			continue
		}
		by := ""
		for _, c := range []string{"b", "a"} {
			if p.s.state[c] != "held" {
				by = c
			}
		}
		if by == "" {
			return
		}
		for i := range owner {
			if owner[i] == by {
				owner[i] = ""
			}
		}
		p.make(t, label("(*InFlight).Acquire", by, by))
		owner = append(owner, by)
	}
}

// playActiveHealth reads a script as FuzzActiveHealth does, with the configuration
// of the graph. What is out of its bounds is left out.
func playActiveHealth(t *testing.T, p *player[*activeHealth], script []byte) {
	call := func(name string, of int, arg string, draw int) bool {
		return p.make(t, replay.Label{Name: name, Args: replay.Record{
			"of": replay.Of(of), "arg": replay.Of(arg), "draw": replay.Of(draw),
		}.Value()})
	}
	for step := 0; step < len(script); step++ {
		argument := byte(0)
		if step+1 < len(script) {
			argument = script[step+1]
		}
		newest := len(p.s.reservations) - 1
		if argument >= 192 {
			newest /= 2
		}
		switch op := script[step] % 8; op {
		case 0:
			_ = call("(*ActiveHealth).Reserve", 0, "", int(argument%2)) || call("(*ActiveHealth).Reserve", 0, "", 0)
		case 1, 2:
			call("(*ActiveHealth).Complete", newest, []string{"healthy", "unhealthy"}[op-1], 0)
		case 3:
			call("(*ActiveHealth).Cancel", newest, "", 0)
		case 4:
			call("(*ActiveHealth).Force", 0, []string{"unknown", "healthy", "unhealthy"}[argument%3], 0)
		case 5:
			for range int(argument) * p.g.Constants["Interval"].Int() / 64 {
				call("Tick", 0, "", 0)
			}
			step++
		case 6:
			call("StepBack", 0, "", 0)
			step++
		default:
			call("(*ActiveHealth).Due", 0, "", 0)
		}
	}
}

var corpusLine = regexp.MustCompile(`(?m)^(byte|int64|uint64|\[\]byte)\((.*)\)$`)

// corpus reads the entries of a fuzz target: numbers and byte strings.
func corpus(t *testing.T, target string) map[string][]any {
	t.Helper()
	files, err := filepath.Glob("../../fuzz/testdata/fuzz/" + target + "/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no corpus: %v", target, err)
	}
	entries := map[string][]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var args []any
		for _, m := range corpusLine.FindAllStringSubmatch(string(text), -1) {
			var value any
			switch m[1] {
			case "byte":
				r, _, _, e := strconv.UnquoteChar(strings.Trim(m[2], "'"), '\'')
				value, err = int(r), e
			case "[]byte":
				s, e := strconv.Unquote(m[2])
				value, err = []byte(s), e
			default:
				value, err = strconv.Atoi(m[2])
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			args = append(args, value)
		}
		entries[filepath.Base(file)] = args
	}
	return entries
}

// explored returns a few histories of the explorer's, of those whose calls overlap,
// and looks all of them up that two callers can have made. The models write them
// to files: what they are is known only to them, and neither side imports the
// other.
func explored(t *testing.T, spec string) (sample []replay.History) {
	g := replay.Load(t, fmt.Sprintf("../tla/%s/%s.graph", strings.ToLower(spec), spec))
	look := replay.NewLookup(g)
	looked, others := 0, 0
	for _, m := range exploredModels(t) {
		prefix, limit, found := strings.Cut(m.Spec, ", limit ")
		if !found || map[string]string{"leases": "InFlight", "slots": "Slots"}[prefix] != spec {
			continue
		}
		for i, h := range m.Histories {
			calls, fits := translated(spec, h)
			start := replay.Record{}
			if spec == "InFlight" {
				start["limit"] = replay.Value(limit)
			} else {
				fits = fits && g.Constants["Limit"] == replay.Value(limit)
			}
			if !fits {
				others++
				continue
			}
			kept := replay.History{Start: start, Calls: calls}
			if _, err := look.Accepts(kept); err != nil {
				t.Fatalf("%s: %v", m.Model, err)
			}
			looked++
			if h.Width() > 1 && i%97 == 7 && len(sample) < 8 {
				sample = append(sample, kept)
			}
		}
	}
	t.Logf("counts: explored-histories-looked-up=%d explored-histories-of-more-callers=%d", looked, others)
	if looked == 0 {
		t.Error("no history of the explorer was looked up")
	}
	return sample
}

type exploredModel struct {
	Model, Spec string
	Histories   []seq.History
}

var exploredOnce struct {
	models []exploredModel
}

func exploredModels(t *testing.T) []exploredModel {
	t.Helper()
	if exploredOnce.models != nil {
		return exploredOnce.models
	}
	folder := t.TempDir()
	models := exec.Command("go", "test", "-count=1", "-tags", "interleave", "./models")
	models.Dir = "../.."
	models.Env = append(os.Environ(), "POISE_EXPLORE_HISTORIES="+folder)
	if out, err := models.CombinedOutput(); err != nil {
		t.Fatalf("the models wrote no histories: %v\n%s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m exploredModel
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
			t.Fatal(err)
		}
		exploredOnce.models = append(exploredOnce.models, m)
	}
	slices.SortFunc(exploredOnce.models, func(a, b exploredModel) int { return cmp.Compare(a.Model, b.Model) })
	return exploredOnce.models
}

// translated writes a history of leases or slots in the words of their graphs, if
// two callers can have made it, one of whose variables each lease is in.
func translated(spec string, h seq.History) (calls []replay.Call, fits bool) {
	h = slices.SortedFunc(slices.Values(h), func(a, b seq.Op) int { return cmp.Compare(a.Call, b.Call) })
	free := map[string]int64{"a": -1, "b": -1} // when the caller's last call returns
	holds := map[string]bool{}                 // its variable is taken
	owner := map[int]string{}
	pick := func(from int64, may func(string) bool) string {
		for _, c := range slices.Sorted(maps.Keys(free)) {
			if free[c] < from && may(c) {
				return c
			}
		}
		return ""
	}
	results := map[any]string{
		true: "true", false: "false", nil: "", seq.Admitted: "slot", seq.Draining: "draining", seq.Full: "full",
	}
	for _, op := range h {
		by, args, name, result := "", replay.Record{}, "", results[op.Result]
		switch op.Name {
		case "Acquire":
			by = pick(op.Call, func(c string) bool { return !holds[c] })
			name, args["of"] = "(*InFlight).Acquire", replay.Of(by)
			result = map[any]string{true: "lease", false: "at the limit"}[op.Result]
		case "Begin":
			by, name = pick(op.Call, func(c string) bool { return !holds[c] }), "(*Slots).Begin"
		case "Release":
			of := owner[op.Arg.(int)]
			if spec == "Slots" { // there only the caller that has a slot gives it back
				by, name = pick(op.Call, func(c string) bool { return c == of }), "(*Slot).Release"
			} else {
				by, name = pick(op.Call, func(string) bool { return true }), "(*Lease).Release"
				args["of"] = replay.Of(of)
			}
			delete(holds, of)
		case "Current":
			continue // it changes nothing, and the graph has no such call
		default:
			by, name = pick(op.Call, func(string) bool { return true }), "(*Slots)."+op.Name
		}
		if by == "" {
			return nil, false
		}
		if result == "lease" || result == "slot" {
			holds[by], owner[op.Arg.(int)] = true, by
		}
		free[by] = op.Return
		args["by"] = replay.Of(by)
		calls = append(calls, replay.Call{Name: name, Args: args, Result: replay.Of(result), Call: op.Call, Return: op.Return})
	}
	return calls, true
}
