package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever changes what a fault changes finds it here, and not when it is planted.
func TestFaults_CanBePlanted(t *testing.T) {
	for _, f := range faults {
		text, err := os.ReadFile(filepath.Join("..", "..", f.file))
		if err != nil {
			t.Errorf("%s: %v", f.what, err)
			continue
		}
		changed, err := f.plant(string(text))
		if err != nil {
			t.Errorf("%s: %v", f.what, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), f.file, changed, 0); err != nil || changed == string(text) {
			t.Errorf("%s: changed: %t, %v", f.what, changed != string(text), err)
		}
		if (f.histories == "") != (f.plain == notRun) || (f.models == "") != (f.explored == notRun) {
			t.Errorf("%s: what is not run has no tests, and the other way round", f.what)
		}
	}
}

func TestRecord_HoldsTheFaults(t *testing.T) {
	text, err := os.ReadFile("../TRACK_RECORD.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTable(string(text), faults)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Error("the table of TRACK_RECORD.md is not that of faults.go; run go run ./linearizability/replant -table")
	}
}

func TestPlant_WantsItsTextOnce(t *testing.T) {
	f := fault{file: "x.go", edit: []string{"a", "b"}}
	for _, text := range []string{"", "aa"} {
		if _, err := f.plant(text); err == nil {
			t.Errorf("planted in %q", text)
		}
	}
	if got, err := f.plant("xax"); got != "xbx" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTold_TellsRacesCrashesAndVerdictsApart(t *testing.T) {
	for text, want := range map[string]verdict{
		"WARNING: DATA RACE\n": raced, "x\npanic: index out of range\n": crash, "\npanic: test timed out after 4m0s\n": found,
		"WARNING: DATA RACE\n    judge_test.go:1: not linearizable\n": found, "    slots_test.go:7: model failed\n": found,
	} {
		if got := told(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if strings.Contains(string(raced), "missed") {
		t.Error("a race counts as missed")
	}
}
