package red

import "testing"

func TestSum(t *testing.T) {
	if Sum(1, 1) != 3 {
		t.Error("one and one are two")
	}
}
