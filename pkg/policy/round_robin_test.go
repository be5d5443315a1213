package policy_test

import (
	"slices"
	"sync"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Claim: A pick starts at the cursor modulo the number of candidates and takes the first eligible one, going round.
func TestRoundRobin_TakesTheFirstEligibleFromTheCursor(t *testing.T) {
	for _, row := range []struct {
		name  string
		ready []bool
		want  []int
	}{
		{"one", []bool{true}, []int{0, 0, 0}},
		{"all of three", []bool{true, true, true}, []int{0, 1, 2, 0, 1, 2, 0}},
		{"ready, draining, ready", []bool{true, false, true}, []int{0, 2, 0, 2, 0}},
		{"only the last", []bool{false, false, true}, []int{2, 2, 2}},
		// The first after a gap gets the turns of the gap.
		{"a gap of two", []bool{true, false, false, true}, []int{0, 3, 0, 3}},
	} {
		samples := backends(len(row.ready))
		for i, ready := range row.ready {
			if !ready {
				samples[i].Status = poise.Draining
			}
		}
		if got := open(t, new(policy.RoundRobin), samples).picks(t, len(row.want)); !slices.Equal(got, row.want) {
			t.Errorf("%s: picks %v, want %v", row.name, got, row.want)
		}
	}
}

// Claim: A successful pick leaves the cursor one past the candidate it took; a failed one leaves it.
func TestRoundRobin_MovesItsCursorOnSuccessOnly(t *testing.T) {
	samples := backends(4)
	d := open(t, new(policy.RoundRobin), samples)
	var got []int
	for _, tried := range [][]int{
		nil,          // 0, cursor 1
		{1},          // passes over 1: 2, cursor 3
		{0, 1, 2, 3}, // fails, cursor 3
		nil,          // 3, cursor 4
		{0, 1},       // 2, cursor 3
		{3},          // 0, cursor 1
		nil,          // 1
	} {
		index, err := d.try(poise.Query{Tried: retried(samples, tried...)})
		if err != nil && err != poise.ErrAllTried {
			t.Fatal(err)
		}
		got = append(got, index)
	}
	if want := []int{0, 2, -1, 3, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("picks %v, want %v", got, want)
	}
}

// Claim: The cursor outlives the View.
//
// Cases: B01.
func TestRoundRobin_CursorOutlivesTheView(t *testing.T) {
	t.Run("harmless changes", func(t *testing.T) {
		p := new(policy.RoundRobin)
		samples := named("A", "B", "C", "D")
		counts := make([]int, 4)
		for k := range 1000 {
			w, err := poise.NewWeight(uint32(k + 1))
			if err != nil {
				t.Fatal(err)
			}
			samples[k%4].Weight = w
			counts[open(t, p, samples).pick(t, poise.Query{})]++
		}
		if want := []int{250, 250, 250, 250}; !slices.Equal(counts, want) {
			t.Errorf("shares %v, want %v", counts, want)
		}
	})
	t.Run("growth, loss and an empty View between", func(t *testing.T) {
		p := new(policy.RoundRobin)
		got := open(t, p, backends(3)).picks(t, 2) // 0 1, cursor 2
		if _, err := open(t, p, nil).try(poise.Query{}); err != poise.ErrEmpty {
			t.Fatal(err)
		}
		got = append(got, open(t, p, backends(5)).picks(t, 3)...) // 2 3 4, cursor 5
		got = append(got, open(t, p, backends(4)).picks(t, 2)...) // 5 mod 4: 1 2
		if want := []int{0, 1, 2, 3, 4, 1, 2}; !slices.Equal(got, want) {
			t.Errorf("picks %v, want %v", got, want)
		}
	})
	t.Run("two Pickers share it", func(t *testing.T) {
		p := new(policy.RoundRobin)
		a, b := open(t, p, backends(3)), open(t, p, backends(3))
		got := []int{a.pick(t, poise.Query{}), b.pick(t, poise.Query{}), a.pick(t, poise.Query{}), b.pick(t, poise.Query{})}
		if want := []int{0, 1, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("picks %v, want %v", got, want)
		}
	})
}

// Cases: B01.
func TestRoundRobin_SeedsSpreadAFleet(t *testing.T) {
	counts := make([]int, 4)
	for seed := range uint64(1000) {
		counts[open(t, newRoundRobin(t, seed+1), backends(4)).pick(t, poise.Query{})]++
	}
	for i, count := range counts {
		if count < 195 || count > 305 {
			t.Errorf("candidate %d is the first of %d balancers in 1000, want 195 to 305", i, count)
		}
	}
	if first := open(t, newRoundRobin(t, 0), backends(4)).pick(t, poise.Query{}); first != 0 {
		t.Errorf("seed 0 starts at %d, want 0", first)
	}
}

// Claim: Parallel picks on one View take exactly the turns that as many picks in sequence would.
func TestRoundRobin_SharesExactlyInParallel(t *testing.T) {
	const goroutines, picks = 8, 5001
	samples := backends(7)
	samples[2].Excluded = poise.ExcludedUnhealthy
	samples[3].Status = poise.Draining
	for _, row := range []struct {
		name    string
		samples []poise.Sample
		tried   *poise.Tried
	}{
		{"all eligible", backends(7), nil},
		{"some eligible", samples, nil},
		{"some tried", samples, retried(samples, 0, 2)},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := poise.Query{Tried: row.tried}
			want := make([]int, 7)
			sequential := open(t, new(policy.RoundRobin), row.samples)
			for range goroutines * picks {
				want[sequential.pick(t, q)]++
			}
			p := new(policy.RoundRobin)
			d := open(t, p, row.samples)
			var mu sync.Mutex
			var wg sync.WaitGroup
			got := make([]int, 7)
			begin := make(chan struct{})
			for range goroutines {
				wg.Go(func() {
					<-begin
					mine := make([]int, 7)
					for range picks {
						index, err := d.try(q)
						if err != nil {
							t.Errorf("Pick: %v", err)
							return
						}
						mine[index]++
					}
					mu.Lock()
					defer mu.Unlock()
					for i := range got {
						got[i] += mine[i]
					}
				})
			}
			close(begin)
			wg.Wait()
			if !slices.Equal(got, want) {
				t.Errorf("shares %v, want %v", got, want)
			}
		})
	}
}

// A published experiment: 1000 requests a second over eleven servers, of which one
// answers late for half a minute. Turn by turn it gets exactly its share of those:
// 30000/11 of 60000 requests fail, 95.45 % succeed.
func TestRoundRobin_GivesASlowServerItsFullShare(t *testing.T) {
	failed := slowServer(t, new(policy.RoundRobin))
	if failed != 2727 {
		t.Errorf("%d requests met the slow server, want 2727", failed)
	}
}
