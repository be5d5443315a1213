// Package health says who can do work: what probes find, what calls find, and
// what a member does beside its peers.
//
// Nothing here decides alone. Each part answers whether a member is available and
// why not; whoever builds the View puts the answers together, and admission asks
// once more. Asking changes nothing.
//
// But for the runner of probes nothing here keeps a clock or starts a goroutine.
package health
