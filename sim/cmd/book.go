package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/copyleftdev/poise-go/sim"
)

// errNoMark means that a chapter of the book has no place for a table.
var errNoMark = errors.New("a mark is missing")

// pictured are the scenarios whose pictures stand in the book.
var pictured = map[string]bool{"refuse": true, "overload-shedding": true, "outage": true, "hang-deadline": true}

// writeBook writes the tables between the marks of the chapter, and the pictures
// beside it.
func (r *result) writeBook(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var bounds, matrix bytes.Buffer
	fmt.Fprintln(&bounds, "| Scenario | What happens | Cases | Bounds that hold |\n|---|---|---|---|")
	for _, c := range r.Chapters {
		if c.Of > 0 {
			fmt.Fprintf(&bounds, "| `sim/scenarios/%s.txt` | %s | %d | %d of %d |\n", c.Name, c.Title, c.Cases, c.Held, c.Of)
		}
	}
	if err := sim.WriteMatrix(&matrix, r.matrix); err != nil {
		return err
	}
	for name, table := range map[string]string{"bounds": bounds.String(), "matrix": matrix.String()} {
		if text, err = between(text, name, table); err != nil {
			return err
		}
	}
	for _, c := range r.Chapters {
		if pictured[c.Name] {
			folder := filepath.Join(filepath.Dir(file), "availability")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			if err := c.draw(folder); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, text, 0o644)
}

// between puts the table between the marks of its name.
func between(text []byte, name, table string) ([]byte, error) {
	open, end := "<!-- sim:"+name+" -->", "<!-- /sim:"+name+" -->"
	before, rest, found := strings.Cut(string(text), open)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return nil, fmt.Errorf("%w: %s", errNoMark, open)
	}
	return []byte(before + open + "\n\n" + table + "\n" + end + after), nil
}
