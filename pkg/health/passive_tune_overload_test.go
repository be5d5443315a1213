package health_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func steps(capacity float64, width time.Duration, factors ...float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		return capacity * factors[min(int(at/width), len(factors)-1)]
	}
}

func okIn(f *simFleet, from, to int) (ok, all int) {
	for i := from; i < to && i < len(f.result.calls); i++ {
		all += f.result.calls[i]
		ok += f.result.calls[i] - f.result.failed[i]
	}
	return ok, all
}

// TestTuneOverload prints the tables. POISE_TUNE=seeds.
func TestTuneOverload(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("POISE_TUNE"))
	if seeds == 0 {
		t.Skip()
	}
	base, _ := strconv.Atoi(os.Getenv("POISE_BASE"))
	only := os.Getenv("POISE_ONLY")
	for _, kind := range []struct {
		name             string
		queues, abandons bool
		timeout          time.Duration
		deadline         time.Duration
	}{
		{"shed", false, false, 0, 0},
		{"queue-abandon", true, true, 300 * time.Millisecond, 0},
		{"queue-zombie", true, false, 300 * time.Millisecond, 0},
		{"queue-abandon-deadline1", true, true, 0, time.Second},
		{"queue-zombie-deadline1", true, false, 0, time.Second},
	} {
		if only != "" && only != kind.name {
			continue
		}
		for _, service := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
			for _, fixed := range []bool{false, true} {
				for _, factor := range []float64{1.1, 1.3, 2, 3} {
					const n, slots = 10, 4
					capacity := n * slots / service.Seconds()
					var servers []serverSetup
					for range n {
						servers = append(servers, serverSetup{
							mood: always(mood{}), slots: slots, queues: kind.queues, abandons: kind.abandons, service: service, fixed: fixed,
						})
					}
					for policy := range policyKinds {
						var ok, all [4][3]int
						var wrong int
						var causes [6]int
						for seed := range seeds {
							for mode := range 4 {
								setup := fleetSetup{
									seed: uint64(base + seed), policy: policy, rate: steps(capacity, 10*time.Second, factor, 0.8),
									duration: 20 * time.Second, servers: servers, timeout: kind.timeout, deadline: kind.deadline,
								}
								switch mode {
								case 0: // ladder
								case 1: // ladder without retry
									setup.noRetry = true
								case 2: // policy alone
									setup.off, setup.noRetry = true, true
								case 3: // rotation
									setup.off, setup.noRetry, setup.policy = true, true, roundRobin
								}
								f := runFleet(t, setup)
								for i, part := range [][2]int{{0, 10}, {10, 13}, {13, 20}} {
									o, a := okIn(f, part[0], part[1])
									ok[mode][i] += o
									all[mode][i] += a
								}
								if mode == 0 {
									wrong += f.result.soundEjected
									for i, c := range f.result.cause {
										causes[i] += c
									}
								}
							}
						}
						fail := func(mode, part int) float64 {
							return 100 * (1 - float64(ok[mode][part])/float64(all[mode][part]))
						}
						verdict := "ok  "
						if float64(ok[0][0]) < 0.97*float64(ok[2][0]) || fail(0, 2) > fail(2, 2)+0.5 {
							verdict = "BAD "
						}
						fmt.Printf(verdict+"%-22s %5v fixed=%-5t x%.1f %-12s | goodput/policy %.3f noretry %.3f /rotation %.3f | fail over %5.1f (%5.1f %5.1f) next3s %5.2f (%5.2f %5.2f) after %5.2f nr %5.2f (%5.2f %5.2f) | wrong %d %v\n",
							kind.name, service, fixed, factor, policy,
							float64(ok[0][0])/float64(ok[2][0]), float64(ok[1][0])/float64(ok[2][0]), float64(ok[0][0])/float64(ok[3][0]),
							fail(0, 0), fail(2, 0), fail(3, 0), fail(0, 1), fail(2, 1), fail(3, 1), fail(0, 2), fail(1, 2), fail(2, 2), fail(3, 2), wrong, causes[1:])
					}
				}
			}
		}
	}
}
