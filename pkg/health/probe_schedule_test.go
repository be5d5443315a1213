package health_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func newSchedule(t testing.TB, cfg health.ProbeScheduleConfig) *health.ProbeSchedule {
	t.Helper()
	s, err := health.NewProbeSchedule(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// requireSchedule plays a script to a ProbeSchedule and to its slow twin.
func requireSchedule(t failer, cfg health.ProbeScheduleConfig, script []uint32) {
	t.Helper()
	s, err := health.NewProbeSchedule(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	twin := newSlowSchedule(cfg)
	s.Next(dawn) // its time begins
	type right struct {
		probe  health.ScheduledProbe
		of     *slowMember
		number int
	}
	var rights []right
	at := time.Duration(0)
	ids := func() []uint64 { return slices.Sorted(maps.Keys(twin.members)) }
	for step, op := range script {
		now, arg := dawn.Add(at), op>>4
		switch op & 15 {
		case 0, 1, 2:
			id := uint64(arg % 12)
			if added, err := twin.add(id, at), s.Add(id, now); added != (err == nil) || !added && !errors.Is(err, health.ErrDuplicate) {
				t.Fatalf("step %d: adding %d: %v", step, id, err)
			}
		case 3:
			id := uint64(arg % 12)
			_, there := twin.members[id]
			if delete(twin.members, id); s.Remove(id) != there {
				t.Fatalf("step %d: %d was there: %v", step, id, there)
			}
		case 4:
			if all := ids(); len(all) > 0 {
				id, condition := all[int(arg)%len(all)], health.Condition(arg/256%3)
				twin.force(twin.members[id], condition, at)
				if err := s.Force(id, condition, now); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
			}
		case 5, 6, 7, 8, 9:
			if len(rights) == 0 {
				break
			}
			r := rights[int(arg)%len(rights)]
			result, timedOut := health.ProbeResult(arg/64%4), arg/256%4 == 0
			want := twin.end(r.of, r.number, result, timedOut, at)
			if state, counts := s.End(r.probe, result, timedOut, now); counts != want || twin.members[r.of.id] == r.of && state.Condition != r.of.condition {
				t.Fatalf("step %d: the end of a probe of %d counts: %v, %+v", step, r.of.id, counts, state)
			}
		case 10, 11:
			at += time.Duration(arg)
		default:
			m, wait := twin.next(at)
			probe, got, ok := s.Next(now)
			if ok != (m != nil) || ok && (probe.Member != m.id || got != 0) || !ok && got != wait {
				t.Fatalf("step %d at %v: Next returns %v, %v, %v, want %+v, %v", step, at, probe.Member, got, ok, m, wait)
			}
			if ok {
				rights = append(rights, right{probe, m, m.number})
			} else if wait > 0 && arg%3 == 0 {
				at += wait
			}
		}
		now = dawn.Add(at)
		running, slow := twin.counts()
		if s.Running() != running || running > cfg.MaxRunning || slow > max(1, cfg.MaxRunning/2) || s.Len() != len(twin.members) {
			t.Fatalf("step %d: %d of %d are running, %d of them slow, want %d", step, s.Running(), s.Len(), slow, running)
		}
		for id, m := range twin.members {
			state, there := s.State(id, now)
			due := max(0, m.due-at)
			if m.running {
				due = max(0, m.began+cfg.Health.Hold-at)
			}
			if !there || state.Condition != m.condition || state.Running != m.running || state.Due != due {
				t.Fatalf("step %d: %d is %+v, want %+v due in %v", step, id, state, *m, due)
			}
		}
	}
}

// Claim: Next returns a member that is due, and of those the one that has been due for longest.
// Code: ProbeSchedule.first
// Claim: A member whose condition is known is due once in each interval of the condition, at its place in it, but not before half an interval has passed since its last probe.
// Code: ProbeSchedule.due
// Claim: A member whose condition is unknown is due each UnknownInterval, and once twice as many probes as the larger threshold have decided nothing, only each Interval.
// Code: ProbeSchedule.due
// Claim: At no instant are more than MaxRunning probes outstanding, nor two of one member.
// Code: ProbeSchedule.first, ProbeSchedule.Next
// Claim: Members whose last probe timed out have at most half of MaxRunning outstanding, and at least one.
// Code: ProbeSchedule.first
// Claim: An outstanding probe that is not ended within Hold is lost, and gives its place to another.
// Code: ProbeSchedule.lose
// Claim: The wait that Next returns is the time after which it would return a member if nothing else happened.
// Code: ProbeSchedule.wait
// Claim: End of a probe that was ended before, or is lost, or whose member was removed or forced meanwhile, does not count.
// Code: ProbeSchedule.End
//
// Cases: B26, B103.
func TestProbeSchedule_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(1, 1<<27).Draw(t, name))
		}
		requireSchedule(t, health.ProbeScheduleConfig{
			Health: health.ActiveHealthConfig{
				Interval: duration("interval"), UnhealthyInterval: duration("unhealthy interval"),
				UnknownInterval: duration("unknown interval"), Hold: duration("hold"),
				HealthyThreshold:   rapid.IntRange(1, 3).Draw(t, "healthy threshold"),
				UnhealthyThreshold: rapid.IntRange(1, 3).Draw(t, "unhealthy threshold"),
			},
			MaxRunning: rapid.IntRange(1, 6).Draw(t, "max running"),
			Seed:       rapid.Uint64Min(1).Draw(t, "seed"),
		}, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint32 {
			return uint32(rapid.IntRange(0, 15).Draw(t, "op")) | rapid.Uint32Range(0, 1<<28-1).Draw(t, "arg")<<4
		}), 20, 200).Draw(t, "script"))
	})
}

// Claim: Members whose last probe timed out have at most half of MaxRunning outstanding, and at least one.
// Claim: An outstanding probe that is not ended within Hold is lost, and gives its place to another.
func TestProbeSchedule_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a ProbeSchedule decides as its slow twin", prop.ForAll(
		func(intervals []uint32, thresholds uint8, seed uint64, script []uint32) string {
			return faultOf(func(t failer) {
				requireSchedule(t, health.ProbeScheduleConfig{
					Health: health.ActiveHealthConfig{
						Interval: time.Duration(intervals[0]/8) + 1, UnhealthyInterval: time.Duration(intervals[1]/8) + 1,
						UnknownInterval: time.Duration(intervals[2]/64) + 1, Hold: time.Duration(intervals[3]/32) + 1,
						HealthyThreshold: int(thresholds%3) + 1, UnhealthyThreshold: int(thresholds/3%3) + 1,
					},
					MaxRunning: int(thresholds/32) + 1, Seed: max(seed, 1),
				}, script)
			})
		}, gen.SliceOfN(4, gen.UInt32()), gen.UInt8(), gen.UInt64(), gen.SliceOf(gen.UInt32())))
	laws.TestingRun(t)
}

// play answers probes until the end, each after so long, and returns when each was
// sent. It has at most as many on the way as the schedule allows.
func play(t testing.TB, s *health.ProbeSchedule, from, until time.Duration, answer func(member uint64) (takes time.Duration, result health.ProbeResult, timedOut bool)) map[uint64][]time.Duration {
	t.Helper()
	type way struct {
		ends     time.Duration
		probe    health.ScheduledProbe
		result   health.ProbeResult
		timedOut bool
	}
	var ways []way
	sent := map[uint64][]time.Duration{}
	for at := from; at < until; {
		probe, wait, ok := s.Next(dawn.Add(at))
		if ok {
			sent[probe.Member] = append(sent[probe.Member], at)
			takes, result, timedOut := answer(probe.Member)
			w := way{at + takes, probe, result, timedOut}
			i, _ := slices.BinarySearchFunc(ways, w.ends, func(w way, ends time.Duration) int { return int(w.ends - ends) })
			ways = slices.Insert(ways, i, w)
			continue
		}
		next := until
		if wait >= 0 {
			next = min(next, at+wait)
		}
		if len(ways) > 0 && ways[0].ends <= next {
			at = max(at, ways[0].ends)
			s.End(ways[0].probe, ways[0].result, ways[0].timedOut, dawn.Add(at))
			ways = ways[1:]
			continue
		}
		at = next
	}
	for _, w := range ways {
		s.End(w.probe, health.ProbeCancelled, false, dawn.Add(until))
	}
	return sent
}

func passes(uint64) (time.Duration, health.ProbeResult, bool) {
	return time.Millisecond, health.ProbePassed, false
}

// spread returns the fewest and the most probes that fall into one of n equal parts
// of the time.
func spread(sent map[uint64][]time.Duration, from, until time.Duration, n int) (fewest, most int) {
	counts := make([]int, n)
	for _, times := range sent {
		for _, at := range times {
			if at >= from && at < until {
				counts[int((at-from)*time.Duration(n)/(until-from))]++
			}
		}
	}
	return slices.Min(counts), slices.Max(counts)
}

// Claim: A member that was added is due at once.
// Code: ProbeSchedule.Add
//
// Cases: B103, B110.
func TestProbeSchedule_SpreadsTenThousandMembersOverTheInterval(t *testing.T) {
	const n = 10_000
	s := newSchedule(t, health.ProbeScheduleConfig{Seed: 1})
	for id := range uint64(n) {
		if err := s.Add(id, dawn); err != nil {
			t.Fatal(err)
		}
	}
	sent := play(t, s, 0, 31*time.Second, passes)
	known := time.Duration(0)
	for id := range uint64(n) {
		known = max(known, sent[id][1]+time.Millisecond)
		if state, _ := s.State(id, dawn.Add(31*time.Second)); state.Condition != health.Healthy {
			t.Fatalf("%d is %v", id, state.Condition)
		}
		for i := range sent[id][2:] {
			if gap := sent[id][i+2] - sent[id][i+1]; i > 0 && (gap < 10*time.Second-100*time.Millisecond || gap > 10*time.Second+100*time.Millisecond) {
				t.Fatalf("%d is probed again after %v", id, gap)
			}
		}
	}
	fewest, most := spread(sent, 20*time.Second, 30*time.Second, 100)
	t.Logf("all known after %v; %d to %d probes in each tenth of a second", known, fewest, most)
	if known > 200*time.Millisecond || fewest < 90 || most > 110 {
		t.Errorf("all are known after %v; %d to %d probes in each tenth of a second", known, fewest, most)
	}
}

// Cases: B103.
func TestProbeSchedule_ThoseThatHangDoNotKeepTheOthersWaiting(t *testing.T) {
	const n = 2_000
	s := newSchedule(t, health.ProbeScheduleConfig{MaxRunning: 100, Seed: 1})
	for id := range uint64(n) {
		if err := s.Add(id, dawn); err != nil {
			t.Fatal(err)
		}
	}
	play(t, s, 0, time.Second, passes)
	// From now on each second member hangs for longer than there is room.
	sent := play(t, s, time.Second, 10*time.Minute, func(id uint64) (time.Duration, health.ProbeResult, bool) {
		if id%2 == 0 {
			return 5 * time.Second, health.ProbeFailed, true
		}
		return passes(id)
	})
	hanging, well := 0, time.Duration(0)
	for id, times := range sent {
		if id%2 == 0 {
			hanging += len(times)
			continue
		}
		for i := range times[1:] {
			if times[i] > 2*time.Minute { // each that hangs has had its first timeout
				well = max(well, times[i+1]-times[i])
			}
		}
	}
	t.Logf("%d probes that hang; the others wait at most %v", hanging, well)
	if well > 11*time.Second || hanging < 5*100*10 {
		t.Errorf("%d probes that hang; the others wait up to %v", hanging, well)
	}
	// When all answer again, all soon have their places again.
	sent = play(t, s, 10*time.Minute, 12*time.Minute, passes)
	if fewest, most := spread(sent, 11*time.Minute, 12*time.Minute, 60); fewest < 190 || most > 210 {
		t.Errorf("afterwards %d to %d probes in each second", fewest, most)
	}
}

// Claim: A clock that steps back delays no probe by more than half an interval, or one UnknownInterval.
// Code: ProbeSchedule.at
//
// Cases: B22.
func TestProbeSchedule_AClockThatStepsBackFreezesNothing(t *testing.T) {
	s := newSchedule(t, health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{Interval: 10 * time.Second}, Seed: 3})
	for id := range uint64(20) {
		if err := s.Add(id, dawn); err != nil {
			t.Fatal(err)
		}
	}
	play(t, s, 0, 25*time.Second, passes)
	for _, step := range []time.Duration{-time.Second, -time.Hour} {
		sent := play(t, s, 25*time.Second+step, 70*time.Second+step, passes)
		for id := range uint64(20) {
			last := 25*time.Second + step
			for _, at := range append(sent[id], 70*time.Second+step) {
				if at-last > 15*time.Second {
					t.Errorf("after a step of %v, %d is not probed for %v", step, id, at-last)
				}
				last = at
			}
		}
	}
	// A pause makes all due, and they find their places again.
	sent := play(t, s, time.Hour, time.Hour+time.Minute, passes)
	if fewest, most := spread(sent, time.Hour+20*time.Second, time.Hour+time.Minute, 4); fewest < 18 || most > 22 {
		t.Errorf("after a pause %d to %d probes in each ten seconds", fewest, most)
	}
}

func TestProbeSchedule_ASeedReplaysAndNoneDoesNot(t *testing.T) {
	run := func(seed uint64) string {
		s := newSchedule(t, health.ProbeScheduleConfig{Seed: seed, Health: health.ActiveHealthConfig{Jitter: 50}})
		for id := range uint64(5) {
			if err := s.Add(id, dawn); err != nil {
				t.Fatal(err)
			}
		}
		return fmt.Sprint(play(t, s, 0, time.Minute, passes))
	}
	first, again, other, unseeded, once := run(1), run(1), run(2), run(0), run(0)
	if first != again || first == other || unseeded == once {
		t.Errorf("seed 1 gives %s and %s, 2 gives %s, none gives %s and %s", first, again, other, unseeded, once)
	}
}

func TestProbeSchedule_RefusesWhatIsNotThere(t *testing.T) {
	s := newSchedule(t, health.ProbeScheduleConfig{})
	if _, wait, ok := s.Next(dawn); ok || wait >= 0 {
		t.Errorf("a schedule without members: %v, %v", wait, ok)
	}
	if _, counts := s.End(health.ScheduledProbe{}, health.ProbePassed, false, dawn); counts {
		t.Error("the zero ScheduledProbe counts")
	}
	if _, there := s.State(1, dawn); there || s.Remove(1) {
		t.Error("nobody is there")
	}
	if err := s.Force(1, health.Healthy, dawn); !errors.Is(err, health.ErrUnknownMember) {
		t.Error(err)
	}
	if err := s.Add(1, dawn); err != nil {
		t.Fatal(err)
	}
	if err := s.Force(1, 3, dawn); !errors.Is(err, health.ErrOutOfRange) {
		t.Error(err)
	}
	if state, _ := s.State(1, dawn); state.Condition != health.Unknown || state.Due != 0 {
		t.Errorf("a refused Force leaves %+v", state)
	}
}

func TestNewProbeSchedule_RefusesBadSettings(t *testing.T) {
	for field, cfg := range map[string]health.ProbeScheduleConfig{
		"MaxRunning":      {MaxRunning: -1},
		"Health.Interval": {Health: health.ActiveHealthConfig{Interval: math.MaxInt64}},
	} {
		_, err := health.NewProbeSchedule(cfg)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Field != field || !errors.Is(err, health.ErrOutOfRange) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, d := range []time.Duration{1, 2, 3, 100 * 365 * 24 * time.Hour} {
		s := newSchedule(t, health.ProbeScheduleConfig{Seed: 1, Health: health.ActiveHealthConfig{
			Interval: d, UnhealthyInterval: d, UnknownInterval: d, Hold: d, HealthyThreshold: 1, UnhealthyThreshold: 1,
		}})
		if err := s.Add(1, dawn); err != nil {
			t.Fatal(err)
		}
		probe, _, _ := s.Next(dawn)
		state, counts := s.End(probe, health.ProbePassed, false, dawn)
		if !counts || state.Due < max(1, d/2) || state.Due-d/2 > d {
			t.Errorf("an interval of %v: %+v, %v", d, state, counts)
		}
	}
}

func TestProbeSchedule_AllocatesNothing(t *testing.T) {
	s := newSchedule(t, health.ProbeScheduleConfig{})
	for id := range uint64(100) {
		if err := s.Add(id, dawn); err != nil {
			t.Fatal(err)
		}
	}
	now := dawn
	if n := testing.AllocsPerRun(1000, func() {
		probe, wait, ok := s.Next(now)
		if ok {
			s.End(probe, health.ProbePassed, false, now)
		} else {
			now = now.Add(wait)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkProbeSchedule_TenThousandMembers(b *testing.B) {
	s := newSchedule(b, health.ProbeScheduleConfig{})
	for id := range uint64(10_000) {
		if err := s.Add(id, dawn); err != nil {
			b.Fatal(err)
		}
	}
	now := dawn
	b.ReportAllocs()
	for b.Loop() {
		probe, wait, ok := s.Next(now)
		for ; !ok; probe, wait, ok = s.Next(now) {
			now = now.Add(wait)
		}
		s.End(probe, health.ProbePassed, false, now)
	}
}
