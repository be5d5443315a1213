package replay_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/spec/replay"
)

// notWalked are the graphs whose edges nobody makes on the shipped code, all of
// them, with the reason.
var notWalked = []replay.Exempt{
	{Name: "ViewRefresh", Why: "the Balancer's goroutine, its timer and its channel cannot be stopped between two steps"},
	{Name: "Dispatch", Why: "the graph takes a refresh as a step that may come late, and the Balancer's goroutine cannot be held back from it"},
}

func TestGraphs_AreWalkedOrExempt(t *testing.T) {
	graphs, err := filepath.Glob("../tla/*/*.graph")
	if err != nil || len(graphs) == 0 {
		t.Fatalf("there are no graphs: %v", err)
	}
	walked := map[string]bool{}
	tests, _ := filepath.Glob("*_test.go")
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`replay\.Walk\(t, replay\.Load\(t, "[^"]*/(\w+)\.graph"\)`).FindAllStringSubmatch(string(text), -1) {
			walked[m[1]] = true
		}
	}
	edges := 0
	for _, file := range graphs {
		name := strings.TrimSuffix(filepath.Base(file), ".graph")
		exempt := slices.ContainsFunc(notWalked, func(e replay.Exempt) bool { return e.Name == name && e.Why != "" })
		if walked[name] == exempt {
			t.Errorf("%s: walked: %t, exempt: %t; it must be one of the two", name, walked[name], exempt)
		}
		if exempt {
			edges += len(replay.Load(t, file).Edges)
		}
	}
	for _, e := range notWalked {
		if !slices.ContainsFunc(graphs, func(g string) bool { return filepath.Base(g) == e.Name+".graph" }) {
			t.Errorf("there is no graph of %s to exempt", e.Name)
		}
	}
	t.Logf("counts: edges-exempt=%d", edges)
}
