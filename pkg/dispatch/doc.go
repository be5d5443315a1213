// Package dispatch closes the loop for any client: it picks a member, admits the
// call, and lets what became of it change the next pick. It knows no protocol.
package dispatch
