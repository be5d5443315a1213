// Package dispatch closes the loop for any client: it picks a member, admits the
// call, and lets what became of it change the next pick. It knows no protocol.
//
// A [Loop] has members, given by a list of [Spec], each with an opaque value. For
// each attempt [Loop.Acquire] fills a [Call]: the caller does its work with
// [Call.Value] and tells the outcome by [Call.Answered] and [Call.End]. What to do
// after an attempt, [Loop.Next] says; what one logical call has tried already, its
// [Attempts] remember. The Loop has no clock, goroutine or connection: instants come
// with the calls, and [Loop.Advance] does what is due. So it can be explored,
// simulated and replayed whole.
//
// A [Balancer] drives a Loop: it has the clock and one goroutine, numbers the members
// of a list or has those of a directory ([DirectorySource]), probes them, waits, and
// makes whole calls by [Balancer.Do].
//
// Admission, not selection, is the race-safe check: a pick reads a View that may be
// a moment old; the slot of the member is taken after it, and a call that it refuses
// is picked again elsewhere.
//
// # Files
//
// Each file refers to those listed before it, and to no other; a test counts.
//
//	errors.go
//	slots.go
//	retry_budget.go
//	retry.go
//	call_tracker.go
//	spec.go
//	member_error.go
//	publication.go
//	core.go
//	published.go
//	attempts.go
//	query.go
//	call.go
//	admission.go
//	queue.go
//	loop_config.go
//	membership.go
//	inspection.go
//	loop.go
//	member.go
//	source.go
//	directory_source.go
//	config.go
//	probed.go
//	balancer.go
package dispatch
