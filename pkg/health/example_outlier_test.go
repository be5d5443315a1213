package health_test

import (
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func ExampleOutcomeWindow() {
	now := time.Unix(0, 0)
	window, err := health.NewOutcomeWindow(health.OutcomeWindowConfig{Capacity: 10, HalfLife: 10 * time.Second}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		window.Record(poise.Success, now)
		window.Record(poise.Failure, now)
	}
	fmt.Println(window.Penalty(now))

	now = now.Add(20 * time.Second) // nobody calls it meanwhile
	load, err := window.Load(now)
	fmt.Println(window.Penalty(now), time.Duration(load), err)

	// Output:
	// 0.5
	// 0.125 625ms <nil>
}

func ExampleOutlierController() {
	now := time.Unix(0, 0)
	outliers, err := health.NewOutlierController(health.OutlierControllerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	members := []health.OutlierMember{{Subject: outliers.Subject()}, {Subject: outliers.Subject()}}

	// A call: begun before it is sent, and recorded when it has ended.
	sweep := false
	for range 5 {
		call := members[0].Subject.Begin()
		sweep = call.Record(poise.Failure, health.FailureKindOf(502, nil))
	}

	// The loop: when Record asks for it, when Wait is over, when members change.
	if sweep {
		swept, err := outliers.Sweep(now, members, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, change := range swept.Changes {
			fmt.Println("member", change.Index, "ejected:", change.Ejected, "for:", change.Cause)
		}
	}
	fmt.Println(members[0].Subject.Excluded(), "and", members[1].Subject.Excluded())

	// Output:
	// member 0 ejected: true for: gateway failures in a row
	// outlier and eligible
}

func ExampleWithHealth() {
	now := time.Unix(0, 0)
	active, err := health.NewActiveHealth(health.ActiveHealthConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	circuit, err := health.NewCircuit(health.CircuitConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	outliers, err := health.NewOutlierController(health.OutlierControllerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	circuit.ForceOpen(now)
	view, err := poise.NewView([]poise.Candidate{
		health.WithHealth{
			Candidate: poise.Sample{ID: "a", Priority: 1, Locality: "west"},
			Active:    active, Circuit: circuit, Outlier: outliers.Subject(), Now: now,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(view.Reason(0))

	// Output:
	// circuit open
}
