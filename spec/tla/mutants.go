package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutant is a module with one small change in an action.
type mutant struct {
	module, action string
	line           int    // of the module
	was, is        string // the line, without white space around it
	text           string // of the whole module
}

// name is the mutant as survivors.txt lists it. Line numbers would move.
func (m mutant) name() string {
	return fmt.Sprintf("%s.%s: %s  →  %s", m.module, m.action, m.was, m.is)
}

var (
	conjunct = regexp.MustCompile(`^(.*?)(/\\ )(.+)$`)
	update   = regexp.MustCompile(`^(\w+)' (=|\\in) (.+)$`)
	number   = regexp.MustCompile(`\b\d+\b`)
	boolean  = regexp.MustCompile(`\b(TRUE|FALSE)\b`)
	quoted   = regexp.MustCompile(`"\w+"`)
	bugAsked = regexp.MustCompile(`Bug [=#] "\w+"`)
	said     = regexp.MustCompile(`\b(Say|Goes|Ends|Refuse)\("\w+"|\bSay\(op\b`)
	setOf    = regexp.MustCompile(`\{("\w*"(?:, "\w*")*)\}`)
)

// parts returns the definitions that are Go functions without being actions: those
// of which actions are made.
func (m module) parts() (all []definition) {
	actions := m.actions()
	for _, d := range m.definitions {
		if d.function() != "" && !slices.ContainsFunc(actions, func(a definition) bool { return a.name == d.name }) {
			all = append(all, d)
		}
	}
	return all
}

// mutants returns every mutant of a module: a conjunct of a guard left out, a
// variable that keeps its value, a constant exchanged for another.
func mutants(m module) (all []mutant) {
	lines := strings.Split(m.text, "\n")
	sets := m.sets()
	seen := map[string]bool{}
	for _, a := range append(m.actions(), m.parts()...) {
		last := a.number - 1 + strings.Count(strings.TrimRight(a.body, "\n "), "\n")
		add := func(i int, line string) {
			if seen[fmt.Sprint(i, line)] || line == lines[i] {
				return
			}
			seen[fmt.Sprint(i, line)] = true
			changed := slices.Clone(lines)
			changed[i] = line
			all = append(all, mutant{
				m.name, a.name, i + 1, strings.TrimSpace(lines[i]), strings.TrimSpace(line), strings.Join(changed, "\n"),
			})
		}
		for i := a.number - 1; i <= last; i++ {
			l := lines[i]
			if c, is := wholeConjunct(lines[:last+1], i); is {
				switch u := update.FindStringSubmatch(c[2]); {
				case u != nil && u[1] != "last":
					add(i, c[0]+c[1]+u[1]+"' = "+u[1])
				case u == nil && !m.changing(c[2]) && bugAsked.FindString(c[2]) != c[2]:
					add(i, c[0]+c[1]+"TRUE")
				}
			}
			for _, swapped := range swaps(l, sets) {
				add(i, swapped)
			}
		}
	}
	return all
}

// wholeConjunct takes a line apart that holds one conjunct and nothing more: what
// is before it, the sign and the conjunct. The line after it begins no deeper.
func wholeConjunct(lines []string, i int) (parts [3]string, is bool) {
	found := conjunct.FindStringSubmatch(lines[i])
	if found == nil {
		return parts, false
	}
	before := found[1]
	if begins := definitionStart.FindString(before); begins == "" && strings.TrimSpace(before) != "" {
		return parts, false
	}
	if i+1 < len(lines) {
		next := lines[i+1]
		depth := len(next) - len(strings.TrimLeft(next, " "))
		if depth > len(before) {
			return parts, false
		}
	}
	return [3]string{before, found[2], found[3]}, true
}

// sets returns the sets of strings that TypeOK allows variables to be in.
func (m module) sets() (sets [][]string) {
	d, _ := m.find("TypeOK")
	for _, found := range setOf.FindAllStringSubmatch(d.body, -1) {
		sets = append(sets, strings.Split(found[1], ", "))
	}
	return sets
}

// swaps returns the line with one constant exchanged: a number for its successor, a
// truth value for the other, a string for the next one of its set. Names of
// operations and of bugs are no constants of the protocol.
func swaps(l string, sets [][]string) (all []string) {
	var keep [][]int
	for _, pattern := range []*regexp.Regexp{bugAsked, said} {
		keep = append(keep, pattern.FindAllStringIndex(l, -1)...)
	}
	swap := func(pattern *regexp.Regexp, other func(string) string) {
		for _, at := range pattern.FindAllStringIndex(l, -1) {
			if slices.ContainsFunc(keep, func(k []int) bool { return k[0] <= at[0] && at[1] <= k[1] }) {
				continue
			}
			if to := other(l[at[0]:at[1]]); to != "" {
				all = append(all, l[:at[0]]+to+l[at[1]:])
			}
		}
	}
	swap(number, func(n string) string {
		i, _ := strconv.Atoi(n) // the pattern admits only digits
		return strconv.Itoa(i + 1)
	})
	swap(boolean, func(b string) string { return map[string]string{"TRUE": "FALSE", "FALSE": "TRUE"}[b] })
	swap(quoted, func(s string) string {
		for _, set := range sets {
			if i := slices.Index(set, s); i >= 0 {
				return set[(i+1)%len(set)]
			}
		}
		return ""
	})
	return all
}

// spread keeps at most n of the mutants, evenly spread over the modules' lines.
func spread(all []mutant, n int) []mutant {
	if len(all) <= n {
		return all
	}
	kept := make([]mutant, n)
	for i := range kept {
		kept[i] = all[i*len(all)/n]
	}
	return kept
}
