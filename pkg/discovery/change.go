package discovery

// Change is one change of a batch.
type Change[V any] struct {
	// Op is what to do.
	Op Op
	// ID is the identity.
	ID string
	// Value is the value; Remove ignores it.
	Value V
}

// Entry is one member of a list.
type Entry[V any] struct {
	// ID is the identity.
	ID string
	// Value is what the source says of it.
	Value V
}
