package drift

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestLayering(t *testing.T) { judge(t, Layering) }

// realLattice is the lattice of the repository, as a file of a planted tree.
func realLattice(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("lattice.txt")
	if err != nil {
		t.Fatal(err)
	}
	return "-- drift/lattice.txt --\n" + string(text) + "-- adapters/poisegrpc/go.mod --\nmodule example.com/m/adapters/poisegrpc\n"
}

const soundLayers = `
-- .ci/run --
make verify
-- pkg/internal/syncx/plain.go --
package syncx
import "sync"
-- pkg/poise.go --
package poise
import "example.com/m/pkg/internal/syncx"
-- pkg/generator.go --
package poise
import "math/rand/v2"
-- pkg/example_test.go --
package poise_test
import (
	poise "example.com/m/pkg"
	"example.com/m/pkg/dispatch"
	"pgregory.net/rapid"
	"sync"
)
-- pkg/discovery/target/file.go --
package target
import "example.com/m/pkg/discovery"
-- pkg/policy/random_test.go --
package policy_test
import "example.com/m/pkg/policytest"
-- pkg/dispatch/dispatch.go --
package dispatch
import (
	poise "example.com/m/pkg"
	"example.com/m/pkg/health"
	"example.com/m/pkg/policy"
	"context"
)
-- models/explore/explore.go --
package explore
import poise "example.com/m/pkg"
-- fuzz/pick_test.go --
package fuzz
import "github.com/leanovate/gopter/gen"
-- linearizability/model/model.go --
package model
import "github.com/anishathalye/porcupine"
-- drift/drift.go --
package drift
import "golang.org/x/tools/txtar"
`

func TestLayering_ReportsEveryFault(t *testing.T) {
	plant(t, Layering, realLattice(t)+soundLayers, []fault{
		{"a folder that the lattice does not know", `
-- pkg/extra/extra.go --
package extra
-- main.go --
package main
`, []string{"pkg/extra/extra.go:1 the folder pkg/extra is not in the lattice", "main.go:1 the folder . is not in the lattice"}},
		{"a top-level folder that is not part of the tree", `
-- tools/README.md --
x
`, []string{"tools/README.md:1 the top-level folder tools is not part of the tree"}},
		{"a sibling that imports a sibling", `
-- pkg/health/health.go --
package health

import "example.com/m/pkg/discovery"
`, []string{"pkg/health/health.go:3 pkg/health imports example.com/m/pkg/discovery and the lattice does not let it"}},
		{"a package of ours that does not exist in the lattice", `
-- pkg/health/health.go --
package health

import "example.com/m/pkg/extra"
`, []string{"pkg/health/health.go:3 pkg/health imports example.com/m/pkg/extra and the lattice does not let it"}},
		{"a protocol in the loop, and in what the loop imports", `
-- pkg/dispatch/more.go --
package dispatch

import "net/http"
-- pkg/transform/more.go --
package transform

import "example.com/m/pkg/discovery/target"
-- pkg/discovery/target/more.go --
package target

import "net/http"
-- pkg/discovery/target/more_test.go --
package target_test

import "net/http"
-- pkg/dispatch/again.go --
package dispatch

import "example.com/m/pkg/transform"
`, []string{
			"pkg/dispatch/more.go:3 pkg/dispatch imports net/http", "pkg/transform/more.go:3 pkg/transform imports example.com/m/pkg/discovery/target",
			"pkg/discovery/target/more.go:3 pkg/dispatch imports pkg/transform imports pkg/discovery/target, which imports net/http",
		}},
		{"an unknown third party, in a test", `
-- pkg/more_test.go --
package poise_test

import "github.com/stretchr/testify/assert"
`, []string{"pkg/more_test.go:3 pkg imports github.com/stretchr/testify/assert and the lattice does not let it"}},
		{"a test library outside tests, where no refusal says more", `
-- models/explore/more.go --
package explore

import "pgregory.net/rapid"
`, []string{"models/explore/more.go:3 models imports pgregory.net/rapid outside its tests"}},
		{"the root package without its name, or under another", `
-- models/a.go --
package models

import "example.com/m/pkg"
-- models/b.go --
package models

import p "example.com/m/pkg"
`, []string{`models/a.go:3 write poise "example.com/m/pkg"`, `models/b.go:3 write poise "example.com/m/pkg"`}},
		{"a dot import", `
-- models/a.go --
package models

import . "time"
`, []string{"models/a.go:3 a dot import hides"}},
		{"a nested module without a line", `
-- ci/tools/go.mod --
module example.com/m/ci/tools
-- ci/tools/tools.go --
package tools

import "honnef.co/go/tools/staticcheck"
`, []string{"ci/tools/tools.go:3 ci imports honnef.co/go/tools/staticcheck and the lattice does not let it"}},
		{"no lattice at all", `
-- drift/lattice.txt --
`, append([]string{"drift/lattice.txt:1 there is no lattice", "drift/README.md:1 found no imports"}, everyFolder...)},
	})
}

// everyFolder is what a missing lattice leaves homeless.
var everyFolder = []string{
	"pkg/internal/syncx/plain.go:1 not in the lattice", "pkg/poise.go:1 not in the lattice",
	"pkg/generator.go:1 not in the lattice", "pkg/example_test.go:1 not in the lattice",
	"pkg/discovery/target/file.go:1 not in the lattice", "pkg/policy/random_test.go:1 not in the lattice",
	"pkg/dispatch/dispatch.go:1 not in the lattice", "models/explore/explore.go:1 not in the lattice",
	"fuzz/pick_test.go:1 not in the lattice", "linearizability/model/model.go:1 not in the lattice",
	"drift/drift.go:1 not in the lattice",
}

// Every refusal of the real lattice is planted for every pair it names: a refusal
// that nothing can break would be decoration.
func TestLayering_EveryRefusalOfTheLatticeCanFail(t *testing.T) {
	lattice := realLattice(t)
	repo := grow(t, lattice)
	l := parseLattice(repo, new(Report))
	if len(l.refused) == 0 {
		t.Fatal("the lattice refuses nothing")
	}
	for _, no := range l.refused {
		for _, from := range no.from {
			for _, to := range no.to {
				if from == to || slices.Contains(no.except, to) {
					continue
				}
				name := "a_test.go"
				if no.code {
					name = "a.go"
				}
				planted := grow(t, lattice, fmt.Sprintf("-- %s/%s --\npackage a\n\nimport x %q\n", to, name, pathOf(repo, l, from)))
				report := Layering(planted)
				if !slices.ContainsFunc(report.Problems, func(p Problem) bool {
					return p.File == to+"/"+name && p.Line == 3 && strings.Contains(p.Do, no.why)
				}) {
					t.Errorf("%s:%d: %s may import %s unnoticed: %v", latticeFile, no.line, to, from, report.Problems)
				}
			}
		}
	}
}

func pathOf(repo *Repo, l *lattice, name string) string {
	if path := l.paths[name]; path != "" {
		return path
	}
	if l.nodes[name] {
		return repo.Module + "/" + name
	}
	return name
}

func TestLayering_RefusalsSpareTestsAndExceptionsOnlyWhereTheySaySo(t *testing.T) {
	lattice := `
-- drift/lattice.txt --
pkg < models
sync !<code pkg except pkg/door.go   # one door
os !< pkg   # no environment
`
	plant(t, Layering, lattice+`
-- pkg/door.go --
package poise
import "sync"
-- pkg/a_test.go --
package poise
import "sync"
`, []fault{
		{"a code refusal binds code", "-- pkg/a.go --\npackage poise\nimport \"sync\"\n",
			[]string{"pkg/a.go:2 pkg imports sync; do without it, because one door"}},
		{"a full refusal binds tests too", "-- pkg/b_test.go --\npackage poise\nimport \"os\"\n",
			[]string{"pkg/b_test.go:2 pkg imports os; do without it, because no environment"}},
	})
}

func TestLayering_ReportsFaultsOfTheLatticeItself(t *testing.T) {
	plant(t, Layering, `
-- drift/lattice.txt --
rapid = pgregory.net/rapid
pkg < pkg/policy   # fine
rapid <test pkg
rapid !<code pkg   # tests may
-- pkg/a.go --
package poise
import "fmt"
`, []fault{
		{"a refusal without a reason", `
-- drift/lattice.txt --
pkg < models
fmt !< models
`, []string{"drift/lattice.txt:2 the refusal has no reason"}},
		{"a line that is no rule", `
-- drift/lattice.txt --
pkg < models
pkg and models
`, []string{"drift/lattice.txt:2 is no rule"}},
		{"a line that allows what another refuses", `
-- drift/lattice.txt --
pkg, pkg/policy < models
pkg/** !< models   # planted
`, []string{"drift/lattice.txt:2 allows pkg < models", "drift/lattice.txt:2 allows pkg/policy < models"}},
		{"a test allowed against a full refusal", `
-- drift/lattice.txt --
rapid = pgregory.net/rapid
rapid <test pkg
rapid !< pkg   # planted
`, []string{"drift/lattice.txt:3 allows rapid < pkg"}},
		{"a clock without a reason, and one of a whole folder", `
-- drift/lattice.txt --
pkg < models
clock in pkg/a.go
goroutine in pkg/a   # why
`, []string{"drift/lattice.txt:2 the clock has no reason", "drift/lattice.txt:3 pkg/a is no Go file"}},
		{"a module that is none, without a reason", `
-- drift/lattice.txt --
pkg < models
module ci/tools
`, []string{"drift/lattice.txt:2 the module ci/tools has no reason", "drift/lattice.txt:2 is no module of its own"}},
	})
}

func TestLayering_ANestedModuleWithALineImportsWhatItLikes(t *testing.T) {
	expect(t, Layering, grow(t, `
-- drift/lattice.txt --
pkg < ci
module ci/tools   # staticcheck must not reach users
-- ci/tools/go.mod --
module example.com/m/ci/tools
-- ci/tools/tools.go --
package tools
import "honnef.co/go/tools/staticcheck"
`), nil)
}
