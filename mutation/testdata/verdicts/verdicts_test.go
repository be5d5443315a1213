package verdicts

import (
	"os"
	"testing"
)

// TestMain ends the process by itself, as leak checkers do.
func TestMain(m *testing.M) { os.Exit(m.Run()) }

func TestNoticed(t *testing.T) {
	if Noticed(2, 3) != 5 {
		t.Error("two and three are five")
	}
}

func TestMissed(t *testing.T) {
	if Missed(2, 0) != 2 {
		t.Error("nothing was taken")
	}
}

func TestMax(t *testing.T) {
	if Max(1, 2) != 2 || Max(2, 1) != 2 || Max(2, 2) != 2 {
		t.Error("the greater one is two")
	}
}

func TestEndless(t *testing.T) {
	if Endless(4) != 6 {
		t.Error("it is six")
	}
}

func TestEarly(t *testing.T) {
	if Early != 42 {
		t.Errorf("it is %d", Early)
	}
}
