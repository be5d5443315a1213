//go:build !interleave

package linearizability

// yields is whether operations of the library let others go on.
const yields = false
