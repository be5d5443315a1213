package observe

import "time"

// Decided is one pick that was made, or failed.
type Decided struct {
	_ struct{}
	// Kind is how it came out.
	Kind DecisionKind
	// Candidates is how many candidates the View has.
	Candidates int
	// Selected is the index of the candidate that was chosen, -1 if none was.
	Selected int
	// Scope is where it was picked, if somebody asked.
	Scope ScopeKind
	// Took is how long the pick took, 0 if nobody measured.
	Took time.Duration
}

// DecisionObserver is told of decisions.
//
// # Contract
//
//   - A DecisionObserver is told once of each pick, whether somebody was chosen or not.
//
// # Cost
//
// Decided runs inside picks: it should take nanoseconds.
//
// # Concurrency
//
// Decided is called by many goroutines at once, on those that picked.
type DecisionObserver interface {
	// Decided is told of one decision.
	Decided(Decided)
}

// DecisionObserverFunc is a function as a DecisionObserver.
type DecisionObserverFunc func(Decided)

// Decided calls the function.
func (f DecisionObserverFunc) Decided(d Decided) { f(d) }
