package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// committed returns the scenarios of the repository.
func committed(t testing.TB) (all []*Scenario) {
	t.Helper()
	files, err := filepath.Glob("scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		some, err := Parse(strings.TrimSuffix(filepath.Base(file), ".txt"), string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}
