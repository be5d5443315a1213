//go:build !race

// One goroutine counts here, so the race detector would see nothing and take long.

package policy_test

import (
	"math"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Results of the literature that two choices must reproduce. All runs are seeded.

// Mitzenmacher 2001: n balls in n bins by two choices fill no bin beyond about
// log log n. For 4096 the fullest holds 3 in about 97 trials of 100 and 4 in the
// others; one choice gives 5 to 8.
func TestPowerOfTwoChoices_FillsBinsAsThePaperSays(t *testing.T) {
	const bins, trials = 4096, 60
	p := newPowerOfTwoChoices(t, 1)
	three := 0
	for trial := range trials {
		samples := backends(bins)
		d := open(t, p, samples)
		fullest := uint64(0)
		for range bins {
			load := d.view.InFlight(d.pick(t, poise.Query{}))
			if _, err := load.Acquire(); err != nil {
				t.Fatal(err)
			}
			fullest = max(fullest, load.Current())
		}
		switch fullest {
		case 3:
			three++
		case 4:
		default:
			t.Fatalf("trial %d: the fullest of %d bins holds %d", trial, bins, fullest)
		}
	}
	if three*10 <= trials*9 {
		t.Errorf("the fullest holds 3 in %d of %d trials, want more than 90 %%", three, trials)
	}
}

// meanTime is the mean time in system of jobs that arrive at n queues of one
// exponential server each, as fast as lambda of what they serve, and join the
// queue the policy picks.
func meanTime(t *testing.T, p poise.Policy, n int, lambda float64, arrivals int) float64 {
	t.Helper()
	d := open(t, p, backends(n))
	chance := poise.NewGenerator(99)
	queues := make([][]*poise.Lease, n)
	var busy []int // queues with work, in any order
	jobs, jobTime, elapsed := 0, 0.0, 0.0
	rate := lambda * float64(n)
	warm := arrivals / 10
	for arrived := 0; arrived < arrivals; {
		total := rate + float64(len(busy))
		if arrived >= warm {
			jobTime += float64(jobs) / total
			elapsed += 1 / total
		}
		if float64(chance.Uint64()>>11)/(1<<53)*total < rate {
			arrived++
			jobs++
			i := d.pick(t, poise.Query{})
			lease, err := d.view.InFlight(i).Acquire()
			if err != nil {
				t.Fatal(err)
			}
			if len(queues[i]) == 0 {
				busy = append(busy, i)
			}
			queues[i] = append(queues[i], &lease)
			continue
		}
		jobs--
		at := int(chance.Below(uint64(len(busy))))
		i := busy[at]
		last := len(queues[i]) - 1
		queues[i][last].Release()
		queues[i] = queues[i][:last]
		if last == 0 {
			busy[at] = busy[len(busy)-1]
			busy = busy[:len(busy)-1]
		}
	}
	return jobTime / elapsed / rate
}

// The supermarket model: a hundred queues, join the shorter of two. The times are
// those of a simulation of a hundred queues, in mean service times; the limit of
// infinitely many queues is a little less, and drawing the two with replacement a
// little more. One choice takes 1/(1-lambda).
func TestPowerOfTwoChoices_WaitsAsTheSupermarketModelSays(t *testing.T) {
	for _, row := range []struct {
		lambda, want float64
		arrivals     int // the fuller the queues, the slower they forget
	}{
		{0.50, 1.2695, 200_000}, {0.80, 1.9638, 300_000}, {0.95, 3.4565, 1_000_000},
	} {
		got := meanTime(t, newPowerOfTwoChoices(t, 1), 100, row.lambda, row.arrivals)
		if math.Abs(got/row.want-1) > 0.02 {
			t.Errorf("at load %v a job takes %.4f, want %.4f within 2 %%", row.lambda, got, row.want)
		}
	}
	if got := meanTime(t, newRandom(t, 1), 100, 0.5, 300_000); math.Abs(got/2-1) > 0.02 {
		t.Errorf("one choice at load 0.5: a job takes %.4f, want 2 within 2 %%", got)
	}
}

// The published experiment, as for LeastLoaded: 298 failures in 60000.
func TestPowerOfTwoChoices_AvoidsASlowServer(t *testing.T) {
	if failed := slowServer(t, newPowerOfTwoChoices(t, 1)); failed == 0 || failed > 600 {
		t.Errorf("%d of 60000 requests failed, want about 298: 99 %% and more succeed", failed)
	}
}
