//go:build interleave

package syncx

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Mutex is a sync.Mutex whose operations are steps.
//
// The explorer lets a task on only when the lock is free, so the real lock never
// blocks under it; it is taken all the same, for the race detector's edges.
type Mutex struct {
	mu   sync.Mutex
	held bool // what the explorer reads; kept only under it
}

func (m *Mutex) Lock() {
	wait(Lock, unsafe.Pointer(m), m)
	m.mu.Lock()
	m.hold(true)
}

func (m *Mutex) Unlock() {
	step(Unlock, unsafe.Pointer(m))
	m.hold(false)
	m.mu.Unlock()
}

// TryLock may fail although the lock is free: the memory model allows it.
func (m *Mutex) TryLock() bool {
	step(TryLock, unsafe.Pointer(m))
	if explorer != nil && (!m.Open(TryLock) || spurious("TryLock fails")) || !m.mu.TryLock() {
		idle()
		return false
	}
	m.hold(true)
	return true
}

// Open implements Gate.
//
//go:norace
func (m *Mutex) Open(Op) bool { return !m.held }

//go:norace
func (m *Mutex) hold(held bool) {
	if explorer != nil {
		m.held = held
	}
}

// RWMutex is a sync.RWMutex whose operations are steps.
//
// When a writer leaves, the explorer also tries the schedule in which the next
// writer overtakes the waiting readers, which sync.RWMutex does not do.
type RWMutex struct {
	rw sync.RWMutex

	// What the explorer reads. Kept only under it, when one task runs at a time.
	readers          int
	waiting, writing bool
}

func (m *RWMutex) Lock() {
	wait(Announce, unsafe.Pointer(m), m)
	m.set(true, false)
	wait(Acquire, unsafe.Pointer(m), m)
	m.rw.Lock()
	m.set(false, true)
}

func (m *RWMutex) Unlock() {
	step(Unlock, unsafe.Pointer(m))
	m.set(false, false)
	m.rw.Unlock()
}

// TryLock may fail although the lock is free: the memory model allows it.
func (m *RWMutex) TryLock() bool {
	step(TryLock, unsafe.Pointer(m))
	if explorer != nil && (!m.Open(TryLock) || spurious("TryLock fails")) || !m.rw.TryLock() {
		idle()
		return false
	}
	m.set(false, true)
	return true
}

func (m *RWMutex) RLock() {
	wait(RLock, unsafe.Pointer(m), m)
	m.rw.RLock()
	m.read(1)
}

func (m *RWMutex) RUnlock() {
	step(RUnlock, unsafe.Pointer(m))
	m.read(-1)
	m.rw.RUnlock()
}

// TryRLock may fail although no writer is there: the memory model allows it.
func (m *RWMutex) TryRLock() bool {
	step(TryRLock, unsafe.Pointer(m))
	if explorer != nil && (!m.Open(TryRLock) || spurious("TryRLock fails")) || !m.rw.TryRLock() {
		idle()
		return false
	}
	m.read(1)
	return true
}

// RLocker returns a Locker of RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*readLocker)(m) }

type readLocker RWMutex

func (r *readLocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *readLocker) Unlock() { (*RWMutex)(r).RUnlock() }

// Open implements Gate.
//
//go:norace
func (m *RWMutex) Open(op Op) bool {
	switch op {
	case Acquire: // the announced writer, once the readers have left
		return m.readers == 0
	case TryLock:
		return m.readers == 0 && !m.waiting && !m.writing
	default:
		return !m.waiting && !m.writing
	}
}

//go:norace
func (m *RWMutex) set(waiting, writing bool) {
	if explorer != nil {
		m.waiting, m.writing = waiting, writing
	}
}

//go:norace
func (m *RWMutex) read(n int) {
	if explorer != nil {
		m.readers += n
	}
}

// Pool is sync.Pool: what it holds is in nobody's hands, so its steps meet no others.
type Pool = sync.Pool

// Once is sync.Once over hooked parts: the flag first, then the lock and the
// flag again.
type Once struct {
	done Bool
	mu   Mutex
}

func (o *Once) Do(f func()) {
	if o.done.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
}

// WaitGroup is a sync.WaitGroup whose operations are steps.
type WaitGroup struct {
	wg sync.WaitGroup
	n  int // what the explorer reads; kept only under it
}

func (g *WaitGroup) Add(delta int) {
	op := GroupAdd
	if delta < 0 {
		op = GroupDone
	}
	step(op, unsafe.Pointer(g))
	g.count(delta)
	g.wg.Add(delta)
	if telling {
		explorer.Tell("%+d", delta)
	}
}

func (g *WaitGroup) Done() { g.Add(-1) }

func (g *WaitGroup) Wait() {
	wait(GroupWait, unsafe.Pointer(g), g)
	g.wg.Wait()
}

func (g *WaitGroup) Go(f func()) {
	g.Add(1)
	Go(func() {
		defer g.Done()
		f()
	})
}

// Open implements Gate.
//
//go:norace
func (g *WaitGroup) Open(Op) bool { return g.n == 0 }

//go:norace
func (g *WaitGroup) count(delta int) {
	if explorer != nil {
		g.n += delta
	}
}

// Cond is a sync.Cond whose operations are steps. Which waiter a Signal wakes is
// a choice, because sync.Cond promises no order.
type Cond struct {
	L sync.Locker

	real    sync.Cond
	waiters []*ticket // under an explorer, instead of real
}

// ticket is one wait. Its flag carries the edge from Signal to the waiter.
type ticket struct{ woken atomic.Bool }

// Open implements Gate.
func (t *ticket) Open(Op) bool { return t.woken.Load() }

func (t *ticket) wake() {
	explorer.Also(unsafe.Pointer(t))
	t.woken.Store(true)
}

// NewCond returns a Cond on l.
func NewCond(l sync.Locker) *Cond { return &Cond{L: l, real: sync.Cond{L: l}} }

func (c *Cond) Wait() {
	if explorer == nil {
		c.real.Wait()
		return
	}
	step(CondEnter, unsafe.Pointer(c))
	t := new(ticket)
	c.enter(t)
	c.L.Unlock()
	wait(CondWake, unsafe.Pointer(t), t)
	t.woken.Load()
	c.L.Lock()
}

func (c *Cond) Signal() {
	if explorer == nil {
		c.real.Signal()
		return
	}
	step(CondSignal, unsafe.Pointer(c))
	switch n := c.waiting(); n {
	case 0:
		idle()
	default:
		c.leave(explorer.Choose("waiter to wake", n)).wake()
	}
}

func (c *Cond) Broadcast() {
	if explorer == nil {
		c.real.Broadcast()
		return
	}
	step(CondBroadcast, unsafe.Pointer(c))
	if c.waiting() == 0 {
		idle()
	}
	for c.waiting() > 0 {
		c.leave(0).wake()
	}
}

//go:norace
func (c *Cond) enter(t *ticket) { c.waiters = append(c.waiters, t) }

//go:norace
func (c *Cond) waiting() int { return len(c.waiters) }

//go:norace
func (c *Cond) leave(i int) *ticket {
	t := c.waiters[i]
	copy(c.waiters[i:], c.waiters[i+1:])
	c.waiters = c.waiters[:len(c.waiters)-1]
	return t
}
