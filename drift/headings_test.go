package drift

import "testing"

func TestHeadings(t *testing.T) { judge(t, Headings) }

const soundHeadings = `
-- pkg/poise.go --
// Package poise may have its own headings.
//
// # First minute
package poise

// Full has all three.
//
// # Contract
//
//   - It is.
//
// # Cost
//
// None.
//
// # Concurrency
//
// Safe.
type Full struct{}

func (*Full) Do() {}

// Plain prints and compares, and needs none.
type Plain struct{}

func (*Plain) Error() string { return "" }
func (*Plain) Unwrap() error { return nil }
func (Plain) Value() int     { return 0 }
func (*Plain) hidden()       {}

// TimeoutError is an error that can be asked more.
type TimeoutError struct{}

func (*TimeoutError) Error() string { return "" }
func (*TimeoutError) Timeout() bool { return true }

// Some has one of the three.
//
// # Cost
//
// None.
func Some() {}
-- pkg/internal/syncx/plain.go --
package syncx

type Door struct{}

func (*Door) Open() {}
`

func TestHeadings_ReportsEveryFault(t *testing.T) {
	plant(t, Headings, soundHeadings, []fault{
		{"a struct with behaviour and none of the three", `
-- pkg/more.go --
package poise

// More is more.
type More[T any] struct{}

func (*More[T]) Do() {}
`, []string{
			"pkg/more.go:4 no heading Contract", "pkg/more.go:4 no heading Cost", "pkg/more.go:4 no heading Concurrency",
		}},
		{"an interface without Concurrency", `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
//
//   - It is.
//
// # Cost
//
// None.
type More interface{ Do() }
`, []string{"pkg/more.go:12 no heading Concurrency"}},
		{"another order", `
-- pkg/more.go --
package poise

// More is more.
//
// # Cost
//
// # Contract
//
// # Concurrency
type More interface{ Do() }
`, []string{"pkg/more.go:7 heading Contract after Cost"}},
		{"a fourth heading and a double one", `
-- pkg/more.go --
package poise

// More is more.
//
// # Cost
//
// # Example
//
// # Cost
func More() {}
`, []string{"pkg/more.go:7 the heading Example", "pkg/more.go:9 the heading Cost twice"}},
	})
}
