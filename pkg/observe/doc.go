// Package observe holds what a load-balancing loop tells: values with fixed
// enumerations, each with a text and a JSON form. It decides nothing.
package observe
