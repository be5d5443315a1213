package drift

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// EvidenceRow says which kinds of evidence quote the promises of one type.
type EvidenceRow struct {
	// Type is a type or a function, as pkg/policy.Maglev.
	Type string
	// Kinds are the files that quote one of its promises, by kind of evidence.
	Kinds map[string][]string
	// Claims are its Contract sentences, those of its methods among them, in the order of
	// the sources.
	Claims []EvidenceClaim
}

// EvidenceClaim is one Contract sentence with the checks that quote it.
type EvidenceClaim struct {
	ID   string
	Text string
	File string
	Of   string // the declaration that promises it
	// Code is what keeps it, each group a part of it.
	Code []CodeGroup
	By   []EvidenceQuote
}

// EvidenceQuote is one check that quotes a claim.
type EvidenceQuote struct {
	Kind string
	File string
	Line int
	Of   string // the check; empty in a specification
	// Law is the code of the check if it is a law of policytest.
	Law *CodeRange
	// Runs are the tests in which the check runs.
	Runs []Run
}

// Evidence returns a row for each type that promises something, by name.
func Evidence(repo *Repo) []EvidenceRow {
	var ignored Report // what is wrong with claims is Claims' to say
	code := codeOf(repo)
	of := map[string]string{}
	at := map[string]int{} // the place of a claim in its row
	rows := map[string]*EvidenceRow{}
	for _, bullet := range bulletsOf(repo, &ignored) {
		owner, _, _ := strings.Cut(bullet.of, ".")
		name := path.Dir(bullet.file) + "." + owner
		of[bullet.text] = name
		if rows[name] == nil {
			rows[name] = &EvidenceRow{Type: name, Kinds: map[string][]string{}}
		}
		at[bullet.text] = len(rows[name].Claims)
		rows[name].Claims = append(rows[name].Claims, EvidenceClaim{
			ID: bullet.id(), Text: bullet.text, File: bullet.file, Of: bullet.of,
			Code: []CodeGroup{{bullet.of, code.of(bullet)}},
		})
	}
	ran, narrowed := map[string][]Run{}, map[string]bool{}
	for _, quote := range quotesOf(repo, &ignored) {
		row := rows[of[quote.text]]
		if row == nil {
			continue
		}
		kind := evidenceKind(quote)
		claim := &row.Claims[at[quote.text]]
		claim.narrow(code, quote, !narrowed[quote.text])
		narrowed[quote.text] = narrowed[quote.text] || quote.code != ""
		check := quote.file + " " + quote.of
		if _, known := ran[check]; !known {
			ran[check] = runsOf(repo, quote)
		}
		by := EvidenceQuote{Kind: kind, File: quote.file, Line: quote.line, Of: quote.of, Runs: ran[check]}
		if law, ok := code.byName["pkg/policytest."+quote.of]; ok && law.File == quote.file {
			by.Law = &law
		}
		claim.By = append(claim.By, by)
		if !slices.Contains(row.Kinds[kind], quote.file) {
			row.Kinds[kind] = append(row.Kinds[kind], quote.file)
		}
	}
	var list []EvidenceRow
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		for _, files := range rows[name].Kinds {
			slices.Sort(files)
		}
		list = append(list, *rows[name])
	}
	return list
}

// narrow takes over what the Code line of a quote names; where several quotes have one,
// all that they name.
func (c *EvidenceClaim) narrow(code code, quote sentence, first bool) {
	for _, name := range quote.codeNames() {
		if first {
			c.Code, first = nil, false
		}
		if !slices.ContainsFunc(c.Code, func(g CodeGroup) bool { return g.Name == name }) {
			c.Code = append(c.Code, CodeGroup{name, code.named(path.Dir(c.File), name)})
		}
	}
}

// evidenceKind says what kind of evidence a quote stands above.
func evidenceKind(quote sentence) string {
	switch top, _, _ := strings.Cut(quote.file, "/"); {
	case path.Ext(quote.file) == ".tla":
		return "specification"
	case under(quote.file, "models/walk"), under(quote.file, "spec/replay"):
		return "walk"
	case top == "models":
		return "model"
	case top == "linearizability":
		return "histories"
	case strings.HasPrefix(quote.of, "Fuzz"):
		return "fuzz"
	case top == "sim":
		return "simulation"
	case strings.Contains(quote.of, "_Law"), under(quote.file, "pkg/policytest"):
		return "law"
	default:
		return "test"
	}
}
