// Package discovery says who exists. Sources tell a [Directory] who is there; the
// directory publishes immutable snapshots; whoever wants to know reads the newest
// one, or follows them with a [Cursor].
//
// A source opens a [Session] and makes changes through it: single ones, a batch,
// or a whole list, with which the directory makes what the source claims equal.
// Several sources may claim one identity, and the member leaves when the last of
// them has dropped it. It drains first, so that work under way can end.
//
// A [Snapshot] is published by one atomic swap and is never changed. Its members
// keep the order in which they joined. A cursor follows the state, not the log:
// however many snapshots were published since it looked, it gets the newest one.
// Nobody knows of a cursor but its holder, so a cursor that is dropped leaves
// nothing behind.
//
// A [Poller] keeps the claims of a source equal to its answers. [Static] and [File]
// are two sources, package target has those of DNS, and a function makes any other.
// A source that fails is reported, and its last good list stays. So it does if an
// answer is too large, or leaves too few members to be believed at once.
//
// But for [PollerRunner] nothing here keeps a clock, and nothing starts a goroutine.
package discovery
