package poisehttp_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Cases: B30.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
