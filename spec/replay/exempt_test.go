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
var notWalked []replay.Exempt

func TestGraphs_AreWalkedOrExempt(t *testing.T) {
	graphs, err := filepath.Glob("../tla/*/*.graph")
	if err != nil || len(graphs) == 0 {
		t.Fatalf("there are no graphs: %v", err)
	}
	walked := walks(t, "*_test.go", "../../models/walk/*_test.go")
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

// walks returns the specifications whose graph a test walks, named as make
// tla-mutate looks for it.
func walks(t *testing.T, patterns ...string) map[string]bool {
	walked := map[string]bool{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no tests %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`func Test(\w+)_Walks?[A-Z]\w*\(t \*testing.T\)`).FindAllStringSubmatch(string(text), -1) {
				walked[m[1]] = strings.Contains(string(text), "/"+m[1]+".graph")
			}
		}
	}
	return walked
}
