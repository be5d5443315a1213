package linearizability

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// A Caller is one goroutine of a recording.
type Caller struct {
	*rand.Rand     // of its own, from the seed of the recording
	Number     int // from 0

	recording *recording
	calls     seq.History
	spun      uint64
}

// recording is what its callers share.
type recording struct {
	clock   atomic.Int64 // stamps; monotone, unlike readings of the time
	callers int64
	arrived atomic.Int64
}

// Record runs the body on so many goroutines at once and returns the history of
// the calls that they made through their Caller. The seed decides what a Caller
// draws and how it dawdles; how the goroutines meet is up to the machine.
func Record(seed uint64, callers int, body func(*Caller)) seq.History {
	r := &recording{callers: int64(callers)}
	all := make([]*Caller, callers)
	var running sync.WaitGroup
	for i := range all {
		c := &Caller{Rand: rand.New(rand.NewPCG(seed, uint64(i))), Number: i, recording: r}
		all[i] = c
		running.Go(func() {
			c.Meet()
			body(c)
		})
	}
	running.Wait()
	var h seq.History
	for _, c := range all {
		h = append(h, c.calls...)
	}
	return h
}

// Call makes a call and records it. It is stamped before f begins and after f has
// returned, so the recorded interval holds the real one. What it waits for lies
// outside the interval: inside, it would only excuse more orders.
func (c *Caller) Call(name string, arg any, f func() any) any {
	c.dawdle()
	op := seq.Op{Task: c.Number, Name: name, Arg: arg, Call: c.recording.clock.Add(1)}
	op.Result = f()
	op.Return = c.recording.clock.Add(1)
	c.calls = append(c.calls, op)
	return op.Result
}

// Meet waits until every caller has come here as often as this one, so that their
// next calls collide.
func (c *Caller) Meet() {
	n := c.recording.callers
	all := (c.recording.arrived.Add(1)-1)/n*n + n
	for c.recording.arrived.Load() < all {
		runtime.Gosched()
	}
}

// dawdle lets others go first, or lets a moment pass, or neither.
func (c *Caller) dawdle() {
	switch c.IntN(8) {
	case 0:
		runtime.Gosched()
	case 1, 2:
		for range c.IntN(200) {
			c.spun += c.spun>>3 + 1
		}
	}
}
