package poise

// Selection is a candidate chosen on one View. Only [View.Select] makes one that
// resolves, and only [View.Index] of the same View, or of a scope of it, tells
// the index: a Selection kept too long is an error, never a wrong backend.
//
// The zero value resolves nowhere.
type Selection struct {
	view  uint64 // the number of the View, from 1
	index uint32
}
