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
	Type string `json:"type"`
	// Promises are its Contract sentences, those of its methods among them.
	Promises int `json:"promises"`
	// Kinds are the files that quote one of them, by kind of evidence.
	Kinds map[string][]string `json:"kinds"`
	// Claims are the sentences themselves, in the order of the sources.
	Claims []EvidenceClaim `json:"claims"`
}

// EvidenceClaim is one Contract sentence with the checks that quote it.
type EvidenceClaim struct {
	Text string          `json:"text"`
	File string          `json:"file"`
	Of   string          `json:"of"` // the declaration that promises it
	By   []EvidenceQuote `json:"by"`
}

// EvidenceQuote is one check that quotes a claim.
type EvidenceQuote struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	Of   string `json:"of"` // the check; empty in a specification
}

// Evidence returns a row for each type that promises something, by name.
func Evidence(repo *Repo) []EvidenceRow {
	var ignored Report // what is wrong with claims is Claims' to say
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
		rows[name].Promises++
		at[bullet.text] = len(rows[name].Claims)
		rows[name].Claims = append(rows[name].Claims, EvidenceClaim{Text: bullet.text, File: bullet.file, Of: bullet.of, By: []EvidenceQuote{}})
	}
	for _, quote := range quotesOf(repo, &ignored) {
		row := rows[of[quote.text]]
		if row == nil {
			continue
		}
		kind := evidenceKind(quote)
		claim := &row.Claims[at[quote.text]]
		claim.By = append(claim.By, EvidenceQuote{Kind: kind, File: quote.file, Of: quote.of})
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
