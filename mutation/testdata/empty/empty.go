// Package empty has nothing to change.
package empty

// Name is a name.
const Name = "empty"
