package poise_test

import (
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

func ExamplePeakEWMA() {
	begin := time.Unix(0, 0)
	peak, err := poise.NewPeakEWMA(poise.PeakEWMAConfig{Initial: 200 * time.Millisecond, HalfLife: 10 * time.Second}, begin)
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := peak.Start(begin)
	if err != nil {
		fmt.Println(err) // at capacity
		return
	}
	load, err := peak.Load(begin.Add(time.Millisecond))
	fmt.Println("while it runs:", time.Duration(load), err)
	call.Done(poise.Success, begin.Add(300*time.Millisecond))
	fmt.Println("afterwards:", peak.Estimate(begin.Add(300*time.Millisecond)))
	fmt.Println("much later:", peak.Estimate(begin.Add(time.Hour)))
	// Output:
	// while it runs: 400ms <nil>
	// afterwards: 300ms
	// much later: 200ms
}
