package fuzz

import (
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// Claim: At no instant are more than MaxRunning probes outstanding, nor two of one member.
//
// Claim: The wait that Next returns is the time after which it would return a member if nothing else happened.
//
// Claim: A clock that steps back delays no probe by more than half an interval, or one UnknownInterval.
//
// Cases: B22, B103.
func FuzzProbeSchedule(f *testing.F) {
	f.Add(uint8(2), []byte{0, 0, 1, 2, 2, 3, 4, 2, 5, 6, 7, 2, 3, 250, 2})
	f.Add(uint8(1), []byte{0, 0, 0, 2, 5, 2, 13, 2, 4, 12, 2, 2, 1, 2, 2})
	f.Fuzz(func(t *testing.T, most uint8, script []byte) {
		const interval, hold = time.Minute, 90 * time.Second
		s, err := health.NewProbeSchedule(health.ProbeScheduleConfig{
			Health:     health.ActiveHealthConfig{Interval: interval, UnknownInterval: time.Second, Hold: hold},
			MaxRunning: int(most%4) + 1, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1<<32, 0)
		var out []health.ScheduledProbe // as far as nobody knows better
		since := map[uint64]time.Time{}
		members := map[uint64]bool{}
		for step, op := range script[:min(len(script), 400)] {
			member := uint64(op >> 3 % 8)
			switch op % 8 {
			case 0, 1:
				if err := s.Add(member, now); (err == nil) == members[member] {
					t.Fatalf("step %d: adding %d: %v", step, member, err)
				}
				members[member] = true
			case 2, 3:
				probe, wait, ok := s.Next(now)
				if ok {
					if began, running := since[probe.Member]; running && now.Sub(began) < hold && !now.Before(began) || !members[probe.Member] {
						t.Fatalf("step %d: %d is probed, since %v as well", step, probe.Member, began)
					}
					since[probe.Member] = now
					out = append(out, probe)
				} else if wait > 0 && op%8 == 3 {
					now = now.Add(wait - 1)
					if _, _, early := s.Next(now); early {
						t.Fatalf("step %d: it is not %v until the next", step, wait)
					}
					now = now.Add(1)
				}
			case 4, 5:
				if len(out) > 0 {
					i := int(member) % len(out)
					probe := out[i]
					out = append(out[:i], out[i+1:]...)
					result := health.ProbeResult(op >> 6)
					if _, counts := s.End(probe, result, op%8 == 5, now); counts {
						delete(since, probe.Member)
					} else if _, again := s.End(probe, result, false, now); again {
						t.Fatalf("step %d: a second end counts", step)
					}
				}
			case 6:
				now = now.Add(time.Duration(op) * time.Second)
			default:
				if op >= 128 {
					now = now.Add(-time.Duration(op) * time.Minute)
					clear(since) // what is on the way is of another time
					break
				}
				if s.Remove(member) != members[member] {
					t.Fatalf("step %d: %d was there: %v", step, member, members[member])
				}
				delete(members, member)
				delete(since, member)
			}
			if s.Running() > int(most%4)+1 || s.Len() != len(members) {
				t.Fatalf("step %d: %d probes of %d members", step, s.Running(), s.Len())
			}
		}
		// Whatever has happened, all of them are probed again soon.
		probed := map[uint64]bool{}
		for end := now.Add(hold + 3*interval); len(probed) < len(members); {
			probe, wait, ok := s.Next(now)
			if ok {
				probed[probe.Member] = true
				s.End(probe, health.ProbePassed, false, now)
			} else if now = now.Add(wait); wait < 0 || now.After(end) {
				t.Fatalf("of %d members only %d are probed", len(members), len(probed))
			}
		}
	})
}
