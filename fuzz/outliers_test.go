package fuzz

import (
	"math"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// The twin keeps a list of what was recorded, each with its age in half-lives, and
// ages all of them whenever time passes.
//
// Claim: The window holds the last Capacity observations, whatever their order in time.
//
// Claim: The weight of a failure is halved by each HalfLife that passes after it.
//
// Claim: An instant more than ten half-lives before that of the last observation says that the clock was set back, and leaves none of the weights held before.
//
// Cases: B22, B25, G19.
func FuzzOutcomeWindow(f *testing.F) {
	f.Add(uint8(2), uint8(0), uint8(1), int64(time.Second), []byte{1, 0, 0, 0, 2, 0, 2, 255})
	f.Add(uint8(9), uint8(3), uint8(7), int64(1), []byte{1, 16, 1, 16, 8, 200, 1, 3, 9, 0, 0, 1})
	f.Add(uint8(1), uint8(0), uint8(0), int64(0), []byte{1, 16, 10, 255, 10, 255, 1, 0, 3, 0})
	f.Fuzz(func(t *testing.T, capacity, minimum, weight uint8, halfLife int64, script []byte) {
		cfg := health.OutcomeWindowConfig{
			Capacity: int(capacity%16) + 1, FailureWeight: uint32(weight) + 1, OverloadWeight: 2,
			HalfLife: time.Duration(uint64(halfLife) % uint64(time.Hour)),
		}
		cfg.MinimumSamples = int(minimum)%cfg.Capacity + 1
		now := time.Unix(1<<32, 0)
		w, err := health.NewOutcomeWindow(cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		type held struct {
			outcome poise.Outcome
			age     float64
		}
		var window []held
		last := now // of the newest observation
		unit := max(cfg.HalfLife/16, 1)
		for i := 0; i+1 < len(script); i += 2 {
			steps := time.Duration(script[i+1])
			switch op := script[i] % 12; {
			case op >= 10:
				now = now.Add(-steps * steps * unit / 16)
			default:
				now = now.Add(steps * unit)
				if outcome := poise.Outcome(op); outcome <= poise.Overloaded {
					passed := 0.0
					if cfg.HalfLife > 0 {
						passed = float64(now.Sub(last)) / float64(cfg.HalfLife)
					}
					switch {
					case passed < -10:
						passed = math.Inf(1)
					case passed < 0:
						passed = 0
					}
					if passed > 0 {
						last = now
					}
					for k := range window {
						window[k].age += passed
					}
					window = append(window, held{outcome, 0})
					window = window[max(0, len(window)-cfg.Capacity):]
				}
				if op == 9 {
					w.Clear()
					window = nil
				} else {
					w.Record(poise.Outcome(op), now)
				}
			}
			want, passed := 0.0, 0.0
			if cfg.HalfLife > 0 {
				passed = float64(now.Sub(last)) / float64(cfg.HalfLife)
			}
			if passed < -10 {
				passed = math.Inf(1)
			}
			for _, o := range window {
				switch o.outcome {
				case poise.Failure:
					want += float64(cfg.FailureWeight) * math.Exp2(-o.age-max(passed, 0))
				case poise.Overloaded:
					want += 2 * math.Exp2(-o.age-max(passed, 0))
				}
			}
			want /= max(1, float64(len(window)))
			if len(window) < cfg.MinimumSamples {
				want = 0
			}
			stats := w.Stats(now)
			if got := stats.Penalty; math.Abs(got-want) > 1e-9*float64(cfg.FailureWeight+2) {
				t.Fatalf("step %d: the penalty is %v, want %v", i/2, got, want)
			}
			if stats.Samples() != len(window) {
				t.Fatalf("step %d: it holds %d outcomes, want %d", i/2, stats.Samples(), len(window))
			}
		}
	})
}

// The fuzz target knows of the limits and of the time of each ejection alone; the
// twins of pkg/health work out who is to be ejected.
//
// Claim: No Sweep leaves more of its members ejected than MaxEjectedPercent of them, rounded down, or one.
//
// Claim: No Sweep leaves a member ejected who could serve otherwise while fewer than MinimumHealthy members serve.
//
// Claim: The first Sweep after the time of an ejection readmits, and no Sweep before, but to keep the limits.
//
// Claim: A clock that steps back costs at most one more ejection time and one more Interval.
//
// Cases: B22, B32, B33, E10.
func FuzzOutlierController(f *testing.F) {
	f.Add(uint8(50), uint8(1), uint8(4), []byte{0, 0, 0, 0, 6, 0, 8, 1, 6, 0, 7, 200, 6, 0})
	f.Add(uint8(100), uint8(2), uint8(9), []byte{0, 1, 0, 2, 0, 3, 6, 0, 4, 1, 6, 0, 9, 255, 6, 0, 5, 0, 6, 1})
	f.Fuzz(func(t *testing.T, percent, healthy, members uint8, script []byte) {
		r := &ejections{
			T: t, percent: int(percent)%100 + 1, healthy: int(healthy%4) + 1,
			base: 64, now: time.Unix(1<<32, 0), chance: poise.NewGenerator(uint64(members)),
		}
		var err error
		r.controller, err = health.NewOutlierController(health.OutlierControllerConfig{
			Detector: health.OutlierConfig{
				FailuresInRow: 2, MaxEjectedPercent: r.percent, MinimumHealthy: r.healthy, MinimumSamples: 3, MinimumMembers: 3, Factor: 1,
			},
			Interval: 100, BaseTime: r.base, MaxTime: 4 * r.base, Jitter: 8,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range members % 12 {
			r.join()
		}
		for i := 0; i+1 < len(script); i += 2 {
			r.step(script[i]%11, int(script[i+1]))
		}
	})
}

// ejections is what is to be seen of an OutlierController.
type ejections struct {
	*testing.T
	controller       *health.OutlierController
	percent, healthy int
	base             time.Duration
	now              time.Time
	chance           *poise.Generator
	members          []*ejectable
}

type ejectable struct {
	health.OutlierMember
	since time.Time
	wait  time.Duration // 0: not ejected
	open  []health.OutlierCall
}

func (r *ejections) join() {
	r.members = append(r.members, &ejectable{OutlierMember: health.OutlierMember{Subject: r.controller.Subject()}})
}

func (r *ejections) step(op byte, number int) {
	switch {
	case op == 6:
		r.sweep()
	case op == 7:
		r.now = r.now.Add(time.Duration(number))
	case op == 8:
		r.now = r.now.Add(-time.Duration(number * number / 16))
	case len(r.members) == 0 || op == 9 && len(r.members) < 16:
		r.join()
	default:
		at := number % len(r.members)
		m := r.members[at]
		switch op {
		case 0, 1: // calls that fail, calls that succeed
			for range number/16 + 1 {
				m.Subject.Begin().Record(poise.Outcome(1-op), health.FailureKind(number%4))
			}
		case 2:
			m.open = append(m.open, m.Subject.Begin())
		case 3:
			for _, call := range m.open {
				call.Record(poise.Failure, health.LocalFailure)
			}
			m.open = nil
		case 4:
			m.Unavailable = !m.Unavailable
		case 5:
			r.members = append(r.members[:at], r.members[at+1:]...)
		default:
			m.Subject.Begin().Record(poise.Cancelled, 0)
		}
	}
}

func (r *ejections) sweep() {
	list := make([]health.OutlierMember, len(r.members))
	for i, m := range r.members {
		list[i] = m.OutlierMember
	}
	s, err := r.controller.Sweep(r.now, list, r.chance)
	if err != nil {
		r.Fatal(err)
	}
	if s.Wait <= 0 || s.Wait > 100 {
		r.Fatalf("the next sweep is due in %v", s.Wait)
	}
	for _, m := range r.members {
		if r.now.Before(m.since) {
			m.since = r.now
		}
	}
	for _, change := range s.Changes {
		m := r.members[change.Index]
		over := r.now.Sub(m.since) >= m.wait
		switch {
		case change.Ejected != (m.wait == 0):
			r.Fatalf("%+v of a member that is ejected for %v", change, m.wait)
		case !change.Ejected && over == change.Early:
			r.Fatalf("%+v after %v of %v", change, r.now.Sub(m.since), m.wait)
		case change.Ejected && (change.For < r.base || change.For > 4*r.base+8 || m.Unavailable):
			r.Fatalf("%+v", change)
		}
		m.since, m.wait = r.now, change.For
	}
	out, serve, could := 0, 0, 0
	for i, m := range r.members {
		if ejected := m.Subject.Excluded() != poise.NotExcluded; ejected != (m.wait > 0) || ejected && r.now.Sub(m.since) >= m.wait {
			r.Fatalf("member %d: ejected is %t, after %v of %v", i, ejected, r.now.Sub(m.since), m.wait)
		}
		switch {
		case m.wait > 0 && !m.Unavailable:
			out, could = out+1, could+1
		case m.wait > 0:
			out++
		case !m.Unavailable:
			serve++
		}
	}
	if out != s.Ejected || out > max(1, r.percent*len(r.members)/100) || could > 0 && serve < r.healthy {
		r.Fatalf("%d of %d are ejected, of whom %d could serve, and %d serve", out, len(r.members), could, serve)
	}
}
