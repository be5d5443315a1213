package poise_test

import (
	poise "github.com/copyleftdev/poise-go/pkg"
)

// slowInFlight is the obvious twin of an InFlight: the list of the leases that
// are held.
type slowInFlight struct {
	limit uint64
	held  map[int]bool // by the number of the Acquire
	next  int
}

func (s *slowInFlight) acquire() (number int, ok bool) {
	number = s.next
	s.next++
	if s.limit != 0 && uint64(len(s.held)) >= s.limit {
		return number, false
	}
	s.held[number] = true
	return number, true
}

func (s *slowInFlight) release(number int) bool {
	held := s.held[number]
	delete(s.held, number)
	return held
}

// requireInFlight runs a script on an InFlight and its twin: 0 acquires, any other
// number releases the Lease of an Acquire before, refused ones included.
func requireInFlight(t failer, limit uint64, script []uint8) {
	t.Helper()
	f, twin := poise.NewInFlight(limit), slowInFlight{limit: limit, held: map[int]bool{}}
	var leases []*poise.Lease
	for step, op := range script {
		if op == 0 || len(leases) == 0 {
			lease, err := f.Acquire()
			leases = append(leases, &lease)
			if _, ok := twin.acquire(); ok != (err == nil) {
				t.Fatalf("step %d: Acquire answers %v", step, err)
			}
		} else {
			number := int(op-1) % len(leases)
			if got, want := leases[number].Release(), twin.release(number); got != want {
				t.Fatalf("step %d: Release of lease %d is %t", step, number, got)
			}
		}
		if got, want := f.Current(), uint64(len(twin.held)); got != want {
			t.Fatalf("step %d: %d are held, want %d", step, got, want)
		}
		if limit != 0 && f.Current() > limit {
			t.Fatalf("step %d: %d are held of %d", step, f.Current(), limit)
		}
	}
}
