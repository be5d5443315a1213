package linearizability

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// Kept is a history in a file, with what is needed to judge it again.
type Kept struct {
	Spec    string      `json:"spec"` // the name of its specification
	Verdict Verdict     `json:"verdict"`
	Found   string      `json:"found"` // by what
	History seq.History `json:"history"`
}

// Keep writes the history as JSON and as a page by Porcupine, which shows how far
// each order of the calls gets, to the folder. It returns the path of both without
// their endings.
func Keep(folder, found string, spec seq.Spec, h seq.History) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	m := model(spec)
	verdict, info := porcupine.CheckOperationsVerbose(m, operations(h), patience)
	b, err := json.MarshalIndent(Kept{spec.Name(), verdict, found, h}, "", " ")
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, fileName(found))
	return path, errors.Join(os.WriteFile(path+".json", append(b, '\n'), 0o644), porcupine.VisualizePath(m, info, path+".html"))
}

// Read reads a history that Keep wrote.
func Read(path string) (k Kept, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(b, &k); err != nil {
		return k, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// fileName keeps the letters, digits and underscores of a test's name.
func fileName(test string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		default:
			return '-'
		}
	}, test)
}
