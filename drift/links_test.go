package drift

import "testing"

func TestLinks(t *testing.T) { judge(t, Links) }

// The single quote stands for a backtick, which a raw string cannot hold.
func ticks(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] == '\'' {
			b[i] = '`'
		}
	}
	return string(b)
}

var soundLinks = ticks(`
-- Makefile --
NAME := x
check: ## quick
	go test
demo verify: check
.PHONY: check
-- pkg/doc.go --
package poise
-- docs/view/drawing.md --
A folder beside the file of its name.
-- docs/view.md --
# The 'View', and [more](#own)!

## Own

## Own

<a id="by-hand"></a> See [own](#own), [again](#own-1), [hand](#by-hand), [up](../README.md#title).
-- README.md --
# Title

[the view](docs/view.md#the-view-and-more), [dir](docs/), [site](https://example.com/x#y),
[mail](mailto:a@example.com), [line](pkg/doc.go#L1), ![image](<docs/view.md> "title"), [ref][r], [self](.).
<a href="docs/view.md">x</a>

[r]: docs/view.md

An unclosed ''tick' and 'pkg/doc.go''s.

Paths: 'pkg/doc.go', './docs/view.md', 'pkg/doc.go:12', 'pkg/**', 'out/report', 'pkg/<name>/x', 'docs/', 'net/http',
'pkg/...', 'make check', 'make demo POLICY=x', 'POLICY=y make verify', 'a code [span](nowhere.md) over
two lines', make sure it works.

'''sh
$ make check && make demo # make coffee
go test ./... ; make -j2 verify
[no](link.md) <!-- count:nothing -->
'''
`)

func TestLinks_ReportsEveryFault(t *testing.T) {
	plant(t, Links, soundLinks, []fault{
		{"links that lead nowhere, in every form", ticks(`
-- docs/more.md --
[a](view2.md), ![b](b.png)
[c][undefined], <a href="c.md">c</a>

[d]: d.md
[e](../../outside.md) [f](/docs/view.md)
`), []string{
			"docs/more.md:1 leads to docs/view2.md", "docs/more.md:1 leads to docs/b.png",
			"docs/more.md:2 the link reference [undefined] is not defined", "docs/more.md:2 leads to docs/c.md",
			"docs/more.md:4 leads to docs/d.md", "docs/more.md:5 the link ../../outside.md leaves the repository",
			"docs/more.md:5 the link /docs/view.md leaves the repository",
		}},
		{"fragments that no heading has", ticks(`
-- docs/more.md --
[a](#more) [b](view.md#own-2) [c](../pkg/doc.go#more)
`), []string{
			"docs/more.md:1 docs/more.md has no heading for #more", "docs/more.md:1 docs/view.md has no heading for #own-2",
			"docs/more.md:1 ../pkg/doc.go#more has a fragment that means nothing",
		}},
		{"paths in backticks that do not exist", ticks(`
-- docs/more.md --
See 'pkg/more.go' and
'spec/tla/More.tla' of ''docs/x''.
`), []string{
			"docs/more.md:1 there is no pkg/more.go", "docs/more.md:2 there is no spec/tla/More.tla", "docs/more.md:2 there is no docs/x",
		}},
		{"make targets that the Makefile does not have", ticks(`
-- docs/more.md --
'make coffee' and 'make .PHONY'

~~~
make check tea
~~~
`), []string{
			"docs/more.md:1 the Makefile has no target coffee", "docs/more.md:1 the Makefile has no target .PHONY",
			"docs/more.md:4 the Makefile has no target tea",
		}},
	})
}
