package mutation

import "go/ast"

// Operator is one kind of change.
type Operator struct {
	// Name is the rule that mutants carry.
	Name string
	// Doc says what it changes, in a sentence.
	Doc string

	find func(w *walker, n ast.Node)
}

// Operators are all operators, in the order of tables.
var Operators = []Operator{
	arithmetic, bitwise, boundary, negation, logical, condition, literal, increment, assignment,
	zeroReturn, errorReturn, removal, loop,
	locking, atomicStep, storeOrder, deferral, instant,
}
