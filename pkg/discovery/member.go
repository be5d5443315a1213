package discovery

// Member is one entry of a Snapshot.
type Member[V any] struct {
	// ID is the identity.
	ID string
	// Incarnation is the number of this life of the identity, counted from 1 over
	// all members of the directory.
	Incarnation uint64
	// Value is what the source said of it. It is shared by all who read it.
	Value V
	// Draining says that no source claims the member any more, and that it stays
	// until its work has ended.
	Draining bool
}
