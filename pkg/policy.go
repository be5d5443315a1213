package poise

import "time"

// Policy is a way to choose among candidates. It compiles a View into a Picker.
//
// What must outlive a Picker, such as a cursor, credits or the random stream,
// belongs to the Policy; so does nothing else.
//
// # Contract
//
//   - Prepare accepts a View that is empty or has no eligible candidate.
//   - Preparing again from an equal View leaves the sequence of picks as it would have been.
//   - A refused Prepare leaves the picks, of the Pickers there are and of those to come, as they would have been without it.
//
// # Cost
//
// Each policy states its own.
//
// # Concurrency
//
// Prepare and the picks of every Picker of a Policy may run at once.
type Policy interface {
	// Prepare returns a Picker for the View, or an error that says why the View
	// cannot serve this policy; then whatever Picker is in use stays good. It
	// runs off the request path and does not change the View.
	Prepare(*View) (Picker, error)
}

// Picker chooses candidates of one View. What it does with the tried, and what it says
// of itself, is stated at Query.
//
// # Contract
//
//   - Pick returns only candidates that are eligible in its View.
//   - Pick answers ErrEmpty when its View has no candidates.
//   - Pick answers ErrNoEligible when its View has candidates and none is eligible.
//   - Pick succeeds while an untried eligible candidate exists, unless the policy states a refusal of its own.
//   - A Pick that fails for want of a candidate or a key leaves the later picks as they would have been without it.
//   - Pick uses what its View sampled and asks no Candidate again.
//   - Equal policies asked the same from one goroutine pick the same.
//   - Pick allocates nothing while at most eight of its candidates are tried.
//   - Picks that overlap, with each other or with Prepare, keep every one of these laws.
//
// # Cost
//
// Each policy states its own.
//
// # Concurrency
//
// Any number of goroutines may pick at once.
type Picker interface {
	// Pick chooses one candidate for the Query.
	Pick(Query) (Selection, error)
}

// Query is what one pick is asked. The zero value asks for any candidate.
//
// # Contract
//
//   - Pick returns no tried candidate while an untried eligible one exists.
//   - Pick answers ErrAllTried when every eligible candidate was tried.
//   - Pick describes the very candidate it returns in Query.Why.
//   - Asking for Why changes no pick.
type Query struct {
	// Key is what keyed policies hash. The zero value is no key: a keyed policy
	// answers ErrNoKey unless it was told how to go on without.
	Key Key
	// Tried names the incarnations not to be picked again; nil for none.
	Tried *Tried
	// Why, if not nil, is filled with the reasons of this very pick.
	Why *Decision
	// Now is the instant at which load trackers are read. Trackers that do not
	// depend on time, such as InFlight, ignore it.
	Now time.Time
}
