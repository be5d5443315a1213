// Package walk runs the shipped types along the state graphs of their
// specifications, one synchronising operation after the other.
//
// Package explore decides itself who makes the next step and tries everything;
// here the graph decides.
package walk
