package drift

import "strings"

// widestCode is how many functions a type may have for all of them to be the code of a
// claim. That a check reaches any of more than these says little.
const widestCode = 12

// Breadth checks that a claim of a type with many functions says which of them keep it.
func Breadth(repo *Repo) Report {
	report := Report{Checker: "breadth", Things: "claims"}
	for _, row := range Evidence(repo) {
		for _, claim := range row.Claims {
			if report.Checked++; claim.isWide(row.Type) {
				report.fail(claim.By[0].File, claim.By[0].Line, "write a Code line below the Claim: functions of the type, or others, that keep it",
					"all %d functions of %s are the code of %q", len(claim.Code[0].Ranges), row.Type, claim.Text)
			}
		}
	}
	return report
}

// isWide reports whether the code of the claim is a type of many functions. What an
// interface promises is kept by one method of each type.
func (c EvidenceClaim) isWide(name string) bool {
	return len(c.By) > 0 && len(c.Code) == 1 && len(c.Code[0].Ranges) > widestCode &&
		strings.HasPrefix(c.Code[0].Ranges[0].Name, name+".")
}
