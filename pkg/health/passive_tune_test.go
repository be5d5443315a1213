package health_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func constantRate(r float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return r }
}

func always(m mood) func(time.Duration) mood { return func(time.Duration) mood { return m } }

func kOfN(k, n int, bad mood) (s []serverSetup) {
	for i := range n {
		m := mood{}
		if i < k {
			m = bad
		}
		s = append(s, serverSetup{mood: always(m), service: 20 * time.Millisecond})
	}
	return s
}

// TestTune prints the tables. POISE_TUNE=seeds.
func TestTune(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("POISE_TUNE"))
	if seeds == 0 {
		t.Skip()
	}
	base, _ := strconv.Atoi(os.Getenv("POISE_BASE"))
	only := os.Getenv("POISE_ONLY")
	for _, fault := range []struct {
		name              string
		m                 mood
		timeout, deadline time.Duration
	}{
		{"refuse", mood{kind: refuses}, 0, 0},
		{"503", mood{kind: busy}, 0, 0},
		{"500", mood{kind: fails, share: 1}, 0, 0},
		{"hang-timeout", mood{kind: hangs}, time.Second, 0},
		{"hang-deadline", mood{kind: hangs}, 0, time.Second},
	} {
		if only != "" && only != fault.name {
			continue
		}
		for _, kn := range [][2]int{{1, 2}, {1, 3}, {2, 3}, {4, 5}, {9, 10}, {1, 10}, {1, 100}, {99, 100}} {
			for policy := range policyKinds {
				line := fmt.Sprintf("%-14s %2d/%3d %-12s", fault.name, kn[0], kn[1], policy)
				for _, posts := range []bool{false, true} {
					settle := 2
					if fault.m.kind == hangs {
						settle = 5
					}
					settle = max(settle, kn[1]*10/100) // calls
					if kn[1] == 100 {
						settle = max(settle, 10)
					}
					if fault.m.kind == refuses {
						settle = 2
					}
					var early, earlyCalls, late, lateCalls, wrong, sent, trials int
					for seed := range seeds {
						f := runFleet(t, fleetSetup{
							seed: uint64(base + seed), policy: policy, posts: posts, rate: constantRate(100), duration: time.Duration(settle+20) * time.Second,
							servers: kOfN(kn[0], kn[1], fault.m), timeout: fault.timeout, deadline: fault.deadline,
						})
						for i, n := range f.result.calls {
							if i < settle {
								early += f.result.failed[i]
								earlyCalls += n
							} else {
								late += f.result.failed[i]
								lateCalls += n
							}
						}
						wrong += f.result.soundEjected
						sent += f.result.sent
						trials += f.result.trials
					}
					line += fmt.Sprintf(" | early %6.2f%% late %6.3f%% wrong %d", 100*float64(early)/float64(earlyCalls), 100*float64(late)/float64(lateCalls), wrong)
				}
				fmt.Println(line)
			}
		}
	}
}
