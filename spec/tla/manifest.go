package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// manifestFile lists every configuration with what TLC must say of it.
const manifestFile = "manifest.json"

// row is what TLC must say of one configuration.
type row struct {
	// Config is its name, without folder and extension.
	Config string `json:"config"`
	// Violates is the invariant or property that must be violated; "" for none.
	Violates string `json:"violates,omitempty"`
	// Bounds says whose constants a bug or a witness has: "Live" or "Dump". Without
	// it they are those of the configuration that checks what is violated.
	Bounds string `json:"bounds,omitempty"`
	// With holds the constants that differ from those.
	With map[string]string `json:"with,omitempty"`
	// Distinct and Depth are the counts of the whole state graph, if nothing is
	// to be violated.
	Distinct int `json:"distinct,omitempty"`
	Depth    int `json:"depth,omitempty"`
	// Seconds is the ceiling.
	Seconds int `json:"seconds"`

	line int
}

func (r row) limit() time.Duration { return time.Duration(r.Seconds) * time.Second }

// kind is what a configuration is for, by the spelling of its name.
type kind string

const (
	safety  kind = ""        // X.cfg
	live    kind = "Live"    // X_Live.cfg
	dump    kind = "Dump"    // X_Dump.cfg
	bug     kind = "Bug"     // X_Bug_Name, made from its row
	witness kind = "Witness" // X_Witness_Name, made from its row
)

var spelling = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)(?:_(Live|Dump)|_(Bug|Witness)_([A-Z][A-Za-z0-9]*))?$`)

// spell takes the name of a configuration apart.
func spell(name string) (module string, k kind, what string, ok bool) {
	m := spelling.FindStringSubmatch(name)
	if m == nil {
		return "", "", "", false
	}
	return m[1], kind(m[2] + m[3]), m[4], true
}

// tree is the folder spec/tla, read as files.
type tree struct {
	modules map[string]module // by name
	configs map[string]string // text by name, those of bugs and witnesses too
	paths   map[string]string // of the configurations that are files, by name
	graphs  map[string]string // text by path
	// histories are what the shipped code did; text by path.
	histories map[string]string
	rows      []row
	// survivors are the reasons of mutants that nobody notices.
	survivors string
	readme    string
}

// load reads the tree below the folder of specifications.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{modules: map[string]module{}, configs: map[string]string{}, paths: map[string]string{}, graphs: map[string]string{}, histories: map[string]string{}}
	err := fs.WalkDir(fsys, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, ext := strings.TrimSuffix(path.Base(file), path.Ext(file)), path.Ext(file)
		if !slices.Contains([]string{".tla", ".cfg", ".graph", ".histories"}, ext) {
			return nil
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		switch ext {
		case ".graph":
			t.graphs[file] = string(text)
			return nil
		case ".histories":
			t.histories[file] = string(text)
			return nil
		case ".cfg":
			t.configs[name], t.paths[name] = string(text), file
			return nil
		}
		m, err := parseModule(file, string(text))
		if err != nil {
			return err
		}
		if m.name != name {
			return fmt.Errorf("%s:1: the module is called %s; file and module bear one name", file, m.name)
		}
		t.modules[name] = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(fsys, manifestFile)
	if err != nil {
		return nil, err
	}
	if t.rows, err = parseManifest(text); err != nil {
		return nil, err
	}
	t.derive()
	if text, err = fs.ReadFile(fsys, survivorsFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.survivors = string(text)
	text, err = fs.ReadFile(fsys, readme)
	t.readme = string(text)
	return t, err
}

func parseManifest(text []byte) ([]row, error) {
	var rows []row
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", manifestFile, 1+bytes.Count(text[:decoder.InputOffset()], []byte("\n")), err)
	}
	for i := range rows {
		before, _, found := strings.Cut(string(text), `"`+rows[i].Config+`"`)
		if found {
			rows[i].line = 1 + strings.Count(before, "\n")
		}
	}
	return rows, nil
}

// write returns the manifest's text: one row on a line.
func write(rows []row) []byte {
	var b bytes.Buffer
	b.WriteString("[\n")
	for i, r := range rows {
		text, _ := json.Marshal(r) // strings and numbers only
		b.WriteString("  ")
		b.Write(text)
		if i < len(rows)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]\n")
	return b.Bytes()
}

// names returns the modules in the order of the alphabet.
func (t *tree) names() []string {
	var all []string
	for name := range t.modules {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// row returns the row of a configuration; a zero one if there is none.
func (t *tree) row(config string) row {
	for _, r := range t.rows {
		if r.Config == config {
			return r
		}
	}
	return row{}
}

// of returns the rows of one module.
func (t *tree) of(module string) (rows []row) {
	for _, r := range t.rows {
		if m, _, _, ok := spell(r.Config); ok && m == module {
			rows = append(rows, r)
		}
	}
	return rows
}
