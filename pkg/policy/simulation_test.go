package policy_test

import (
	"container/heap"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// ending is a lease that is released at an instant.
type ending struct {
	at    time.Duration
	lease *poise.Lease
}

// endings is a heap, the earliest first.
type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// work takes a lease and gives it back at the instant.
func (e *endings) work(t *testing.T, load *poise.InFlight, until time.Duration) {
	t.Helper()
	lease, err := load.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	heap.Push(e, ending{until, &lease})
}

// end releases what has ended by the instant.
func (e *endings) end(now time.Duration) {
	for len(*e) > 0 && (*e)[0].at <= now {
		heap.Pop(e).(ending).lease.Release()
	}
}

// slowServer is the experiment of W. Morgan, "Beyond Round Robin" (2016), without
// its network: eleven servers answer in 167 ms, one of them in 2 s from second 15
// to 45; 1000 requests a second for a minute, each given up after 1 s. It returns
// how many of the 60000 requests were given up.
func slowServer(t *testing.T, p poise.Policy) (failed int) {
	t.Helper()
	loads := make([]*poise.InFlight, 11)
	samples := backends(11)
	for i := range samples {
		loads[i] = poise.NewInFlight(0)
		samples[i].Load = loads[i]
	}
	d := open(t, p, samples)
	var work endings
	for now := time.Duration(0); now < time.Minute; now += time.Millisecond {
		work.end(now)
		index := d.pick(t, poise.Query{})
		took := 167 * time.Millisecond
		if index == 0 && now >= 15*time.Second && now < 45*time.Second {
			took = time.Second // when the caller gives up
			failed++
		}
		work.work(t, loads[index], now+took)
	}
	return failed
}
