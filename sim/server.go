package sim

import (
	"time"
)

// server is one server of a run.
type server struct {
	of      Server
	fault   Fault
	slow    float64
	delay   int64
	warm    float64 // how many times as long calls take just after a restart
	warmFor int64
	upSince int64

	down     bool
	restarts uint32
	own      bool  // something is wrong with this server and not with all
	ownUntil int64 // when that last ended

	busy    int
	waiting []int32 // requests in order, from head
	head    int
	hung    []int32
}

// request is one attempt as its server sees it. It outlives a caller who leaves.
type request struct {
	life    uint32
	call    int32
	attempt uint32
	server  int32
	status  int32
	state   requestState
	size    float64
}

type requestState uint8

const (
	gone requestState = iota
	queued
	working
	hanging
	failingSoon
)

func (s *server) begin(of Server) {
	*s = server{of: of, slow: 1, delay: int64(of.Delay), upSince: -1 << 62}
}

func (s *server) queued() int { return len(s.waiting) - s.head }

// room reports whether a request would be taken.
func (s *server) room() bool {
	return s.of.Concurrency == 0 || s.busy < s.of.Concurrency || s.queued() < s.of.Queue
}

// blameless reports whether an ejection of the server now is a wrong one.
func (s *server) blameless(w *world) bool {
	grace := time.Second + max(w.s.Calls.Deadline, w.s.Calls.AttemptTimeout)
	return !s.own && (s.ownUntil == 0 || w.now > s.ownUntil+int64(grace))
}

// take takes an attempt of a call.
func (s *server) take(w *world, i int32) {
	c := &w.calls[i]
	fault := s.fault
	if fault.Probability > 0 && w.chance.Float64() >= fault.Probability {
		fault = Fault{}
	}
	if s.down || fault.Kind == Refuse {
		w.record.dialled(w.now, c)
		c.status = refused
		w.deliver(i, s.delay+int64(fault.After))
		return
	}
	w.record.sent(w.now, c)
	r := w.newRequest(i)
	switch {
	case fault.Kind == Hang:
		w.requests[r].state = hanging
		s.hung = append(s.hung, r)
	case fault.Kind == Reset:
		s.failSoon(w, r, broken, fault.After)
	case fault.Kind == Answer:
		c.result.RetryAfter = fault.RetryAfter
		s.failSoon(w, r, fault.Status, fault.After)
	case c.class == Marked:
		c.result.RetryAfter = 0
		s.failSoon(w, r, w.s.Calls.MarkedStatus, time.Millisecond)
	case s.of.Concurrency == 0 || s.busy < s.of.Concurrency:
		s.work(w, r)
	case s.queued() < s.of.Queue:
		w.requests[r].state = queued
		s.waiting = append(s.waiting, r)
	default:
		c.result.RetryAfter = 0
		w.answer(r, 503)
	}
	w.record.peak(s.busy + s.queued())
}

func (s *server) failSoon(w *world, r int32, status int, after time.Duration) {
	w.requests[r].state, w.requests[r].status = failingSoon, int32(status)
	w.queue.add(w.now+int64(after), failing, r, w.requests[r].life)
}

// work begins to work on a request.
func (s *server) work(w *world, r int32) {
	s.busy++
	w.requests[r].state = working
	cost := w.requests[r].size * float64(s.of.Cost) * s.slow
	if s.warmFor > 0 {
		if left := s.upSince + s.warmFor - w.now; left > 0 {
			cost *= 1 + (s.warm-1)*float64(left)/float64(s.warmFor)
		}
	}
	w.queue.add(w.now+int64(cost), served, r, w.requests[r].life)
}

// served ends the work on a request and begins the next.
func (w *world) served(r int32) {
	s := &w.servers[w.requests[r].server]
	s.busy--
	w.answer(r, sound)
	s.workOn(w)
}

// workOn begins to work on what waits while there is room.
func (s *server) workOn(w *world) {
	for s.queued() > 0 && (s.of.Concurrency == 0 || s.busy < s.of.Concurrency) {
		r := s.waiting[s.head]
		s.head++
		if s.head > 64 && 2*s.head > len(s.waiting) {
			s.waiting = append(s.waiting[:0], s.waiting[s.head:]...)
			s.head = 0
		}
		if !s.of.ServeAbandoned && w.calls[w.requests[r].call].life != w.requests[r].attempt {
			w.release(r)
			continue
		}
		s.work(w, r)
	}
}

func (w *world) newRequest(i int32) int32 {
	c := &w.calls[i]
	var r int32
	if n := len(w.idle); n > 0 {
		r = w.idle[n-1]
		w.idle = w.idle[:n-1]
	} else {
		r = int32(len(w.requests))
		w.requests = append(w.requests, request{})
	}
	of := &w.requests[r]
	*of = request{life: of.life, call: i, attempt: c.life, server: c.server, size: c.size}
	return r
}

func (w *world) release(r int32) {
	w.requests[r].life++
	w.requests[r].state = gone
	w.idle = append(w.idle, r)
}

// answer sends the answer of a request on its way, if anybody waits for it.
func (w *world) answer(r int32, status int) {
	of := &w.requests[r]
	c := &w.calls[of.call]
	if c.life == of.attempt {
		c.status = status
		w.deliver(of.call, w.servers[of.server].delay)
	}
	w.release(r)
}

// deliver lets the answer of a call begin at its caller after the delay.
func (w *world) deliver(i int32, delay int64) {
	if delay == w.laneDelay {
		w.queue.addTo(answerLane, w.now+delay, answer, i, w.calls[i].life)
		return
	}
	w.queue.add(w.now+delay, answer, i, w.calls[i].life)
}

// change does what the scenario says to one server.
func (s *server) change(w *world, i int32, e *Event) {
	switch e.Verb {
	case SetFault:
		s.fault = e.Fault
		if e.Fault.Kind != Hang || e.Fault.Probability > 0 {
			s.unhang(w)
		}
		s.setOwn(w, e.Fault.Kind != Well && !e.All)
	case SetSlow:
		s.slow = e.Number
		s.setOwn(w, e.Number > 1 && !e.All)
	case SetConcurrency:
		s.of.Concurrency = int(e.Number)
		s.workOn(w)
	case SetDelay:
		s.delay = int64(s.of.Delay + e.Duration)
	case SetWarm:
		s.warm, s.warmFor = e.Number, int64(e.Duration)
	case Restart:
		s.restart(w, i, e.Duration)
	}
}

func (s *server) setOwn(w *world, own bool) {
	if s.own && !own {
		s.ownUntil = w.now
	}
	s.own = own
}

// unhang works on the requests that hung.
func (s *server) unhang(w *world) {
	for _, r := range s.hung {
		if w.requests[r].state == hanging {
			w.requests[r].state = queued
			s.waiting = append(s.waiting, r)
		}
	}
	s.hung = s.hung[:0]
	s.workOn(w)
}

// restart drops what the server holds and refuses connections for a while.
func (s *server) restart(w *world, i int32, down time.Duration) {
	for r := range w.requests {
		of := &w.requests[r]
		if of.server == i && of.state != gone {
			w.answer(int32(r), broken)
		}
	}
	s.busy, s.waiting, s.head, s.hung = 0, s.waiting[:0], 0, s.hung[:0]
	s.restarts++
	s.down = true
	s.setOwn(w, true)
	w.queue.add(w.now+int64(down), up, i, s.restarts)
}

// comeUp ends a restart.
func (s *server) comeUp(w *world, restart uint32) {
	if s.restarts != restart {
		return
	}
	s.down, s.upSince = false, w.now
	s.setOwn(w, s.fault.Kind != Well)
}
