package observe_test

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// counts returns all numbers of a Snapshot but the histograms, by name and value.
func counts(m *observe.Metrics) map[string]uint64 {
	all := map[string]uint64{}
	for c := range m.Snapshot().Counts() {
		all[c.Name+"/"+c.Value] = c.Number
	}
	return all
}

// ended returns an attempt that took so long.
func ended(outcome poise.Outcome, took time.Duration) observe.Ended {
	return observe.Ended{ID: "a", Attempt: 1, Result: poise.Result{Outcome: outcome}, Began: time.Unix(1, 0), At: time.Unix(1, 0).Add(took)}
}
