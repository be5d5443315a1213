package drift_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	makeUse    = regexp.MustCompile("(?m)(?:`|^ {4}|^\\$ |&& )make ([a-z][a-z-]*)")
)

// unknownTargets returns the make targets that a text tells its reader to run and
// that the Makefile does not have.
func unknownTargets(makefile, text string) []string {
	var targets, unknown []string
	for _, m := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	for _, m := range makeUse.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(targets, m[1]) {
			unknown = append(unknown, m[1])
		}
	}
	return unknown
}

func TestCommands_DocumentsNameOnlyTargetsThatExist(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	err = filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		for _, target := range unknownTargets(string(makefile), string(text)) {
			t.Errorf("%s names make %s, which the Makefile does not have", name, target)
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Errorf("read %d documents: %v", read, err)
	}
}

func TestCommands_UnknownTargetIsFound(t *testing.T) {
	const makefile = "VAR := x\n\ncheck: ## all\n\tgo test\n\nfuzz-smoke:\n"
	const text = "Run `make check` or `make fuzz-smoke POLICY=x`, never `make cheque`:\n\n    make verfy\n\nWe make things.\n$ cd x && make go\n"
	if got, want := unknownTargets(makefile, text), []string{"cheque", "verfy", "go"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
