// Command replant plants the faults of TRACK_RECORD.md in the library again, one at
// a time, and says which of the searches find each.
//
//	go run ./linearizability/replant               all of them; minutes
//	go run ./linearizability/replant -only Circuit those whose row holds the word
//	go run ./linearizability/replant -table        write the table of what is expected
//
// The tree stays as it is: go test reads the changed file by -overlay.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "plant the faults whose row holds this")
	table := flag.Bool("table", false, "plant nothing, and write what is expected into TRACK_RECORD.md")
	flag.Parse()
	do := func() error { return run(context.Background(), *only, os.Stdout) }
	if *table {
		do = record
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "replant:", err)
		os.Exit(1)
	}
}

// patience is how long one search may take: a drain that never ends is found too.
const patience = 4 * time.Minute

func run(ctx context.Context, only string, out io.Writer) error {
	lost, planted := 0, 0
	for _, f := range faults {
		if !strings.Contains(f.what, only) {
			continue
		}
		planted++
		g := f
		if err := search(ctx, &g); err != nil {
			return fmt.Errorf("%s: %w", f.what, err)
		}
		fmt.Fprintf(out, "%s | %s | %s | %s\n", g.what, g.plain, g.yielding, g.explored)
		for _, pair := range [][2]verdict{{f.plain, g.plain}, {f.yielding, g.yielding}, {f.explored, g.explored}} {
			switch {
			case pair[1] == missed && pair[0] != missed:
				fmt.Fprintf(out, "  LOST: it was %s\n", pair[0])
				lost++
			case pair[1] != pair[0]:
				fmt.Fprintf(out, "  now %s, and expected to be %s\n", pair[1], pair[0])
			}
		}
	}
	if planted == 0 {
		return fmt.Errorf("no row holds %q", only)
	}
	if lost > 0 {
		return fmt.Errorf("%d catches are lost", lost)
	}
	return nil
}

// record writes what is expected into the table.
func record() error {
	path := filepath.Join("linearizability", "TRACK_RECORD.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	renewed, err := withTable(string(text), faults)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(renewed), 0o644)
}

// search plants the fault and asks the three searches.
func search(ctx context.Context, f *fault) error {
	original, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	changed, err := f.plant(string(original))
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "replant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := filepath.Abs(f.file)
	if err != nil {
		return err
	}
	text, _ := json.Marshal(map[string]map[string]string{"Replace": {path: filepath.Join(folder, "changed.go")}})
	overlay := filepath.Join(folder, "overlay.json")
	for name, content := range map[string][]byte{"changed.go": []byte(changed), "overlay.json": text} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	ask := func(v *verdict, pattern, pkg string, flags ...string) error {
		*v = notRun
		if pattern == "" {
			return nil
		}
		*v, err = test(ctx, append([]string{"-overlay", overlay, "-run", pattern}, append(flags, pkg)...))
		return err
	}
	if err := ask(&f.plain, f.histories, "./linearizability", "-race"); err != nil {
		return err
	}
	if err := ask(&f.yielding, f.histories, "./linearizability", "-race", "-tags", "interleave"); err != nil {
		return err
	}
	if err := ask(&f.explored, f.models, "./models", "-tags", "interleave"); err != nil || f.explored != missed {
		return err
	}
	return ask(&f.explored, f.models, "./models", "-race", "-tags", "interleave")
}

// test runs go test and says what it found. A fault that does not build finds nothing.
func test(ctx context.Context, args []string) (verdict, error) {
	limited, cancel := context.WithTimeout(ctx, patience+time.Minute)
	defer cancel()
	command := exec.CommandContext(limited, "go", append([]string{"test", "-count=1", "-vet=off", "-timeout", patience.String()}, args...)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err := command.Run()
	text := said.String()
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(text, "no tests to run"):
		return "", errors.New("no test runs: " + strings.Join(args, " "))
	case err == nil:
		return missed, nil
	case !errors.As(err, &exit):
		return "", err
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return "", errors.New("it does not build:\n" + text)
	}
	return told(text), nil
}

// told says how a failed run found the fault.
func told(text string) verdict {
	race, panicked := strings.Contains(text, "WARNING: DATA RACE"), strings.Contains(text, "\npanic: ") && !strings.Contains(text, "panic: test timed out")
	judged := strings.Contains(text, "not linearizable") || strings.Contains(text, "illegal") || strings.Contains(text, "_test.go:")
	switch {
	case panicked:
		return crash
	case race && !judged:
		return raced
	default:
		return found
	}
}

// plant returns the text of the file with the fault in it.
func (f fault) plant(text string) (string, error) {
	for i := 0; i+1 < len(f.edit); i += 2 {
		if n := strings.Count(text, f.edit[i]); n != 1 {
			return "", fmt.Errorf("%s holds %d times what the fault changes, in place of once:\n%s", f.file, n, f.edit[i])
		}
		text = strings.Replace(text, f.edit[i], f.edit[i+1], 1)
	}
	return text, nil
}

const (
	tableBegin = "<!-- planted, written by go run ./linearizability/replant -table -->\n"
	tableEnd   = "<!-- /planted -->"
)

// withTable returns the record with the faults in its table.
func withTable(text string, faults []fault) (string, error) {
	before, rest, begins := strings.Cut(text, tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", errors.New("TRACK_RECORD.md has no place for the table")
	}
	var b strings.Builder
	b.WriteString("| Fault | Plain | Yielding | `models` |\n|---|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.what, f.plain, f.yielding, f.explored)
	}
	return before + tableBegin + b.String() + tableEnd + after, nil
}
