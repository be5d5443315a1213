package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/copyleftdev/poise-go/spec/replay"
)

// readme holds two tables, each between two comments.
const (
	readme     = "README.md"
	tableBegin = "<!-- specifications, written by go run ./spec/tla table -->\n"
	tableEnd   = "<!-- /specifications -->"
	killsBegin = "<!-- mutants, written by make tla-mutate -->\n"
	killsEnd   = "<!-- /mutants -->"
)

// table returns the table of specifications, as Markdown.
func (t *tree) table() string {
	var b strings.Builder
	b.WriteString("| Specification | What it models | States | Depth | Graph | Bugs | Witnesses |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, name := range t.names() {
		m := t.modules[name]
		var states, depth, bugs, witnesses int
		for _, r := range t.of(name) {
			switch _, k, _, _ := spell(r.Config); k {
			case safety:
				states, depth = r.Distinct, r.Depth
			case bug:
				bugs++
			case witness:
				witnesses++
			}
		}
		graph := "none"
		if g, err := replay.Parse(t.graphs[t.graphFile(name)]); err == nil {
			graph = fmt.Sprintf("%d states, %d edges", len(g.States), len(g.Edges))
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %d | %d | %s | %d | %d |\n", name, m.path, m.models(), states, depth, graph, bugs, witnesses)
	}
	return b.String()
}

// models returns what the header says that the module models, up to the full stop.
func (m module) models() string {
	text := ""
	for _, l := range m.header {
		switch after, begins := strings.CutPrefix(l.text, "Models: "); {
		case begins:
			text = after
		case text != "" && !strings.HasSuffix(text, "."):
			text += " " + l.text
		}
	}
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// withTable returns the README's text with the table in it.
func withTable(text, table string) (string, error) {
	return between(text, tableBegin, tableEnd, table)
}

// between returns the text with a table in the place of what is between two marks.
func between(text, begin, end, table string) (string, error) {
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("there is no place for the table between %s and %s", strings.TrimSpace(begin), end)
	}
	return before + begin + table + end + after, nil
}

// tabulate writes the table into the README.
func tabulate(_ context.Context, s settings) error {
	t, _, err := s.open(true)
	if err != nil {
		return err
	}
	text, err := withTable(t.readme, t.table())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.root, "spec", "tla", readme), []byte(text), 0o644)
}
