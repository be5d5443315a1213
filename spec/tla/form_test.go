package main

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/copyleftdev/poise-go/spec/replay"
)

func TestForm_OfThisTree(t *testing.T) {
	tree, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.modules) == 0 {
		t.Fatal("there are no specifications")
	}
	for _, p := range form(tree, os.DirFS("../..")) {
		t.Error(p)
	}
}

// switchModule is a good specification, whose files tests break one by one.
const switchModule = `---- MODULE Switch ----
\* Models: a switch.
\* Go: pkg/switch.go Switch.
\* Left out: the light.
CONSTANTS Bug, Lights
VARIABLES on, last

\* Go: (*Switch).Flip, at once.
Flip == /\ on' = ~on
        /\ last' = [op |-> "Flip", res |-> IF Bug = "Stuck" THEN on ELSE ~on]

\* World: the fuse blows.
Blow == /\ on
        /\ on' = FALSE
        /\ last' = [op |-> "Blow", res |-> FALSE]

Init == on = FALSE /\ last = [op |-> "Init", res |-> FALSE]
Next == \/ Flip
        \/ Blow
Spec == Init /\ [][Next]_<<on, last>>

TypeOK == on \in BOOLEAN
Truth == last.res = on
Changes == [][on' # on]_<<on, last>>
GoesOff == []<>~on
Witness_On == ~on
====
`

func goodTree() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	cfg := func(checks string) *fstest.MapFile {
		return file("SPECIFICATION Spec\nCONSTANTS\n  Bug = \"None\"\n  Lights = 1\n" + checks)
	}
	return fstest.MapFS{
		"switch/Switch.tla":      file(switchModule),
		"switch/Switch.cfg":      cfg("INVARIANTS TypeOK Truth\n"),
		"switch/Switch_Dump.cfg": cfg("INVARIANT TypeOK\n"),
		"pkg/switch.go":          file("package poise\n\ntype Switch struct{}\n\nfunc (s *Switch) Flip() {}\n"),
		"README.md":              file(tableBegin + tableEnd),
		"manifest.json": file(`[
  {"config":"Switch","distinct":2,"depth":2,"seconds":9},
  {"config":"Switch_Dump","distinct":2,"depth":2,"seconds":9},
  {"config":"Switch_Bug_Stuck","violates":"Truth","seconds":9},
  {"config":"Switch_Witness_On","violates":"Witness_On","seconds":9}
]
`),
	}
}

// withGraph adds the graph of the tree's specification.
func withGraph(t *testing.T, files fstest.MapFS) fstest.MapFS {
	t.Helper()
	tree, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	g := &replay.Graph{Spec: "Switch", Source: tree.source("Switch"), States: []replay.Record{{"on": replay.Of(false)}}, Initial: []int{0}}
	files["switch/Switch.graph"] = &fstest.MapFile{Data: []byte(g.String())}
	tree.graphs["switch/Switch.graph"] = g.String()
	text, err := withTable(tree.readme, tree.table())
	if err != nil {
		t.Fatal(err)
	}
	files["README.md"] = &fstest.MapFile{Data: []byte(text)}
	return files
}

func problemsOf(t *testing.T, files fs.FS) (all []string) {
	t.Helper()
	tree, err := load(files)
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range form(tree, files) {
		all = append(all, p.String())
	}
	return all
}

func TestForm_AcceptsAGoodTree(t *testing.T) {
	if problems := problemsOf(t, withGraph(t, goodTree())); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestForm_ReportsEveryFaultWithFileAndLine(t *testing.T) {
	swap := func(file, old, new string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			text := strings.Replace(string(files[file].Data), old, new, 1)
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	add := func(file, text string) func(fstest.MapFS) {
		return func(files fstest.MapFS) { files[file] = &fstest.MapFile{Data: []byte(text)} }
	}
	remove := func(file string) func(fstest.MapFS) {
		return func(files fstest.MapFS) { delete(files, file) }
	}
	const module, manifest = "switch/Switch.tla", "manifest.json"
	for _, c := range []struct {
		name  string
		fault func(fstest.MapFS)
		want  string
	}{
		{"a config that the manifest lacks", add("switch/Switch_Live.cfg", "CONSTANT Bug = \"None\"\nPROPERTY GoesOff\n"),
			"switch/Switch_Live.cfg:1: the configuration is not in manifest.json"},
		{"a manifest row without a file", swap(manifest, `"Switch_Dump"`, `"Switch_Live"`),
			"manifest.json:3: there is no file Switch_Live.cfg"},
		{"a bug's configuration that is a file", add("switch/Switch_Bug_Stuck.cfg", "INVARIANT Truth\n"),
			"switch/Switch_Bug_Stuck.cfg:1: the configurations of bugs and witnesses are made from manifest.json"},
		{"a witness's configuration that is a file", add("switch/Switch_Witness_Off.cfg", "INVARIANT Witness_Off\n"),
			"switch/Switch_Witness_Off.cfg:1: the configurations of bugs and witnesses are made from manifest.json"},
		{"a row listed twice", swap(manifest, "Switch_Dump", "Switch"), "manifest.json:2: Switch is listed twice"},
		{"a row without a ceiling", swap(manifest, `"violates":"Truth","seconds":9`, `"violates":"Truth"`),
			"manifest.json:4: Switch_Bug_Stuck has no ceiling in seconds"},
		{"a bug that violates nothing", swap(manifest, `"violates":"Truth",`, ""),
			"manifest.json:4: Switch_Bug_Stuck must say what it violates"},
		{"a success without counts", swap(manifest, `"distinct":2,`, ""),
			"manifest.json:2: Switch succeeds, so it states distinct states and depth"},
		{"an unknown field of the manifest", swap(manifest, "distinct", "distinkt"), "manifest.json:"},
		{"a misspelt row", swap(manifest, "Switch_Bug_Stuck", "SwitchBug_stuck"),
			"manifest.json:4: the name SwitchBug_stuck must be X, X_Live, X_Dump, X_Bug_Name or X_Witness_Name"},
		{"a misspelt file", add("switch/Switch_dump.cfg", "INVARIANT TypeOK\n"),
			"switch/Switch_dump.cfg:1: the name must be X.cfg, X_Live.cfg or X_Dump.cfg"},
		{"a bug of a module that there is not", swap(manifest, "Switch_Bug_Stuck", "Lamp_Bug_Stuck"),
			"manifest.json:4: Lamp_Bug_Stuck: there is no Lamp.cfg"},
		{"a bug that breaks what nothing checks", swap(manifest, `"violates":"Truth"`, `"violates":"Changes"`),
			"manifest.json:4: Switch_Bug_Stuck: neither Switch.cfg nor Switch_Live.cfg checks Changes"},
		{"bounds of a configuration that there is not", swap(manifest, `"Truth"`, `"Truth","bounds":"Live"`),
			"manifest.json:4: Switch_Bug_Stuck: there is no Switch_Live.cfg to take the bounds from"},
		{"another value of a constant that there is not", swap(manifest, `"Truth"`, `"Truth","with":{"Fuses":"2"}`),
			"manifest.json:4: Switch_Bug_Stuck: Switch.cfg has no constant Fuses to exchange"},
		{"another value that is the same", swap(manifest, `"Truth"`, `"Truth","with":{"Lights":"1"}`),
			"manifest.json:4: Switch_Bug_Stuck: Lights is 1 in Switch.cfg already"},
		{"bounds of a configuration that is a file", swap(manifest, `"distinct":2`, `"with":{"Lights":"2"},"distinct":2`),
			"manifest.json:2: Switch is a file, so its bounds stand there"},
		{"a bug that the module does not know", swap(module, `Bug = "Stuck"`, `Bug = "Glued"`),
			`manifest.json:4: no line of switch/Switch.tla asks whether Bug is "Stuck"`},
		{"a good config with a bug in it", swap("switch/Switch.cfg", `"None"`, `"Stuck"`),
			`switch/Switch.cfg:1: the constant Bug is "Stuck" instead of "None"`},
		{"an invariant that nothing breaks", swap("switch/Switch.cfg", "Truth", "Truth Other"),
			"switch/Switch.cfg:1: no bug variant breaks Other"},
		{"a witness that checks something else", swap(manifest, `"violates":"Witness_On"`, `"violates":"Truth"`),
			"manifest.json:5: Switch_Witness_On violates its own invariant and nothing else: Witness_On"},
		{"a witness that the module does not define", swap(module, "Witness_On ==", "Witness_Off =="),
			"manifest.json:5: switch/Switch.tla does not define Witness_On"},
		{"a witness without a row", swap(module, "====\n", "Witness_Off == on\n===="),
			"switch/Switch.tla:27: nothing reaches Witness_Off; add Switch_Witness_Off to manifest.json"},
		{"symmetry beside a property", swap("switch/Switch.cfg", "INVARIANTS", "SYMMETRY Sym\nPROPERTY Changes\nINVARIANTS"),
			"switch/Switch.cfg:1: a property under symmetry may be judged wrongly"},
		{"a temporal property among the safe ones", swap("switch/Switch.cfg", "INVARIANTS", "PROPERTY GoesOff\nINVARIANTS"),
			"switch/Switch.cfg:1: GoesOff is temporal, so it belongs into Switch_Live.cfg"},
		{"a step property among the temporal ones", add("switch/Switch_Live.cfg", "CONSTANT Bug = \"None\"\nPROPERTY Changes\n"),
			"switch/Switch_Live.cfg:1: Changes speaks of single steps, so it belongs into Switch.cfg"},
		{"a property that nobody defined", swap("switch/Switch.cfg", "INVARIANTS", "PROPERTY Nothing\nINVARIANTS"),
			"switch/Switch.cfg:1: switch/Switch.tla does not define Nothing"},
		{"a view on a dumped graph", swap("switch/Switch_Dump.cfg", "INVARIANT", "VIEW on\nINVARIANT"),
			"switch/Switch_Dump.cfg:1: VIEW would change the graph that is judged"},
		{"a constraint on a liveness check", add("switch/Switch_Live.cfg", "CONSTRAINT Few\nPROPERTY GoesOff\n"),
			"switch/Switch_Live.cfg:1: CONSTRAINT would change the graph that is judged"},
		{"a property on a dumped graph", swap("switch/Switch_Dump.cfg", "INVARIANT", "PROPERTY Changes\nINVARIANT"),
			"switch/Switch_Dump.cfg:1: a property adds edges to the dumped graph"},
		{"an action without its Go line", swap(module, `\* Go: (*Switch).Flip, at once.`, ""),
			`switch/Switch.tla:9: Flip has no line "\* Go:`},
		{"a drawing by a variable that there is not", swap(module, `\* Models: a switch.`, "\\* Models: a switch.\n\\* Drawn: colour."),
			"switch/Switch.tla:1: Switch: there is no variable colour"},
		{"an action that speaks by an operator, without its line", swap(module, "\\* World: the fuse blows.\nBlow == ", "Blow == Blows\n\nBlows == "),
			`switch/Switch.tla:12: Blow has no line "\* Go:`},
		{"an action of a method that is gone", swap("pkg/switch.go", "Flip", "Toggle"),
			"switch/Switch.tla:8: the Go files that the module names declare no (*Switch).Flip"},
		{"a type that is gone", swap("pkg/switch.go", "type Switch ", "type Toggle "),
			"switch/Switch.tla:3: pkg/switch.go declares no Switch"},
		{"a Go file that is gone", remove("pkg/switch.go"), "switch/Switch.tla:3: "},
		{"a header that does not say what is left out", swap(module, `\* Left out: the light.`, ""),
			"switch/Switch.tla:1: the comment at the top has no line Left out:"},
		{"a module under another name", swap(module, "MODULE Switch", "MODULE Lamp"),
			"switch/Switch.tla:1: the module is called Lamp"},
		{"a module without a dump", remove("switch/Switch_Dump.cfg"), "switch/Switch.tla:1: there is no Switch_Dump.cfg"},
		{"a module without a graph", remove("switch/Switch.graph"), "switch/Switch.tla:1: there is no graph of it"},
		{"a graph of another text", swap(module, "~on\n", "TRUE\n"),
			"switch/Switch.graph:2: the graph was made from another text of Switch"},
		{"a table of other figures", swap("README.md", "| 2 |", "| 3 |"), "README.md:1: the table of specifications is not theirs"},
		{"a README without the table", add("README.md", "# Specifications\n"), "README.md:1: there is no place for the table"},
		{"a graph that was cut off", add("switch/Switch.graph", "graph Switch\nsource x\n"),
			"switch/Switch.graph:1: line 3: the graph is cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := withGraph(t, goodTree())
			c.fault(files)
			problems := problemsOf(t, files)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("want %s\ngot  %s", c.want, strings.Join(problems, "\n     "))
			}
		})
	}
}

func TestDeclares_NamesMethodsByTheirTypes(t *testing.T) {
	got, err := declares(fstest.MapFS{"x.go": {Data: []byte(`package x
type T[V any] struct{}
func (*T[V]) Pointed() {}
func (T[V]) Plain() {}
type U int
func (*U) Pointed() {}
func F() {}
`)}}, "x.go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"(*T).Pointed", "(*U).Pointed", "F", "T", "T.Plain", "U"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}
