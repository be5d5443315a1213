package policy_test

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// What the load-aware policies make of PeakEWMA.

var dawn = time.Unix(1_700_000_000, 0)

// peaks returns ready candidates with a PeakEWMA each.
func peaks(t reporter, n int, initial, halfLife time.Duration) ([]poise.Sample, []*poise.PeakEWMA) {
	t.Helper()
	samples, loads := backends(n), make([]*poise.PeakEWMA, n)
	for i := range samples {
		e, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: initial, HalfLife: halfLife}, dawn)
		if err != nil {
			t.Fatalf("NewPeakEWMA: %v", err)
		}
		samples[i].Load, loads[i] = e, e
	}
	return samples, loads
}

// answer is a call that ends at an instant.
type answer struct {
	at   time.Duration
	call *poise.TimedLease
}

type answers []answer

func (a answers) Len() int           { return len(a) }
func (a answers) Less(i, j int) bool { return a[i].at < a[j].at }
func (a answers) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *answers) Push(x any)        { *a = append(*a, x.(answer)) }
func (a *answers) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// slowAnswers is the experiment of slowServer with the slow server answering, after
// 2 s, whom nobody waits for any more: that answer is a sample. It returns how many
// of the 60000 requests took longer than 1 s. The policy sees the cost, or only the
// calls in flight.
func slowAnswers(t *testing.T, p poise.Policy, cost bool) (late int) {
	t.Helper()
	samples, loads := peaks(t, 11, 200*time.Millisecond, 6931*time.Millisecond)
	for i := range samples {
		if !cost {
			samples[i].Load = loads[i].InFlight()
		}
	}
	d := open(t, p, samples)
	var work answers
	for now := time.Duration(0); now < time.Minute; now += time.Millisecond {
		for len(work) > 0 && work[0].at <= now {
			done := heap.Pop(&work).(answer)
			done.call.Done(poise.Success, dawn.Add(done.at))
		}
		index := d.pick(t, poise.Query{Now: dawn.Add(now)})
		took := 167 * time.Millisecond
		if index == 0 && now >= 15*time.Second && now < 45*time.Second {
			took = 2 * time.Second
			late++
		}
		call, err := loads[index].Start(dawn.Add(now))
		if err != nil {
			t.Fatal(err)
		}
		heap.Push(&work, answer{now + took, &call})
	}
	return late
}

func TestPeakEWMA_AvoidsASlowServerAsPublished(t *testing.T) {
	success := func(late int) float64 { return 100 * (1 - float64(late)/60_000) }
	turns := success(slowAnswers(t, new(policy.RoundRobin), false))
	count := success(slowAnswers(t, new(policy.LeastLoaded), false))
	two := success(slowAnswers(t, newPowerOfTwoChoices(t, 1), false))
	peakLeast := success(slowAnswers(t, new(policy.LeastLoaded), true))
	peakTwo := success(slowAnswers(t, newPowerOfTwoChoices(t, 1), true))
	text := fmt.Sprintf("round robin %.3f %%, least loaded %.3f %% and two choices %.3f %%, over PeakEWMA %.3f %% and %.3f %%",
		turns, count, two, peakLeast, peakTwo)
	if turns < 95.4 || turns > 95.5 || count < 99.3 || two < 99.3 || peakLeast < 99.85 || peakTwo < 99.85 {
		t.Error(text)
	}
	if turns >= min(count, two) || max(count, two) >= min(peakLeast, peakTwo) {
		t.Error("out of order:", text)
	}
	t.Log(text)
}

// failsFast makes 1000 calls in sequence: the first candidate answers in 100 ms,
// the second fails in 1 ms. It returns how many calls each got.
func failsFast(t *testing.T, p poise.Policy, initial time.Duration) (counts [2]int) {
	t.Helper()
	samples, loads := peaks(t, 2, initial, 10*time.Second)
	d := open(t, p, samples)
	now := dawn
	for range 1000 {
		index := d.pick(t, poise.Query{Now: now})
		counts[index]++
		call, err := loads[index].Start(now)
		if err != nil {
			t.Fatal(err)
		}
		if index == 0 {
			now = now.Add(100 * time.Millisecond)
			call.Done(poise.Success, now)
		} else {
			now = now.Add(time.Millisecond)
			call.Done(poise.Failure, now)
		}
	}
	return counts
}

// Cases: B17, Q7.
func TestPeakEWMA_AFastFailureDrawsNoTraffic(t *testing.T) {
	for name, p := range map[string]func() poise.Policy{
		"PowerOfTwoChoices": func() poise.Policy { return newPowerOfTwoChoices(t, 3) },
		"LeastLoaded":       func() poise.Policy { return new(policy.LeastLoaded) },
	} {
		for _, initial := range []time.Duration{100 * time.Millisecond, 150 * time.Millisecond, time.Second} {
			if got := failsFast(t, p(), initial); got[1] > got[0]*21/20 {
				t.Errorf("%s, initial %v: the failing one got %d, the other %d", name, initial, got[1], got[0])
			}
		}
		// What the doc of Initial warns of.
		if got := failsFast(t, p(), 10*time.Millisecond); got[1] < 900 {
			t.Errorf("%s: with an initial cost that is too low the failing one got only %d", name, got[1])
		}
	}
}

// Cases: E9, Q8: one that was slow once, or is new, is called again as soon as the
// others are busier than the initial cost.
func TestPeakEWMA_NobodyIsForgotten(t *testing.T) {
	samples, loads := peaks(t, 3, 200*time.Millisecond, time.Second)
	loads[0].Observe(time.Hour, dawn)
	for _, e := range loads[1:] {
		e.Observe(100*time.Millisecond, dawn.Add(time.Second))
	}
	p := new(policy.LeastLoaded)
	d := open(t, p, samples)
	at := dawn.Add(time.Minute)
	for _, e := range loads[1:] {
		e.Observe(100*time.Millisecond, at)
	}
	for k := range 4 {
		index := d.pick(t, poise.Query{Now: at})
		if (index == 0) != (k == 2) { // 200 ms, less a nanosecond, is next after 100 ms
			t.Errorf("pick %d took %d", k, index)
		}
		if _, err := loads[index].Start(at); err != nil {
			t.Fatal(err)
		}
	}
}

// Cases: PK4: loads are read at the instant of the query.
func TestLoadAwarePolicies_CompareCostsAtTheInstantOfTheQuery(t *testing.T) {
	samples, loads := peaks(t, 2, 10*time.Millisecond, time.Second)
	loads[0].Observe(time.Second, dawn)                              // long ago
	loads[1].Observe(100*time.Millisecond, dawn.Add(10*time.Second)) // just now
	for name, p := range map[string]poise.Policy{"LeastLoaded": new(policy.LeastLoaded), "PowerOfTwoChoices": newPowerOfTwoChoices(t, 1)} {
		d := open(t, p, samples)
		for after, want := range map[time.Duration]int{time.Second: 1, 10 * time.Second: 0} {
			var why poise.Decision
			if got := d.pick(t, poise.Query{Now: dawn.Add(after), Why: &why}); got != want {
				t.Errorf("%s after %v: picked %d: %s", name, after, got, why.String())
			}
			if d.pick(t, poise.Query{Now: dawn.Add(after)}) != want {
				t.Errorf("%s after %v: another pick without Why", name, after)
			}
		}
	}
}

func BenchmarkPickPeakEWMA(b *testing.B) {
	samples, loads := peaks(b, 64, 10*time.Millisecond, time.Second)
	for i, e := range loads {
		e.Observe(time.Duration(i)*time.Millisecond, dawn)
	}
	v := viewOf(b, samples)
	for _, p := range []struct {
		name   string
		policy poise.Policy
	}{{"LeastLoaded", new(policy.LeastLoaded)}, {"PowerOfTwoChoices", newPowerOfTwoChoices(b, 1)}} {
		b.Run("policy="+p.name+"/n=64", func(b *testing.B) {
			picker, err := p.policy.Prepare(v)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkPicks(b, picker, []poise.Query{{Now: dawn.Add(time.Second)}})
		})
	}
}
