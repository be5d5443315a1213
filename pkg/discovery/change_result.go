package discovery

// ChangeResult is the answer to one change.
type ChangeResult struct {
	// Effect is what became of it.
	Effect Effect
	// Revision is that of the directory afterwards; of a batch, after the whole.
	Revision uint64
}
