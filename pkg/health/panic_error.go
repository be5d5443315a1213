package health

import "fmt"

// PanicError is the failure of a probe that panicked, or ended its goroutine.
type PanicError struct {
	// Value is what it panicked with; nil if it ended its goroutine.
	Value any
	// Stack is where.
	Stack []byte
}

// Error names the value.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "health: the probe ended its goroutine"
	}
	return fmt.Sprintf("health: the probe panicked: %v", e.Value)
}
