package poisehttp

import (
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// watchdog looks, at a fixed interval, at the attempts whose answer is being read, and
// ends those that nobody else may end: the caller has left and does not come back to
// the body, the body stalls, or the endpoint has drained for too long. It has a timer
// only while there are such attempts.
//
// # Cost
//
// An attempt costs two uncontended locks. A look costs some nanoseconds for each.
type watchdog struct {
	interval time.Duration
	stalled  uint64        // looks for which a read may bring nothing; 0 for ever
	cutAfter time.Duration // 0: never
	// serving returns the incarnations that are in the list and do not drain.
	serving func() map[uint64]bool

	looks   syncx.Uint64 // how often it has looked, from 1
	armed   syncx.Bool
	watched syncx.Int64
	shards  [watchShards]watchShard

	// left is since when an incarnation has not served. It belongs to the look.
	left map[uint64]time.Time
}

const (
	watchShards = 16
	// lookEvery is how long a slot is held at most after its caller has left for good.
	lookEvery = 200 * time.Millisecond
)

// watchShard is a part of the attempts, as a list.
type watchShard struct {
	mu   syncx.Mutex
	head *watched // guarded by mu, as are next and prev of those in the list
}

// answering is an attempt whose answer is being read.
type answering interface {
	incarnation() uint64 // of its endpoint
	began() time.Time
	readingSince() uint64 // the look since which a read is under way; 0 if none is
	left() bool           // its caller is gone, and may never come back to the body
	endBy(verdict)
}

// watched is an attempt as the watchdog sees it.
type watched struct {
	by answering // written before add; nil if it is not watched

	shard      uint8
	prev, next *watched
}

// begin sets the watchdog up.
func (w *watchdog) begin(idle, cutAfter time.Duration, serving func() map[uint64]bool) {
	w.interval = lookEvery
	if idle > 0 {
		w.interval = min(w.interval, max(idle/8, time.Millisecond))
		w.stalled = uint64((idle + w.interval - 1) / w.interval)
	}
	w.cutAfter, w.serving = cutAfter, serving
	w.looks.Store(1)
}

// now is the time in looks.
func (w *watchdog) now() uint64 { return w.looks.Load() }

// add begins to watch the attempt.
func (w *watchdog) add(a *watched) {
	a.shard = uint8(uint64(a.by.began().UnixNano()) >> 7 % watchShards)
	s := &w.shards[a.shard]
	s.mu.Lock()
	a.next = s.head
	if s.head != nil {
		s.head.prev = a
	}
	s.head = a
	s.mu.Unlock()
	w.watched.Add(1)
	w.arm()
}

// arm has the watchdog look after the interval, unless it will.
func (w *watchdog) arm() {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		time.AfterFunc(w.interval, w.look)
	}
}

// remove ends the watch of an attempt.
func (w *watchdog) remove(a *watched) {
	s := &w.shards[a.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		s.head = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	}
	a.prev, a.next = nil, nil
	w.watched.Add(-1)
}

// verdict is what a look says of an attempt.
type verdict uint8

const (
	goesOn verdict = iota
	abandoned
	stalls
	cut
)

// look ends the attempts that are to be ended, and comes again while there are any.
func (w *watchdog) look() {
	looks := w.looks.Add(1)
	overdue := w.overdue(time.Now())
	var ends []func()
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		for a := s.head; a != nil; a = a.next {
			if v := w.judge(a, looks, overdue); v != goesOn {
				by := a.by // a may be used again once it is not in the list
				ends = append(ends, func() { by.endBy(v) })
			}
		}
		s.mu.Unlock()
	}
	for _, end := range ends {
		syncx.Go(end) // it closes what somebody else wrote, which may block
	}
	w.armed.Store(false)
	if w.watched.Load() > 0 {
		w.arm()
	}
}

// judge returns what is to be done with an attempt.
func (w *watchdog) judge(a *watched, looks uint64, overdue map[uint64]bool) verdict {
	since := a.by.readingSince()
	switch {
	case overdue != nil && overdue[a.by.incarnation()]:
		return cut
	case w.stalled > 0 && since != 0 && looks-since > w.stalled:
		return stalls
	case a.by.left():
		return abandoned
	}
	return goesOn
}

// overdue returns the incarnations whose attempts are to be cut.
func (w *watchdog) overdue(now time.Time) map[uint64]bool {
	if w.cutAfter == 0 {
		return nil
	}
	serving := w.serving()
	left := make(map[uint64]time.Time)
	overdue := make(map[uint64]bool)
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		for a := s.head; a != nil; a = a.next {
			n := a.by.incarnation()
			if serving[n] {
				continue
			}
			since, known := w.left[n]
			if !known {
				since = now
			}
			left[n] = since
			overdue[n] = now.Sub(since) >= w.cutAfter
		}
		s.mu.Unlock()
	}
	w.left = left
	return overdue
}
