package health

import (
	"fmt"

	"github.com/copyleftdev/poise-go/pkg/internal/printable"
)

// PanicError is the failure of a probe that panicked, or ended its goroutine.
type PanicError struct {
	// Value is what it panicked with; nil if it ended its goroutine.
	Value any
	// Stack is where.
	Stack []byte
}

// Error names the value, with control characters escaped.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "health: the probe ended its goroutine"
	}
	return fmt.Sprintf("health: the probe panicked: %s", printable.Text(fmt.Sprint(e.Value)))
}
