package operators

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func want(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestArithmetic(t *testing.T) {
	want(t, arithmetic(7, 3), 29)
	want(t, arithmetic(2, 9), 18)
}

func TestBitwise(t *testing.T) {
	for _, c := range [][3]uint{{0b1100, 0b1010, 0b111101}, {5, 3, 20}, {255, 1, 1023}, {8, 8, 44}, {6, 12, 26}} {
		want(t, bitwise(c[0], c[1]), c[2])
	}
}

func TestBoundary(t *testing.T) {
	want(t, boundary(1, 2), [4]bool{true, true, false, false})
	want(t, boundary(2, 2), [4]bool{false, true, false, true})
	want(t, boundary(3, 2), [4]bool{false, false, true, true})
}

func TestNegation(t *testing.T) {
	want(t, negation("a", "a", true), true)
	want(t, negation("a", "b", true), false)
}

func TestLogical(t *testing.T) {
	want(t, logical(true, true, false), true)
	want(t, logical(true, false, false), false)
	want(t, logical(false, true, false), false)
	want(t, logical(false, false, true), true)
	want(t, logical(true, true, true), true)
}

func TestCondition(t *testing.T) {
	want(t, condition(3), "little")
	want(t, condition(4), "much")
}

func TestLiteral(t *testing.T) {
	a, b, c := literal()
	want(t, a, 255)
	want(t, b, true)
	want(t, c, 3*time.Second)
}

func TestIncrement(t *testing.T) { want(t, increment(1), 2) }

func TestAssignment(t *testing.T) { want(t, assignment(1), 96) }

func TestResults(t *testing.T) {
	n, err := results(0)
	want(t, err, nil)
	want(t, n, 0)
	n, err = results(5)
	want(t, err, nil)
	want(t, n, 5)
	n, err = results(-1)
	want(t, n, 0)
	want(t, errors.Is(err, ErrNegative), true)
}

func TestRemoval(t *testing.T) { want(t, removal([]int{1, 3, 2, 9, 4}), 4) }

func TestLoop(t *testing.T) { want(t, loop(3), 3) }

func TestCounter(t *testing.T) {
	var c counter
	want(t, c.locked(), false)
	want(t, c.mu.TryLock(), true)
	c.mu.Unlock()
	want(t, c.swap(5, 7), false)
	want(t, c.swap(0, 7), true)
	c.add(2)
	want(t, c.n.Load(), 9)
	c.publish()
	want(t, c.a.Load()+10*c.b.Load(), 21)
	c.deferred()
	want(t, c.order, []string{"soon", "late"})
}

func TestInstants(t *testing.T) {
	a := time.Unix(1, 0)
	want(t, instants(a, a), [2]bool{})
	want(t, instants(a, a.Add(1)), [2]bool{true, false})
	want(t, instants(a.Add(1), a), [2]bool{false, true})
}
