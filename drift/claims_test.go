package drift

import "testing"

func claims(repo *Repo) Report {
	report, _ := Claims(repo)
	return report
}

func TestClaims(t *testing.T) {
	judge(t, claims)
	_, counts := Claims(repository(t))
	t.Logf("%d bullets, %d quoted, %d exceptions", counts.Bullets, counts.Quoted, counts.Exceptions)
}

const soundClaims = `
-- pkg/poise.go --
package poise

// Policy compiles.
//
// # Contract
//
//   - Pick chooses among
//     the eligible.
//   - A seed replays.
//
// # Cost
//
//   - This is no promise.
type Policy interface {
	// Prepare prepares.
	//
	// # Contract
	//
	//   - Prepare builds.
	Prepare() error
}

// New makes one.
//
// # Contract
//
//   - New is pure.
func New() Policy { return nil }

// Close ends it.
//
// # Contract
//
//   - Close is final.
func (*T) Close() { println() }

func (*T) Prepare() error { return nil }
-- pkg/poise_test.go --
package poise_test

import "testing"

// A test may say more.
//
// Claim: Pick chooses
// among the eligible.
// Claim: A seed replays.
//
// This is not part of the claim.
func TestPolicy_Works(t *testing.T) { t.Log() }

func FuzzNew(f *testing.F) {
	/*
	   Claim: New is pure.
	*/
	f.Add(1)
}
-- pkg/policytest/laws.go --
package policytest

// Builds is a law.
//
// Claim: Prepare builds.
func builds() error { return nil }

var laws = []func() error{builds}
-- spec/tla/close/Close.tla --
---- MODULE Close ----
\* Claim: Close is
\* final.
Final == TRUE
`

func TestClaims_ReportsEveryFault(t *testing.T) {
	plant(t, claims, soundClaims, []fault{
		{"a bullet that nothing quotes", `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
//
//   - More never
//     ends.
type More struct{}
`, []string{`pkg/more.go:7 nothing that runs quotes the Contract bullet "More never ends."`}},
		{"a quote that no bullet says", `
-- pkg/more_test.go --
package poise_test

// Claim: More never stops.
func TestMore(t *testing.T) { t.Log() }
`, []string{`pkg/more_test.go:3 no Contract bullet says "More never stops."`}},
		{"a reworded bullet, with its orphan quote and its naked promise", `
-- spec/tla/close/Close.tla --
\* Claim: Close is not final.
`, []string{"spec/tla/close/Close.tla:1 no Contract bullet says", "pkg/poise.go:34 nothing that runs quotes"}},
		{"one sentence promised twice", `
-- pkg/twice.go --
package poise

// Twice is twice.
//
// # Contract
//
//   - New is pure.
type Twice struct{}
`, []string{`pkg/twice.go:7 "New is pure." stands at pkg/poise.go:27 too`}},
		{"a claim above a benchmark, an example, a helper, a method or a test that go test does not run", `
-- pkg/more_test.go --
package poise_test

// Claim: New is pure.
func BenchmarkNew(b *testing.B) { b.Log() }

// Claim: New is pure.
func ExampleNew() { println() }

// Claim: New is pure.
func helper(t *testing.T) { t.Log() }

// Claim: New is pure.
func (suite) TestNew(t *testing.T) { t.Log() }

// Claim: New is pure.
func Testify(t *testing.T) { t.Log() }

// Claim: New is pure.
func TestMain(m *testing.M) { m.Run() }
`, []string{
			"pkg/more_test.go:3 no check begins", "pkg/more_test.go:6 no check begins", "pkg/more_test.go:9 no check begins",
			"pkg/more_test.go:12 no check begins", "pkg/more_test.go:15 no check begins", "pkg/more_test.go:18 no check begins",
		}},
		{"a claim in the middle of a test", `
-- pkg/more_test.go --
package poise_test

func TestNew(t *testing.T) {
	t.Log()
	// Claim: New is pure.
}
`, []string{"pkg/more_test.go:5 no check begins"}},
		{"a claim in product code", `
-- pkg/more.go --
package poise

// Claim: New is pure.
func more() { println() }
`, []string{"pkg/more.go:3 no check begins"}},
		{"a test that claims and is empty", `
-- pkg/more_test.go --
package poise_test

// Claim: New is pure.
func TestNew(t *testing.T) {}
`, []string{"pkg/more_test.go:3 TestNew claims a promise and is empty"}},
		{"a test that claims and is never built", `
-- pkg/more_test.go --
//go:build ignore

package poise_test

// Claim: New is pure.
func TestNew(t *testing.T) { t.Log() }
`, []string{"pkg/more_test.go:5 TestNew claims a promise and is never built"}},
		{"a law that nothing runs", `
-- pkg/policytest/more.go --
package policytest

// Claim: New is pure.
func Pure() error { return nil }
`, []string{"pkg/policytest/more.go:3 the law Pure claims a promise and nothing runs it"}},
		{"a contract that no reader of the documentation finds", `
-- pkg/more.go --
package poise

// hidden is hidden.
//
// # Contract
//
//   - It hides.
type hidden struct{}
`, []string{"pkg/more.go:5 a Contract stands where no reader"}},
		{"a contract without bullets, and one with loose text", `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
type More struct{}

// Less is less.
//
// # Contract
//
// It holds:
//   - New is pure, twice.
//
// And more.
type Less struct{}
-- drift/exceptions.txt --
New is pure, twice.
	planted
`, []string{
			"pkg/more.go:5 the Contract of More has no bullets",
			"pkg/more.go:12 the Contract of Less holds text that is not a bullet",
			"pkg/more.go:15 the Contract of Less holds text that is not a bullet",
		}},
		{"bullets that are no sentence, two sentences, or leave a way out", `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
//
//   - More without an end
//   - More ends. It begins.
//   - More should end.
type More struct{}
-- drift/exceptions.txt --
More without an end
	planted
More ends. It begins.
	planted
More should end.
	planted
`, []string{
			"pkg/more.go:7 is not a sentence", "pkg/more.go:8 is more than one sentence", "pkg/more.go:9 leaves a way out",
		}},
		{"exceptions that are unneeded, unknown, double, without reason or without sentence", `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
//
//   - More never ends.
type More struct{}
-- drift/exceptions.txt --
	A reason of nothing.
# A comment.
More never ends.
	It would take for ever.

More never ends.
	Twice.
New is pure.
	A check quotes it.
Nobody says this.
	Unknown.
More never begins.
`, []string{
			"drift/exceptions.txt:1 a reason stands without its sentence",
			"drift/exceptions.txt:6 is listed twice",
			"drift/exceptions.txt:8 no longer needed",
			"drift/exceptions.txt:10 no Contract bullet says",
			"drift/exceptions.txt:12 no Contract bullet says",
			"drift/exceptions.txt:12 has no reason",
		}},
	})
}

func TestClaims_ReportsWhatHasNoCode(t *testing.T) {
	plant(t, claims, soundClaims, []fault{
		{"a Code line that names nothing with a body", `
-- pkg/more.go --
package poise

// More does more.
//
// # Contract
//
//   - More is more.
func More() error { return nil }

func hollow() {}
-- pkg/more_test.go --
package poise_test

// Claim: More is more.
// Code: More, T.Close, pkg.New,
// hollow, lost, pkg/other.More
func TestMore(t *testing.T) { t.Log() }
`, []string{
			`pkg/more_test.go:3 "More is more." is kept by hollow, which is no function with a body`,
			`pkg/more_test.go:3 "More is more." is kept by lost`, `pkg/more_test.go:3 "More is more." is kept by pkg/other.More`,
		}},
		{"two promises of one declaration whose ids agree", `
-- pkg/more.go --
package poise

// Plain is plain.
//
// # Contract
//
//   - Plain 142411 is plain.
//   - Plain 161486 is plain.
func Plain() error { return nil }
-- pkg/more_test.go --
package poise_test

// Claim: Plain 142411 is plain.
//
// Claim: Plain 161486 is plain.
func TestMore(t *testing.T) { t.Log() }
`, []string{`pkg/more.go:8 the Contract bullet "Plain 161486 is plain." has the id of another`}},
		{"a type without methods, an interface that nobody implements and a function without statements", `
-- pkg/more.go --
package poise

// Plain is plain.
//
// # Contract
//
//   - Plain is plain.
type Plain struct{}

// Other is another.
//
// # Contract
//
//   - Other is other.
type Other interface{ Prepare(int) error }

// Hollow does nothing.
//
// # Contract
//
//   - Hollow does nothing.
func Hollow() {}
-- pkg/more_test.go --
package poise_test

// Claim: Plain is plain.
//
// Claim: Other is other.
//
// Claim: Hollow does nothing.
func TestMore(t *testing.T) { t.Log() }
`, []string{"pkg/more.go:7 Plain has no code of its own", "pkg/more.go:14 Other has no code of its own", "pkg/more.go:21 Hollow has no code of its own"}},
	})
}

func TestClaims_CountsBulletsQuotesAndExceptions(t *testing.T) {
	_, counts := Claims(grow(t, soundClaims, `
-- pkg/more.go --
package poise

// More is more.
//
// # Contract
//
//   - More never ends.
type More struct{}
-- drift/exceptions.txt --
More never ends.
	It would take for ever.
`))
	if want := (ClaimCounts{Bullets: 6, Quoted: 5, Exceptions: 1}); counts != want {
		t.Errorf("got %+v, want %+v", counts, want)
	}
}
