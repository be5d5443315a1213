package replay_test

import (
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
)

func TestParseValue_WritesEqualValuesAlike(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a number", "-12", "-12"},
		{"a truth value", "TRUE", "TRUE"},
		{"a string with a quote", `"a \"b\""`, `"a \"b\""`},
		{"a record, fields sorted", `[b |-> 1, a |-> "x"]`, `[a |-> "x", b |-> 1]`},
		{"a set, members sorted and once", "{10, 9, 9}", "{9, 10}"},
		{"an interval, shorter numbers first", "-1..1", "{0, 1, -1}"},
		{"the empty set", "{}", "{}"},
		{"a sequence over two lines", "<<1,\n   <<>> >>", "<<1, <<>>>>"},
		{"a function, arguments sorted", "(2 :> {} @@ 1 :> FALSE)", "(1 :> FALSE @@ 2 :> {})"},
		{"a model value", "m1", "m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := replay.ParseValue(c.text); err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestParseValue_RefusesWhatIsCutOff(t *testing.T) {
	for _, text := range []string{"", "[a |->", "[a |-> 1", "{1, ", "<<1", `"open`, "(1 :> 2", "(1 @@ 2)", "[a 1]", "1 2"} {
		if got, err := replay.ParseValue(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

// counter is the dump of a counter from 0 to 1 that can also be looked at.
const counter = `strict digraph DiskGraph {
subgraph cluster_graph {
color="white";
-1 [label="/\\ last = [op |-> \"Init\", res |-> 0]\n/\\ x = 0",style = filled]
-1 -> 2 [label="Inc",color="black",fontcolor="black"];
2 [label="/\\ last = [op |-> \"Inc\", res |-> 1]\n/\\ x = 1"];
-1 -> 3 [label="Look",color="black",fontcolor="black"];
3 [label="/\\ last = [op |-> \"Look\", res |-> 0]\n/\\ x = 0"];
3 -> 2 [label="Inc",color="black",fontcolor="black"];
{rank = same; -1;}
{rank = same; 2;3;}
}
}`

var counts = replay.Counts{Initial: 1, Generated: 4, Distinct: 3}

func TestFromDot_MovesTheLastStepToTheEdges(t *testing.T) {
	g, err := replay.FromDot(counter, counts)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.States) != 2 || len(g.Initial) != 1 || len(g.Edges) != 2 {
		t.Fatalf("got %d states, %d initial, %d edges", len(g.States), len(g.Initial), len(g.Edges))
	}
	if e := g.Edges[1]; e.Step != `[op |-> "Look", res |-> 0]` || e.From != e.To {
		t.Errorf("looking is %+v, want a step from a state to itself", e)
	}
}

// forgetful is the same dump with each step forgotten before the next.
const forgetful = `strict digraph DiskGraph {
-1 [label="/\\ last = [op |-> \"Init\", res |-> 0]\n/\\ x = 0",style = filled]
-1 -> 2 [label="UnnamedAction",color="black",fontcolor="black"];
2 [label="/\\ last = [op |-> \"Inc\", res |-> 1]\n/\\ x = 1"];
-1 -> 3 [label="UnnamedAction",color="black",fontcolor="black"];
3 [label="/\\ last = [op |-> \"Look\", res |-> 0]\n/\\ x = 0"];
3 -> 4 [label="Forget",color="black",fontcolor="black"];
4 [label="/\\ last = [op |-> \"Forget\", res |-> 0]\n/\\ x = 0"];
4 -> 2 [label="UnnamedAction",color="black",fontcolor="black"];
4 -> 3 [label="UnnamedAction",color="black",fontcolor="black"];
}`

func TestFromDot_ForgetsStepsThatTheDumpForgets(t *testing.T) {
	want, err := replay.FromDot(counter, counts)
	if err != nil {
		t.Fatal(err)
	}
	g, err := replay.FromDot(forgetful, replay.Counts{Initial: 1, Generated: 6, Distinct: 4})
	if err != nil || g.String() != want.String() {
		t.Errorf("got %v\n%v", err, g)
	}
	changing := strings.Replace(forgetful, `\"Forget\", res |-> 0]\n/\\ x = 0`, `\"Forget\", res |-> 0]\n/\\ x = 1`, 1)
	if _, err := replay.FromDot(changing, replay.Counts{Initial: 1, Generated: 6, Distinct: 4}); err == nil {
		t.Error("a step that forgets changed something")
	}
	if _, err := replay.FromDot(strings.ReplaceAll(counter, `label="Inc"`, `label="UnnamedAction"`), counts); err == nil {
		t.Error("a step has no name, and nothing is forgotten")
	}
}

func TestFromDot_RefusesAnIncompleteOrDistortedDump(t *testing.T) {
	without := func(line string) string {
		var kept []string
		for l := range strings.Lines(counter) {
			if !strings.Contains(l, line) {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "")
	}
	for _, c := range []struct{ name, dot, want string }{
		{"the end is missing", counter[:len(counter)-2], "cut off"},
		{"nothing is there", "", "cut off"},
		{"a state is missing", without(`3 [label`), "leads to no state"},
		{"an edge is missing", without(`3 -> 2`), "TLC counted"},
		{"a temporal property was checked", strings.Replace(counter, `"Look",color="black"`, `"",style="dashed"`, 1), "temporal property"},
		{"a disjunct has no name", strings.Replace(counter, `[label="Look"`, `[label="Next"`, 1), "name every disjunct"},
		{"the last step is another one", strings.Replace(counter, `[label="Look"`, `[label="Inc"`, 1), `action Inc says that it is "Look"`},
		{"there is no last step", strings.ReplaceAll(counter, "last =", "latest ="), "no variable last"},
		{"a value is not one", strings.Replace(counter, "x = 1", "x = ?", 1), "no value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := replay.FromDot(c.dot, counts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func written(t *testing.T) string {
	t.Helper()
	g, err := replay.FromDot(counter, counts)
	if err != nil {
		t.Fatal(err)
	}
	g.Spec, g.Source, g.Constants = "Counter", "0", replay.Record{"Max": "1"}
	g.Go = map[string]string{"Inc": "(*Counter).Inc", "Look": "(*Counter).Look"}
	return g.String()
}

func TestParse_ReadsWhatWasWritten(t *testing.T) {
	text := written(t)
	g, err := replay.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if g.String() != text {
		t.Errorf("got\n%s\nwant\n%s", g, text)
	}
}

func TestParse_RefusesAGraphThatWasTouched(t *testing.T) {
	text := written(t)
	redigested := func(old, new string) string {
		changed := strings.Replace(text, old, new, 1)
		parts := strings.SplitN(changed, "\n", 5)
		parts[3] = "digest " + replay.Digest(parts[4])
		return strings.Join(parts, "\n")
	}
	for _, c := range []struct{ name, text, want string }{
		{"cut off in the body", text[:len(text)-5], "line 4: the digest"},
		{"cut off in the head", text[:20], "line 2: the graph is cut off"},
		{"another number of states", strings.Replace(text, "states 2", "states 3", 1), "line 3: states"},
		{"no header", "graph\n" + text, "line 1"},
		{"an edge to nowhere", redigested(">0", ">7"), "leads to state 7 of 2"},
		{"a value that is not listed", redigested("state 0", "state 7"), "names no value of x"},
		{"a state of too many values", redigested("state 0", "state 0 0"), "a state has 2 values for 1 variables"},
		{"a step that is not listed", redigested(" 0>", " 9>"), "names no step"},
		{"a line that is none", redigested("initial\n", "begin\n"), "is no line of a graph"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := replay.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
