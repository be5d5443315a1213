package drift

import (
	"maps"
	"slices"
	"strings"
)

// Permits checks that whatever the lattice speaks of exists: a permission for a
// folder that is not there yet lets anybody make it without giving a reason.
func Permits(repo *Repo) Report {
	report := Report{Checker: "permits", Things: "folders and files of the lattice"}
	var ignored Report // what else is wrong with the lattice is Layering's to say
	l := parseLattice(repo, &ignored)
	names := maps.Clone(l.nodes)
	for _, no := range l.refused {
		for _, name := range no.except {
			names[name] = true
		}
	}
	for _, top := range topFolders {
		names[top] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		report.Checked++
		if !repo.Has(name) {
			report.fail(latticeFile, lineOf(repo.text(latticeFile), name), "take it out of the lattice and of topFolders until it is there",
				"there is no %s", name)
		}
	}
	return report
}

// lineOf returns the first line outside comments that holds the text, or 1.
func lineOf(text, part string) int {
	for _, line := range numbered(text) {
		if rule, _, _ := strings.Cut(line.text, "#"); strings.Contains(rule, part) {
			return line.line
		}
	}
	return 1
}
