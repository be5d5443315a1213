package drift

import (
	"maps"
	"slices"
	"strings"
)

// widestCode is how many functions a type may have for all of them to be the code of a
// claim. That a check reaches any of more than these says little.
const widestCode = 12

// broadFile lists the types with claims whose code is wider, and how many these are. The
// numbers may only fall.
const broadFile = "drift/broad.txt"

// Breadth checks that a claim of a type with many functions says which of them keep it.
func Breadth(repo *Repo) Report {
	report := Report{Checker: "breadth", Things: "claims"}
	type entry struct{ claims, line int }
	listed := map[string]entry{}
	for _, line := range numbered(repo.text(broadFile)) {
		fields := strings.Fields(line.text)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case len(fields) != 2 || number(fields[1]) == 0:
			report.fail(broadFile, line.line, "write folder.Type 5", "the line %q is none", line.text)
		default:
			listed[fields[0]] = entry{number(fields[1]), line.line}
		}
	}
	for _, row := range Evidence(repo) {
		wide := 0
		for _, claim := range row.Claims {
			report.Checked++
			if !claim.isWide(row.Type) {
				continue
			}
			if wide++; listed[row.Type].claims == 0 {
				quote := claim.By[0]
				report.fail(quote.File, quote.Line, "write a Code line below the Claim: functions of the type, or others, that keep it",
					"all %d functions of %s are the code of %q", len(claim.Code[0].Ranges), row.Type, claim.Text)
			}
		}
		if e, ok := listed[row.Type]; ok && wide != e.claims {
			report.fail(broadFile, e.line, "write the number that is true, or delete the line if there are none; it may only fall",
				"%d claims of %s have the whole type as their code, and the list says %d", wide, row.Type, e.claims)
		}
		delete(listed, row.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		report.fail(broadFile, listed[name].line, "delete the line", "no claim is one of %s", name)
	}
	return report
}

// isWide reports whether the code of the claim is a type of many functions. What an
// interface promises is kept by one method of each type.
func (c EvidenceClaim) isWide(name string) bool {
	return len(c.By) > 0 && len(c.Code) == 1 && len(c.Code[0].Ranges) > widestCode &&
		strings.HasPrefix(c.Code[0].Ranges[0].Name, name+".")
}
