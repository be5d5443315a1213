package drift

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// EvidenceRow says which kinds of evidence quote the promises of one type.
type EvidenceRow struct {
	// Type is a type or a function, as pkg/policy.Maglev.
	Type string
	// Means are the checks that quote one of its promises, by what they judge by; see
	// meansOf. A check may judge by several.
	Means map[string][]EvidenceCheck
	// Claims are its Contract sentences, those of its methods among them, in the order of
	// the sources.
	Claims []EvidenceClaim
}

// EvidenceCheck is a test, a fuzz target or a law in its file; a specification has no
// name in it.
type EvidenceCheck struct {
	File string
	Of   string
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

// Evidence returns a row for each type that promises something, by name. It is worked
// out once for a tree.
func Evidence(repo *Repo) []EvidenceRow {
	repo.gather.Do(func() { repo.evidence = evidenceOf(repo) })
	return repo.evidence
}

func evidenceOf(repo *Repo) []EvidenceRow {
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
			rows[name] = &EvidenceRow{Type: name, Means: map[string][]EvidenceCheck{}}
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
		for _, means := range meansOf(repo, quote, kind) {
			if one := (EvidenceCheck{quote.file, quote.of}); !slices.Contains(row.Means[means], one) {
				row.Means[means] = append(row.Means[means], one)
			}
		}
	}
	var list []EvidenceRow
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		for _, checks := range rows[name].Means {
			slices.SortFunc(checks, func(a, b EvidenceCheck) int {
				return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Of, b.Of))
			})
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

// Means are what a check can judge by, in the order of tables.
var Means = []string{
	"example", "rapid", "gopter", "policytest", "golden", "twin", "race", "fuzz", "model", "histories", "walk", "specification", "simulation",
}

// meansOf says what a check judges by. Tests of the library are told apart by what they
// use: cases of rapid or of gopter, goldens, a twin that does the same slowly, goroutines,
// which the race detector watches; a test that uses none of these is an example.
func meansOf(repo *Repo, quote sentence, kind string) []string {
	switch {
	case under(quote.file, "pkg/policytest") && !strings.HasSuffix(quote.file, "_test.go"):
		return []string{"policytest"}
	case kind != "test" && kind != "law":
		return []string{kind}
	}
	uses := map[string]bool{"golden": strings.Contains(quote.of, "Golden"), "twin": strings.Contains(quote.of, "Twin") || strings.Contains(path.Base(quote.file), "_reference")}
	for _, file := range repo.Go {
		if file.Path != quote.file {
			continue
		}
		for _, decl := range file.functions() {
			if decl.Name.Name == quote.of {
				file.look(decl, uses)
			}
		}
	}
	var found []string
	for _, means := range Means {
		if uses[means] {
			found = append(found, means)
		}
	}
	if len(found) == 0 {
		return []string{"example"}
	}
	return found
}

// look notes the libraries and the goroutines that a test uses.
func (f *GoFile) look(decl *ast.FuncDecl, uses map[string]bool) {
	ast.Inspect(decl, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			uses["race"] = true
		case *ast.SelectorExpr:
			of, _ := node.X.(*ast.Ident)
			switch {
			case node.Sel.Name == "Go":
				uses["race"] = true
			case of == nil:
			case of.Name == f.importedAs("pgregory.net/rapid"):
				uses["rapid"] = true
			case of.Name == f.importedAs("github.com/leanovate/gopter"), of.Name == f.importedAs("github.com/leanovate/gopter/prop"):
				uses["gopter"] = true
			}
		case *ast.Ident:
			name := strings.ToLower(node.Name)
			uses["golden"] = uses["golden"] || strings.Contains(name, "golden")
			uses["twin"] = uses["twin"] || strings.Contains(name, "twin")
		}
		return true
	})
}
