package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// sequential says how the operations of a graph read as calls of the sequential
// specification by which models and histories judge the same type.
type sequential struct {
	spec func(constants, initial replay.Record) seq.Spec
	// call returns the call that the last operation of a path is, nil for a step of the
	// world; false if it is none of the specification's. After is the state that it
	// leaves.
	call func(constants, after replay.Record, path []replay.Operation) ([]seq.Op, bool)
	// loose says which results the specification allows although a graph of whole
	// calls never has them. nil: none.
	loose func(seq.Op) bool
	busy  func(replay.Record) []string
}

// agree makes every operation of the graph in the sequential specification, after a
// shortest path to where it begins. What the graph returns is allowed there; what
// the same call returns elsewhere, and not here, is refused. So the two
// specifications of one type say the same of calls that do not overlap.
func agree(t *testing.T, graph string, s sequential) {
	t.Helper()
	counts, err := s.check(replay.Load(t, graph))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(counts)
}

func (s sequential) check(g *replay.Graph) (counts string, err error) {
	if s.busy == nil {
		s.busy = func(replay.Record) []string { return nil }
	}
	walks, err := g.Walks(s.busy)
	if err != nil {
		return "", err
	}
	results := map[string]map[replay.Value]bool{} // of each function
	here := map[string]bool{}                     // what a call may return in a state
	key := func(o replay.Operation, result any) string { return fmt.Sprint(o.From, o.Name, o.Args.Value(), result) }
	for _, walk := range walks {
		o := walk[len(walk)-1]
		if results[o.Name] == nil {
			results[o.Name] = map[replay.Value]bool{}
		}
		results[o.Name][o.Result] = true
		if h, ok := s.history(g, walk); ok && len(h) > 0 {
			here[key(o, h[len(h)-1].Result)] = true
		}
	}
	allowed, refused, left := 0, 0, 0
	for _, walk := range walks {
		history, ok := s.history(g, walk)
		if !ok {
			left++
			continue
		}
		spec := s.spec(g.Constants, g.States[walk[0].From])
		if !seq.Check(spec, history) {
			return "", fmt.Errorf("%s refuses what the graph of %s has:\n%v", spec.Name(), g.Spec, history)
		}
		allowed++
		last := walk[len(walk)-1]
		for other := range results[last.Name] {
			wrong := last
			wrong.Result = other
			history, ok := s.history(g, append(walk[:len(walk)-1:len(walk)-1], wrong))
			if !ok || len(history) == 0 {
				continue
			}
			if op := history[len(history)-1]; here[key(last, op.Result)] || s.loose != nil && s.loose(op) {
				continue
			}
			if seq.Check(spec, history) {
				return "", fmt.Errorf("%s allows what the graph of %s has not:\n%v", spec.Name(), g.Spec, history)
			}
			refused++
		}
	}
	if allowed == 0 || refused == 0 {
		return "", fmt.Errorf("%d operations were allowed, and %d wrong results refused", allowed, refused)
	}
	return fmt.Sprintf("%s: %d operations are allowed, %d wrong results refused; %d have no word in the sequential specification",
		g.Spec, allowed, refused, left), nil
}

// history is a path as calls that come one after the other.
func (s sequential) history(g *replay.Graph, walk []replay.Operation) (h seq.History, ok bool) {
	for i, o := range walk {
		calls, ok := s.call(g.Constants, g.States[o.To], walk[:i+1])
		if !ok {
			return nil, false
		}
		for _, op := range calls {
			op.Call, op.Return = int64(2*i), int64(2*i+1)
			h = append(h, op)
		}
	}
	return h, true
}

// callerNumber is the place of a caller among those called a, b, c.
func callerNumber(name replay.Value) int { return int(name.Str()[0] - 'a') }

// one is an operation that is one call.
func one(name string, arg, result any) ([]seq.Op, bool) {
	return []seq.Op{{Name: name, Arg: arg, Result: result}}, true
}

const inFlightGraph = "../tla/inflight/InFlight.graph"

func inFlightSequential() sequential {
	return sequential{
		spec: func(_, initial replay.Record) seq.Spec { return seq.Leases(initial["limit"].Int()) },
		call: func(_, _ replay.Record, path []replay.Operation) ([]seq.Op, bool) {
			o := path[len(path)-1]
			if o.Name == "(*InFlight).Acquire" {
				return one("Acquire", callerNumber(o.Args["by"]), o.Result.Str() == "lease")
			}
			return one("Release", callerNumber(o.Args["of"]), o.Result.Str() == "true")
		},
		busy: busy("idle"),
	}
}

func TestInFlight_SequentialSpecificationAgrees(t *testing.T) {
	agree(t, inFlightGraph, inFlightSequential())
}

func TestSequential_NoticesAnotherSpecification(t *testing.T) {
	g := replay.Load(t, inFlightGraph)
	for name, fault := range map[string]struct {
		spec func(limit int) seq.Spec
		want string
	}{
		"one more than the limit": {func(limit int) seq.Spec { return seq.Leases(limit + 1) }, "refuses what the graph"},
		"anything goes": {func(int) seq.Spec {
			return seq.Define("anything", 0, func(s int, _ seq.Op) []int { return []int{s} })
		}, "allows what the graph"},
	} {
		s := inFlightSequential()
		s.spec = func(_, initial replay.Record) seq.Spec { return fault.spec(initial["limit"].Int()) }
		if _, err := s.check(g); err == nil || !strings.Contains(err.Error(), fault.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// notSequential are the graphs whose type has no sequential specification that says
// the same, with the reason.
var notSequential = []replay.Exempt{
	{Name: "Circuit", Why: "the sequential one has one unit of time open, and no jitter"},
	{Name: "Directory", Why: "the sequential one is of one member, and of changes that come singly"},
	{Name: "Dispatch", Why: "a Loop is a composition; its histories are judged by the set of its members"},
	{Name: "PassiveHealth", Why: "it has no sequential specification: models judge what is left at the end"},
	{Name: "Lives", Why: "a Loop is a composition; its histories are judged by the set of its members"},
}

func TestGraphs_AgreeWithTheSequentialSpecificationOrAreExempt(t *testing.T) {
	graphs, err := filepath.Glob("../tla/*/*.graph")
	if err != nil || len(graphs) == 0 {
		t.Fatalf("there are no graphs: %v", err)
	}
	text, err := os.ReadFile("sequential_test.go")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range notSequential {
		left[e.Name] = true
	}
	for _, file := range graphs {
		name := strings.TrimSuffix(filepath.Base(file), ".graph")
		agrees := strings.Contains(string(text), "func Test"+name+"_SequentialSpecificationAgrees(")
		if agrees == left[name] {
			t.Errorf("%s: agrees: %t, exempt: %t; it must be one of the two", name, agrees, left[name])
		}
		delete(left, name)
	}
	for name := range left {
		t.Errorf("there is no graph of %s to exempt", name)
	}
}

func TestSlots_SequentialSpecificationAgrees(t *testing.T) {
	results := map[string]seq.Admission{"slot": seq.Admitted, "draining": seq.Draining, "full": seq.Full}
	agree(t, "../tla/slots/Slots.graph", sequential{
		spec: func(constants, _ replay.Record) seq.Spec { return seq.Slots(constants["Limit"].Int()) },
		call: func(_, _ replay.Record, path []replay.Operation) ([]seq.Op, bool) {
			switch o := path[len(path)-1]; o.Name {
			case "(*Slots).Begin":
				return one("Begin", callerNumber(o.Args["by"]), results[o.Result.Str()])
			case "(*Slot).Release":
				return one("Release", callerNumber(o.Args["by"]), o.Result.Str() == "true")
			default:
				_, name, _ := strings.Cut(o.Name, ").")
				return one(name, nil, nil)
			}
		},
		// Another Begin may be about to be refused for draining, and hold a slot.
		loose: func(op seq.Op) bool { return op.Result == seq.Full },
		busy:  busy(""),
	})
}

func TestSnapshotChannel_SequentialSpecificationAgrees(t *testing.T) {
	words := map[string]int{"closed": seq.Ended, "ended": seq.Ended, "none": seq.Cancelled, "cancelled": seq.Cancelled}
	agree(t, "../tla/snapshotchannel/SnapshotChannel.graph", sequential{
		spec: func(_, initial replay.Record) seq.Spec { return seq.Board(initial["revision"].Int()) },
		call: func(_, after replay.Record, path []replay.Operation) ([]seq.Op, bool) {
			o := path[len(path)-1]
			result, word := words[o.Result.Str()]
			if !word {
				result, _ = strconv.Atoi(o.Result.Str())
			}
			switch o.Name {
			case "(*Session).Replace":
				ops, _ := one("Publish", nil, result)
				return ops, o.Result.Str() != "exhausted" // its revisions do not end
			case "(*Directory).Close":
				return one("Close", nil, nil)
			case "(*Cursor).Next":
				return one("Next", 0, result)
			case "(*Cursor).Poll":
				if o.Result.Str() == "none" && after["ended"].Fields()[o.Args["by"].Str()].Bool() {
					result = seq.Ended // a Poll says so by Ended
				}
				return one("Poll", 0, result)
			case "Cancel", "Renew":
				return nil, true
			}
			return nil, false // a new cursor, and WaitFor
		},
		// A wait may be given up whenever it is one.
		loose: func(op seq.Op) bool { return op.Name == "Next" && op.Result == seq.Cancelled },
		busy:  busy(""),
	})
}

func TestActiveHealth_SequentialSpecificationAgrees(t *testing.T) {
	conditions := map[string]int{"unknown": 0, "healthy": 1, "unhealthy": 2}
	agree(t, "../tla/activehealth/ActiveHealth.graph", sequential{
		spec: func(constants, _ replay.Record) seq.Spec {
			return seq.Probing(seq.ProbingConfig{
				Intervals: [3]int{constants["UnknownInterval"].Int(), constants["Interval"].Int(), constants["UnhealthyInterval"].Int()},
				Hold:      constants["Hold"].Int(), Good: constants["HealthyThreshold"].Int(), Bad: constants["UnhealthyThreshold"].Int(),
			})
		},
		call: func(constants, _ replay.Record, path []replay.Operation) ([]seq.Op, bool) {
			number := func(name string) int { return constants[name].Int() }
			back := number("Hold") + max(number("Interval"), number("UnhealthyInterval"), number("UnknownInterval"))
			at, issued := 100, 0
			for _, o := range path[:len(path)-1] {
				switch {
				case o.Name == "Tick":
					at++
				case o.Name == "StepBack":
					at -= back
				case o.Name == "(*ActiveHealth).Reserve" && o.Result.Int() == 0:
					issued++
				}
			}
			o := path[len(path)-1]
			of, arg, yes := o.Args["of"].Int(), o.Args["arg"].Str(), o.Result.Int() == 1
			switch o.Name {
			case "(*ActiveHealth).Reserve":
				wait := max(o.Result.Int(), -o.Result.Int())
				ops, _ := one("Reserve", seq.Stamped{Number: issued + 1, At: at}, wait)
				return ops, o.Args["draw"].Int() == 0 // it knows no jitter
			case "(*ActiveHealth).Complete":
				return one("Complete", seq.Verdict{Permit: of, At: at, Failed: arg != "healthy"}, yes)
			case "(*ActiveHealth).Cancel":
				return one("Cancel", seq.Stamped{Number: of, At: at}, yes)
			case "(*ActiveHealth).Force":
				return one("Force", seq.Stamped{Number: conditions[arg], At: at}, nil)
			case "(*ActiveHealth).Due":
				return one("Due", at, o.Result.Int())
			}
			return nil, true
		},
	})
}
