package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// module is what the checks need to know of a TLA+ module, read as text.
type module struct {
	name, path  string
	text        string
	header      []line // the comment above the first declaration
	definitions []definition
}

type line struct {
	number int
	text   string
}

// definition is a top-level operator with the comment above it.
type definition struct {
	name    string
	params  []string
	comment []line
	number  int // of the line with its name
	body    string
}

var (
	moduleStart     = regexp.MustCompile(`^-{4,} MODULE (\w+) -{4,}$`)
	definitionStart = regexp.MustCompile(`^(\w+)(?:\(([^)]*)\))? ==(?: |$)`)
	declaration     = regexp.MustCompile(`^(EXTENDS|CONSTANTS?|VARIABLES?|ASSUME|-{4,}|={4,})`)
	word            = regexp.MustCompile(`[A-Za-z]\w*`)
)

// comment returns the text of a comment line.
func comment(text string) (string, bool) {
	text, is := strings.CutPrefix(text, `\*`)
	return strings.TrimSpace(text), is
}

// parseModule reads a module. Definitions begin at the margin; a comment belongs
// to the definition directly below it.
func parseModule(path, text string) (module, error) {
	m := module{path: path, text: text}
	var above []line
	current := -1 // the definition that goes on
	declared := false
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, " ")
		if found := moduleStart.FindStringSubmatch(l); found != nil {
			m.name = found[1]
			continue
		}
		if c, is := comment(l); is {
			above = append(above, line{i + 1, c})
			current = -1
			continue
		}
		found := definitionStart.FindStringSubmatch(l)
		if !declared && (found != nil || declaration.MatchString(l)) {
			m.header, declared = above, true
		}
		switch {
		case found != nil:
			d := definition{name: found[1], comment: above, number: i + 1, body: l[len(found[0]):]}
			for _, p := range strings.Split(found[2], ",") {
				if p = strings.TrimSpace(p); p != "" {
					d.params = append(d.params, p)
				}
			}
			m.definitions = append(m.definitions, d)
			current = len(m.definitions) - 1
		case declaration.MatchString(l):
			current = -1
		case current >= 0:
			m.definitions[current].body += "\n" + l
		}
		above = nil
	}
	if m.name == "" {
		return m, fmt.Errorf("%s:1: there is no line ---- MODULE Name ----", path)
	}
	return m, nil
}

func (m module) find(name string) (definition, bool) {
	i := slices.IndexFunc(m.definitions, func(d definition) bool { return d.name == name })
	if i < 0 {
		return definition{}, false
	}
	return m.definitions[i], true
}

// changing reports whether the text says something of the next state, by itself or
// by an operator that does.
func (m module) changing(text string, inside ...string) bool {
	text = code(text)
	if strings.Contains(text, "'") || strings.Contains(text, "UNCHANGED") {
		return true
	}
	for _, w := range word.FindAllString(text, -1) {
		if d, found := m.find(w); found && !slices.Contains(inside, w) && m.changing(d.body, append(inside, w)...) {
			return true
		}
	}
	return false
}

// actions returns the definitions that Next is made of.
func (m module) actions() (all []definition) {
	next, _ := m.find("Next")
	for _, name := range word.FindAllString(code(next.body), -1) {
		d, found := m.find(name)
		if found && m.changing(d.body, name) && !slices.ContainsFunc(all, func(a definition) bool { return a.name == name }) {
			all = append(all, d)
		}
	}
	return all
}

// code returns TLA+ text without its comments and the lines that are left empty.
func code(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		before, _, _ := strings.Cut(l, `\*`)
		if before = strings.TrimRight(before, " \n"); before != "" {
			b.WriteString(before + "\n")
		}
	}
	return b.String()
}

// single reports whether the definition is a property of single steps, [][A]_v,
// which TLC checks along with the invariants.
func (d definition) single() bool {
	return strings.HasPrefix(strings.TrimSpace(d.body), "[][")
}

// config is a TLC configuration.
type config struct {
	specification          string
	constants              map[string]string
	invariants, properties []string
	// others are the directives that restrict or distort a state graph.
	others []string
}

// parseConfig reads a configuration. A directive's names follow it on its line
// or on the lines below.
func parseConfig(text string) config {
	c := config{constants: map[string]string{}}
	directive := ""
	for l := range strings.Lines(code(text)) {
		fields := strings.Fields(l)
		if len(fields) == 0 {
			continue
		}
		switch d := strings.TrimSuffix(fields[0], "S"); d {
		case "SPECIFICATION", "CONSTANT", "INVARIANT", "PROPERTY", "SYMMETRY", "VIEW", "CONSTRAINT",
			"ACTION_CONSTRAINT", "CHECK_DEADLOCK", "INIT", "NEXT", "ALIAS", "POSTCONDITION":
			directive, fields = d, fields[1:]
		case "PROPERTIE":
			directive, fields = "PROPERTY", fields[1:]
		}
		switch directive {
		case "SPECIFICATION":
			c.specification = strings.Join(fields, " ")
		case "CONSTANT":
			if name, value, found := strings.Cut(strings.Join(fields, " "), "="); found {
				c.constants[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		case "INVARIANT":
			c.invariants = append(c.invariants, fields...)
		case "PROPERTY":
			c.properties = append(c.properties, fields...)
		case "SYMMETRY", "VIEW", "CONSTRAINT", "ACTION_CONSTRAINT":
			if !slices.Contains(c.others, directive) {
				c.others = append(c.others, directive)
			}
		}
	}
	return c
}
