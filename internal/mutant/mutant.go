// Package mutant is what instrumented code asks whether one of its small changes is
// switched on. Nothing imports it but sources that package mutation has written.
//
// The environment says which mutant of the process is active, so that package-level
// initialisers know it too.
package mutant

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

// Names of the environment.
const (
	// Active holds the number of the active mutant; without it none is.
	Active = "POISE_MUTANT"
	// Census holds the file that the number of each site is written to when it is
	// reached first.
	Census = "POISE_MUTANT_CENSUS"
)

var (
	active  = number()
	census  *os.File
	reached [1 << 16]atomic.Bool
)

// counting is the number of no mutant: sites are counted.
const counting = -2

func number() int32 {
	if path := os.Getenv(Census); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			panic(err) // without a census nothing can be judged
		}
		census = f
		return counting
	}
	n, err := strconv.ParseInt(os.Getenv(Active), 10, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}

// At reports whether the mutant is active.
func At(id int32) bool { return active == id || active == counting && reach(id) }

func reach(id int32) bool {
	if !reached[id].Load() && !reached[id].Swap(true) { // a look costs a small part of a swap
		_, _ = census.WriteString(strconv.Itoa(int(id)) + "\n")
	}
	return false
}

// Integer is any integer.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Number is any number that can be ordered.
type Number interface{ Integer | ~float32 | ~float64 }

// Add is a + b, or a − b.
func Add[T Number](id int32, a, b T) T {
	if At(id) {
		return a - b
	}
	return a + b
}

// Sub is a − b, or a + b.
func Sub[T Number](id int32, a, b T) T {
	if At(id) {
		return a + b
	}
	return a - b
}

// Mul is a × b, or a + b.
func Mul[T Number](id int32, a, b T) T {
	if At(id) {
		return a + b
	}
	return a * b
}

// Quo is a / b, or a × b.
func Quo[T Number](id int32, a, b T) T {
	if At(id) {
		return a * b
	}
	return a / b
}

// Rem is a % b, or a × b.
func Rem[T Integer](id int32, a, b T) T {
	if At(id) {
		return a * b
	}
	return a % b
}

// And is a & b, or a | b.
func And[T Integer](id int32, a, b T) T {
	if At(id) {
		return a | b
	}
	return a & b
}

// Or is a | b, or a & b.
func Or[T Integer](id int32, a, b T) T {
	if At(id) {
		return a & b
	}
	return a | b
}

// Xor is a ^ b, or a | b.
func Xor[T Integer](id int32, a, b T) T {
	if At(id) {
		return a | b
	}
	return a ^ b
}

// AndNot is a &^ b, or a & b.
func AndNot[T Integer](id int32, a, b T) T {
	if At(id) {
		return a & b
	}
	return a &^ b
}

// Shl is a << b, or a >> b.
func Shl[T, S Integer](id int32, a T, b S) T {
	if At(id) {
		return a >> b
	}
	return a << b
}

// Shr is a >> b, or a << b.
func Shr[T, S Integer](id int32, a T, b S) T {
	if At(id) {
		return a << b
	}
	return a >> b
}

// Less is a < b, or a <= b.
func Less[T cmp.Ordered](id int32, a, b T) bool { return a < b || At(id) && a == b }

// AtMost is a <= b, or a < b.
func AtMost[T cmp.Ordered](id int32, a, b T) bool { return a <= b && (!At(id) || a < b) }

// Greater is a > b, or a >= b.
func Greater[T cmp.Ordered](id int32, a, b T) bool { return a > b || At(id) && a == b }

// AtLeast is a >= b, or a > b.
func AtLeast[T cmp.Ordered](id int32, a, b T) bool { return a >= b && (!At(id) || a > b) }

// Is is the value, or another one.
func Is[T any](id int32, value, other T) T {
	if At(id) {
		return other
	}
	return value
}

// Zero is the value, or the zero value.
func Zero[T any](id int32, value T) T {
	if At(id) {
		var zero T
		return zero
	}
	return value
}
