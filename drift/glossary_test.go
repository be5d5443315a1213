package drift

import (
	"slices"
	"testing"
)

func TestGlossary(t *testing.T) { judge(t, Glossary) }

const soundGlossary = `
-- GLOSSARY.md --
# Glossary

Words.

**Candidate**: what a policy may
choose (an address). Avoid: server,
virtual node.

**Plain**: needs no list.
-- drift/allowances.txt --
# Words that may stand.
server in pkg/dispatch/http.go: HTTP calls the other end so
-- pkg/poise.go --
// Package poise speaks of candidates and of [http.Server] values.
package poise

import "net/http"

// Observer has the forbidden word inside another one.
type Observer struct{ of *http.Server }

func use() {
	// A server inside a body is nobody's documentation.
}
-- pkg/dispatch/http.go --
package dispatch

// Call calls the server.
func Call() {}
-- models/a.go --
package models

type Server struct{}
-- pkg/a_test.go --
package poise_test

type server struct{}
`

func TestGlossary_ReportsEveryFault(t *testing.T) {
	plant(t, Glossary, soundGlossary, []fault{
		{"an avoided word in every kind of name", `
-- pkg/more.go --
package server

type HTTPServer struct {
	serverName string
}

func ServerOf(myServer int) (server_2 int) {
	for theServer, aServer := range []int{} {
	}
	localServer := 1
	var varServer int
	return
}

type I interface{ Server() }
`, []string{
			"pkg/more.go:1 the name server", "pkg/more.go:3 the name HTTPServer", "pkg/more.go:4 the name serverName",
			"pkg/more.go:7 the name ServerOf", "pkg/more.go:7 the name myServer", "pkg/more.go:7 the name server_2",
			"pkg/more.go:8 the name theServer", "pkg/more.go:8 the name aServer", "pkg/more.go:10 the name localServer",
			"pkg/more.go:11 the name varServer", "pkg/more.go:15 the name Server",
		}},
		{"an avoided word in comments: plural, in capitals, two words, wrapped", `
-- pkg/more.go --
package poise

// More SERVERS.
type More struct {
	// A field with a virtual
	// node.
	field int // and a Server
}
`, []string{
			`pkg/more.go:3 the comment uses "server"`, `pkg/more.go:5 the comment uses "virtual node"`,
			`pkg/more.go:7 say candidate, or give the reason in drift/allowances.txt`,
		}},
		{"an allowance that nothing needs, is unknown, or has no reason", `
-- drift/allowances.txt --
server in pkg/dispatch/http.go: HTTP calls the other end so
server in pkg/policy: planted
host in pkg/dispatch: planted
server in pkg/dispatch
`, []string{
			`drift/allowances.txt:2 nothing in pkg/policy needs the word "server"`,
			`drift/allowances.txt:3 the glossary does not avoid "host"`,
			"drift/allowances.txt:4 another form",
		}},
		{"entries of another form, a double one, and a word both defined and avoided", `
-- GLOSSARY.md --
**Candidate**: what a policy may choose. Avoid: server, plain.

**Plain**: needs no list.

**Plain**: needs no list.

**Loose** is loose.

**One**: one.
**Two**: two.

**Three**: three. Avoid: e.g. four.
`, []string{
			`GLOSSARY.md:1 Candidate avoids "plain", which is a term`, "GLOSSARY.md:5 the term Plain is defined twice",
			"GLOSSARY.md:7 has another form", "GLOSSARY.md:9 has another form", "GLOSSARY.md:12 has another form",
		}},
		{"no glossary", `
-- GLOSSARY.md --
`, []string{"GLOSSARY.md:1 the glossary has no terms", "drift/allowances.txt:2 the glossary does not avoid"}},
	})
}

func TestSplitName_TakesGoNamesApart(t *testing.T) {
	for name, want := range map[string][]string{
		"HTTPServer": {"http", "server"},
		"serverOf2":  {"server", "of2"},
		"a_B":        {"a", "b"},
		"X":          {"x"},
		"_":          nil,
	} {
		if got := splitName(name); !slices.Equal(got, want) {
			t.Errorf("splitName(%q) = %q, want %q", name, got, want)
		}
	}
}
