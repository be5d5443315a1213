package health_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/copyleftdev/poise-go/pkg/health"
)

func ExampleActiveHealth() {
	active, err := health.NewActiveHealth(health.ActiveHealthConfig{
		Interval: 10 * time.Second, UnhealthyInterval: time.Second, UnhealthyThreshold: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, succeeded := range []bool{true, true, false, false} {
		now = now.Add(active.Due(now))
		reservation, _, err := active.Reserve(now, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		state, _ := active.Complete(reservation, succeeded, now)
		fmt.Println(now.Format(time.TimeOnly), state.Condition, state.Excluded)
	}
	fmt.Println("next in", active.Due(now))

	// Output:
	// 12:00:00 unknown eligible
	// 12:00:00 healthy eligible
	// 12:00:10 healthy eligible
	// 12:00:20 unhealthy unhealthy
	// next in 1s
}

func ExampleProber() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	prober, err := health.NewProber(health.ProberConfig{
		Schedule: health.ProbeScheduleConfig{Health: health.ActiveHealthConfig{Interval: 10 * time.Second}},
		Observe: func(r health.ProbeReport) {
			fmt.Println("member", r.Member, r.Result, r.Err, r.State.Condition)
			if r.State.Condition == health.Unhealthy {
				cancel()
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	refused := errors.New("connection refused")
	if err := prober.Add(7, func(context.Context) error { return refused }); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prober.Run(ctx))

	// Output:
	// member 7 failed connection refused unknown
	// member 7 failed connection refused unknown
	// member 7 failed connection refused unhealthy
	// context canceled
}
