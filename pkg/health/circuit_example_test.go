package health_test

import (
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func ExampleCircuit() {
	circuit, err := health.NewCircuit(health.CircuitConfig{
		Failures: 2,
		OpenFor:  10 * time.Second,
		Observer: func(e health.CircuitEvent) { fmt.Printf("%s, %s\n", e.To, e.Cause) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	call := func(outcome poise.Outcome) {
		permit, err := circuit.Acquire(now)
		var refused *health.CircuitError
		if errors.As(err, &refused) {
			fmt.Println("refused:", refused.Err)
			return
		}
		// The call would be made here, and would end the permit on every path.
		if err := circuit.End(permit, outcome, now); err != nil {
			fmt.Println("too late:", err)
		}
	}
	call(poise.Failure)
	call(poise.Cancelled) // says nothing
	call(poise.Failure)
	call(poise.Success)

	wait, _ := circuit.NextChange(now) // when a control loop should look again
	now = now.Add(wait)
	fmt.Println("available:", circuit.Available(now))
	call(poise.Success)

	// Output:
	// open, failures in a row
	// refused: health: circuit is open
	// available: true
	// half-open, time open is over
	// closed, trials succeeded
}
