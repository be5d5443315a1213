package drift

import "testing"

func TestSnippets(t *testing.T) { judge(t, Snippets) }

var soundSnippets = ticks(`
-- pkg/example_test.go --
package poise_test

func Example() {
	a := 1
	if a > 0 {
		println(a)
	}
	// Output:
}
-- examples/first/main.go --
package main

func main() {
	println("first")
}
-- README.md --
# Title

'''go
a := 1

if a > 0 {
    println(a)
}
'''

'''sh
go test
'''
-- docs/book.md --
'''go
func main() {
	println("first")
}
'''
-- CONTRIBUTING.md --
'''go
anything()
'''
`)

func TestSnippets_ReportsEveryFault(t *testing.T) {
	plant(t, Snippets, soundSnippets, []fault{
		{"code that no example holds", ticks(`
-- README.md --
'''go
a := 2
'''
`), []string{"README.md:1 no example holds"}},
		{"half of a line", ticks(`
-- docs/book.md --
'''go
:= 1
'''
`), []string{"docs/book.md:1 no example holds"}},
		{"an empty block", ticks(`
-- docs/book.md --
'''go
'''
`), []string{"docs/book.md:1 no example holds"}},
		{"an example that was changed", `
-- examples/first/main.go --
package main

func main() {
	println("second")
}
`, []string{"docs/book.md:1 no example holds"}},
		{"code in a function that is no example", `
-- pkg/example_test.go --
package poise_test

func helper() {
	a := 1
	if a > 0 {
		println(a)
	}
}
`, []string{"README.md:3 no example holds"}},
	})
}
