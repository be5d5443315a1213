package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

const modulePath = "github.com/copyleftdev/poise-go"

// runtimePath is the package that instrumented code asks.
const runtimePath = modulePath + "/internal/mutant"

// ErrNoMutants means a package without a place to change: a score of it would say
// nothing.
var ErrNoMutants = errors.New("mutation: no place to change")

// source is one package as it is written.
type source struct {
	pkg     *packages.Package
	dir     string
	files   []*walker
	mutants []*Mutant
}

// load reads the package in the folder and finds its mutants.
func load(root, dir string) (*source, error) {
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir: root, Fset: token.NewFileSet(),
	}
	list, err := packages.Load(cfg, dir)
	switch {
	case err != nil:
		return nil, err
	case len(list) != 1:
		return nil, fmt.Errorf("mutation: %s names %d packages, and one is judged at a time", dir, len(list))
	case len(list[0].Errors) > 0:
		return nil, fmt.Errorf("mutation: %s does not compile: %w", dir, list[0].Errors[0])
	}
	s := &source{pkg: list[0], dir: list[0].Dir}
	for i, f := range s.pkg.Syntax {
		path := s.pkg.CompiledGoFiles[i]
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if generated(text) {
			continue // its generator is what is to be tested
		}
		if strings.Contains(string(text), "import \"C\"") {
			return nil, fmt.Errorf("mutation: %s uses cgo, which is not judged", path)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		w := &walker{pkg: s.pkg, info: s.pkg.TypesInfo, file: f, path: relative, source: text, base: s.pkg.Fset.File(f.Pos()).Base()}
		w.find()
		s.files = append(s.files, w)
		s.mutants = append(s.mutants, w.mutants...)
	}
	if len(s.mutants) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoMutants, dir)
	}
	inOrder(s.mutants)
	for i, m := range s.mutants {
		m.number = int32(i)
	}
	name(s.mutants)
	return s, nil
}

func generated(text []byte) bool {
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "// Code generated ") && strings.HasSuffix(line, " DO NOT EDIT.") {
			return true
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return false
}

// overlay writes the instrumented files and what puts them in the place of the others.
func (s *source) overlay(to string, dropped map[*Mutant]bool) (string, error) {
	replace := map[string]string{}
	for _, w := range s.files {
		if len(w.mutants) == 0 {
			continue
		}
		path := filepath.Join(to, filepath.Base(w.path))
		if err := os.WriteFile(path, []byte(w.instrumented(dropped)), 0o600); err != nil {
			return "", err
		}
		replace[s.pkg.CompiledGoFiles[indexOf(s, w)]] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(to, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// plainly writes an overlay of the source with one change written out, without a
// switch.
func (s *source) plainly(to string, m *Mutant) (string, error) {
	for _, w := range s.files {
		if w.path != m.File {
			continue
		}
		plain := m.plain
		if m.Was != "" && !isStatement(m) {
			plain = "(" + plain + ")"
		}
		text := string(w.source[:m.at.Offset]) + plain + string(w.source[m.to:])
		path := filepath.Join(to, filepath.Base(w.path))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace, err := json.Marshal(map[string]any{"Replace": map[string]string{s.pkg.CompiledGoFiles[indexOf(s, w)]: path}})
		if err != nil {
			return "", err
		}
		path = filepath.Join(to, "overlay.json")
		return path, os.WriteFile(path, replace, 0o600)
	}
	return "", fmt.Errorf("mutation: %s is in no file", m.ID)
}

// isStatement reports whether the change is one of a statement.
func isStatement(m *Mutant) bool {
	switch m.Rule {
	case removal.Name, locking.Name, deferral.Name, increment.Name, assignment.Name, storeOrder.Name:
		return true
	case atomicStep.Name:
		return !strings.HasPrefix(m.plain, "func()")
	}
	return false
}

func indexOf(s *source, w *walker) int {
	for i, f := range s.pkg.Syntax {
		if f == w.file {
			return i
		}
	}
	return -1
}
