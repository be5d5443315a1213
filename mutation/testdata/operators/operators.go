// Package operators has a place for each operator, and tests that notice every change.
package operators

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNegative is an error.
var ErrNegative = errors.New("negative")

func arithmetic(a, b int) int { return a + b*a - b/a + a%b }

func bitwise(a, b uint) uint { return a&b | a<<2 ^ b>>1 | a&^b }

func boundary(a, b int) [4]bool { return [4]bool{a < b, a <= b, a > b, a >= b} }

func negation(a, b string, c bool) bool { return a == b != !c }

func logical(a, b, c bool) bool { return a && b || c }

func condition(a int) string {
	if a > 3 {
		return "much"
	}
	return "little"
}

func literal() (uint8, bool, time.Duration) {
	a, b, c := uint8(0), true, 3*time.Second
	a += 255
	return a, b, c
}

func increment(n int) int {
	n++
	n++
	n--
	return n
}

func assignment(n int) int {
	n += 7
	n *= 3
	n <<= 2
	return n
}

func results(a int) (int, error) {
	if a < 0 {
		return 0, ErrNegative
	}
	return a, nil
}

func removal(list []int) (sum int) {
	for _, n := range list {
		if n == 3 {
			continue
		}
		if n == 9 {
			break
		}
		sum = sum*2 + n
	}
	return sum
}

func loop(n int) (turns int) {
	for i := 0; i < n; i++ {
		turns++
	}
	_ = turns // nothing to change
	return turns
}

type counter struct {
	mu    sync.Mutex
	order []string
	n     atomic.Int64
	a, b  atomic.Int64
}

func (c *counter) locked() bool {
	c.mu.Lock()
	free := c.mu.TryLock()
	if free {
		c.mu.Unlock()
	}
	c.mu.Unlock()
	return free
}

func (c *counter) swap(old, n int64) bool { return c.n.CompareAndSwap(old, n) }

func (c *counter) add(n int64) { c.n.Add(n) }

func (c *counter) publish() {
	c.a.Store(1)
	c.b.Store(2)
}

func (c *counter) deferred() {
	defer func() { c.order = append(c.order, "late") }()
	c.order = append(c.order, "soon")
}

func instants(a, b time.Time) [2]bool { return [2]bool{a.Before(b), a.After(b)} }
