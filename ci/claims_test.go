package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/drift"
)

// promising is a module whose types promise something, with tests that quote it.
const promising = `
-- go.mod --
module m

go 1.26
-- pkg/gate.go --
package m

// Gate lets callers in.
//
// # Contract
//
//   - Enter counts.
//   - Leave counts too.
//   - A Gate can be empty.
type Gate struct{ n int }

func (g *Gate) Enter() { g.n++ }

func (g *Gate) Leave() { g.n-- }

func (g *Gate) unused() { g.n = 0 }
-- pkg/gate_test.go --
package m

import "testing"

// Claim: Enter counts.
// Code: Gate.Enter
func TestEnter(t *testing.T) { new(Gate).Enter() }

// Claim: Leave counts too.
func TestLeave(t *testing.T) { new(Gate).Leave() }

// Claim: A Gate can be empty.
func TestEmpty(t *testing.T) { new(Gate).Leave() }
-- models/gate_test.go --
//go:build interleave

package models

import (
	"testing"

	m "m/pkg"
)

// Claim: Leave counts too.
func TestLeave(t *testing.T) { new(m.Gate).Leave() }
`

// tree writes the files of the texts, the later ones over the earlier.
func tree(t *testing.T, texts ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, text := range texts {
		for part := range strings.SplitSeq(text, "\n-- ") {
			name, body, ok := strings.Cut(part, " --\n")
			if !ok {
				continue
			}
			name = filepath.Join(root, strings.TrimPrefix(name, "-- "))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(body+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestClaims_ReachTheirCode(t *testing.T) {
	r := claims(t.Context(), &workspace{root: tree(t, promising), exec: runCommand, settings: settings{seed: 1}})
	if len(r.failures) > 0 || r.passed != 7 || r.counts["tests"] != 4 {
		t.Fatalf("%d passed of %v, failures %v; want 4 quotations, 3 parts of code and no failure", r.passed, r.counts, r.failures)
	}
	claim := r.evidence[0].Claims[0]
	if claim.Text != "Enter counts." || !slices.Equal(claim.Code, []string{"Gate.Enter"}) || !claim.By[0].Reaches || claim.ID == "" {
		t.Errorf("the claim is %+v", claim)
	}
	if got := r.shown.Reached[r.evidence[0].Claims[1].ID]; !slices.Equal(got, []string{"pkg.Gate.Leave"}) {
		t.Errorf("of the second claim %q are reached", got)
	}
}

func TestClaims_ReportEveryFault(t *testing.T) {
	const faults = `
-- pkg/gate_test.go --
package m

import "testing"

// Claim: Enter counts.
// Code: Gate.Enter, Gate.unused
func TestElsewhere(t *testing.T) { new(Gate).Leave() }

// Claim: Enter counts.
func TestFails(t *testing.T) { new(Gate).Enter(); t.Fail() }

// Claim: Enter counts.
func TestSkips(t *testing.T) { new(Gate).Enter(); t.Skip() }

var before = false

func TestBefore(t *testing.T) { before = true }

// Claim: Enter counts.
func TestNeedsAnother(t *testing.T) {
	if new(Gate).Enter(); !before {
		t.Fatal()
	}
}
`
	r := claims(t.Context(), &workspace{root: tree(t, promising, faults), exec: runCommand, settings: settings{seed: 1}})
	names := strings.Join(failureNames(r), "\n")
	for _, want := range []string{
		"pkg/gate_test.go:5: TestElsewhere does not reach the code", "no test that quotes it reaches Gate.unused",
		"pkg TestFails: does not pass alone", "pkg TestSkips: does not pass alone", "pkg TestNeedsAnother: does not pass alone",
	} {
		if !strings.Contains(names, want) {
			t.Errorf("failures are\n%s\nwant %s", names, want)
		}
	}
}

func TestClaims_WithoutTheirTestsFail(t *testing.T) {
	root := tree(t, promising, "-- pkg/gate_test.go --\npackage m\n\nimport \"testing\"\n\n// Claim: Enter counts.\nfunc TestEnter(t *testing.T) { lost() }\n")
	r := claims(t.Context(), &workspace{root: root, exec: runCommand, settings: settings{seed: 1}})
	names := failureNames(r)
	if !slices.Contains(names, "build the tests that quote a promise") || !slices.Contains(names, "pkg TestEnter: does not pass alone") {
		t.Errorf("failures are %q", names)
	}
}

func TestClaims_RecordHasTheMeansOfDrift(t *testing.T) {
	if !slices.Equal(record.Means, drift.Means) {
		t.Errorf("the record knows %v, drift %v", record.Means, drift.Means)
	}
}

func TestClaims_LawsAreCreditedWithWhatTheirTestsReach(t *testing.T) {
	const laws = `
-- pkg/policytest/laws.go --
package policytest

import m "m/pkg"

// Claim: Enter counts.
// Code: Gate.Enter
func counts(g *m.Gate) { g.Enter() }

// Claim: A Gate can be empty.
// Code: Gate.Enter
func unheld(g *m.Gate) { g.Enter() }

var laws = []func(*m.Gate){counts}

func Run() {
	for _, law := range laws {
		law(new(m.Gate))
	}
	if len(laws) == 0 {
		unheld(nil)
	}
}
-- pkg/policy/policy_test.go --
package policy

import (
	"testing"

	"m/pkg/policytest"
)

func TestPolicy(t *testing.T) { policytest.Run() }
-- pkg/gate_test.go --
package m
`
	r := claims(t.Context(), &workspace{root: tree(t, promising, laws), exec: runCommand, settings: settings{seed: 1}})
	names := strings.Join(failureNames(r), "\n")
	if strings.Contains(names, "counts does not reach") || !strings.Contains(names, "laws.go:9: unheld does not reach") {
		t.Errorf("failures are\n%s\nwant one of the law that nothing runs and none of the other", names)
	}
}
