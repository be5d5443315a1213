// Package poisehttp is where the loop closes: it picks an endpoint, admits the
// call, makes it, judges what came of it, and lets that change the next pick.
//
// [Balancer] is an http.RoundTripper over several [Endpoint] values. Its parts are
// types of their own, which know nothing of net/http: [Slots] accounts for the
// calls an endpoint holds, [Quarantine] sets a failing endpoint aside and brings
// it back, [Ward] bounds how many are aside at once, [RetryBudget] bounds how much
// a failure multiplies.
//
// Its endpoints are those of a list, or of a discovery.Directory that it follows by
// a [Membership].
//
// Admission, not selection, is the race-safe check: a pick reads a picture that
// may be a moment old; the slot and the quarantine are asked after it, and a call
// they refuse is picked again elsewhere.
package poisehttp
