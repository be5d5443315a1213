package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// derive adds the configurations of bugs and witnesses. Each is made from its row
// of the manifest and from the configuration whose bounds it has, so that none of
// them is a file. A row that fits no configuration gets none; [form] says why.
func (t *tree) derive() {
	for _, r := range t.rows {
		if _, k, _, ok := spell(r.Config); !ok || k != bug && k != witness {
			continue
		}
		if text, err := t.derived(r); err == nil {
			t.configs[r.Config] = text
		}
	}
}

// derived returns the text of a bug's or a witness's configuration.
func (t *tree) derived(r row) (string, error) {
	of, k, what, _ := spell(r.Config)
	whole, exists := t.configs[of]
	if !exists {
		return "", fmt.Errorf("there is no %s.cfg", of)
	}
	bounds := r.Bounds
	directive, temporal := "INVARIANT", false
	if k == bug {
		eventually := parseConfig(t.configs[of+"_Live"])
		steps := parseConfig(whole)
		switch {
		case slices.Contains(eventually.checks(), r.Violates):
			directive, temporal = "PROPERTY", true
			if bounds == "" {
				bounds = string(live)
			}
		case slices.Contains(steps.properties, r.Violates):
			directive = "PROPERTY"
		case !slices.Contains(steps.invariants, r.Violates):
			return "", fmt.Errorf("neither %s.cfg nor %s_Live.cfg checks %s", of, of, r.Violates)
		}
	}
	from := of
	if bounds != "" {
		from += "_" + bounds
	}
	text, exists := t.configs[from]
	if !exists {
		return "", fmt.Errorf("there is no %s.cfg to take the bounds from", from)
	}
	constants := parseConfig(text).constants
	for _, name := range slices.Sorted(maps.Keys(r.With)) {
		switch value, known := constants[name]; {
		case !known || name == "Bug":
			return "", fmt.Errorf("%s.cfg has no constant %s to exchange", from, name)
		case value == r.With[name]:
			return "", fmt.Errorf("%s is %s in %s.cfg already", name, value, from)
		}
		constants[name] = r.With[name]
	}
	if k == bug {
		constants["Bug"] = `"` + what + `"`
	}
	var b strings.Builder
	fmt.Fprintf(&b, "SPECIFICATION %s\n", parseConfig(whole).specification)
	b.WriteString("CONSTANTS\n")
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		fmt.Fprintf(&b, "  %s = %s\n", name, constants[name])
	}
	if temporal {
		// What never happens may end in a state without a step. The property is to be
		// named then, and not the deadlock.
		b.WriteString("CHECK_DEADLOCK FALSE\n")
	}
	fmt.Fprintf(&b, "%s %s\n", directive, r.Violates)
	return b.String(), nil
}

// configs writes the modules, each with its configurations beside it, for whoever
// runs TLC by hand or in an editor.
func configs(_ context.Context, s settings) error {
	t, rows, err := s.open(true)
	if err != nil {
		return err
	}
	for _, r := range rows {
		of, _, _, _ := spell(r.Config)
		folder := filepath.Join(s.root, "out", "tla", strings.ToLower(of))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for name, text := range map[string]string{of + ".tla": t.modules[of].text, r.Config + ".cfg": t.configs[r.Config]} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(s.out, "%d configurations in %s\n", len(rows), filepath.Join(s.root, "out", "tla"))
	return nil
}
