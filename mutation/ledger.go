package mutation

import (
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
)

// Ledger lists the mutants that no test can notice.
type Ledger struct {
	// Equivalent are its entries, in the order of the file.
	Equivalent []Entry `toml:"equivalent"`
}

// Entry is one line of the ledger.
type Entry struct {
	// Package is the import path, and ID that of the mutant.
	Package, ID string
	// Reason says why no test can notice it.
	Reason string
	// Proof is the kind of the argument: "algebra", "unreachable", "speed" or
	// "redundant".
	Proof string
}

var proofs = map[string]bool{"algebra": true, "unreachable": true, "speed": true, "redundant": true}

// ReadLedger reads the file.
func ReadLedger(path string) (*Ledger, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := new(Ledger)
	meta, err := toml.Decode(string(text), l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%s: nobody reads %v", path, unknown)
	}
	seen := map[string]bool{}
	for i, e := range l.Equivalent {
		switch key := e.Package + " " + e.ID; {
		case e.Package == "" || e.ID == "" || strings.TrimSpace(e.Reason) == "":
			return nil, fmt.Errorf("%s: entry %d lacks its package, id or reason", path, i)
		case !proofs[e.Proof]:
			return nil, fmt.Errorf("%s: the proof of %q is %q, which is no kind of proof", path, e.ID, e.Proof)
		case seen[key]:
			return nil, fmt.Errorf("%s: %q is there twice", path, e.ID)
		default:
			seen[key] = true
		}
	}
	return l, nil
}

// apply gives survivors that are in the ledger their verdict, and returns the entries of
// the package that name no survivor: the mutant was noticed, or is no more.
func (l *Ledger) apply(c *Campaign) (stale []string) {
	if l == nil {
		return nil
	}
	by := map[string]*Mutant{}
	for _, m := range c.Mutants {
		by[m.ID] = m
	}
	for _, e := range l.Equivalent {
		if e.Package != c.Package {
			continue
		}
		switch m := by[e.ID]; {
		case m == nil:
			stale = append(stale, e.ID+": there is no such mutant any more")
		case m.Verdict != Survived && m.Verdict != Uncovered:
			stale = append(stale, fmt.Sprintf("%s: it is %s by %s", e.ID, m.Verdict, m.Killer))
		default:
			m.Verdict, m.Why = Equivalent, e.Reason
		}
	}
	return stale
}
