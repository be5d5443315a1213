// Package replay holds a state graph that TLC dumped against the Go type whose
// protocol it is: every edge is walked on the real type, and every call that a
// client may make is an edge.
//
// It runs no TLC. The graphs are committed beside their specifications; command
// spec/tla writes them.
package replay
