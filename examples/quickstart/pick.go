package main

import (
	"fmt"
	"io"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// pick makes one decision without any HTTP: sample, compile, pick, admit, and say
// why.
func pick(out io.Writer) error {
	loads := []*poise.InFlight{poise.NewInFlight(100), poise.NewInFlight(100)}
	view, err := poise.NewView([]poise.Candidate{
		poise.Sample{ID: "worker-a", Load: loads[0]},
		poise.Sample{ID: "worker-b", Load: loads[1]},
		poise.Sample{ID: "worker-c", Status: poise.Draining},
	})
	if err != nil {
		return err
	}
	picker, err := new(policy.RoundRobin).Prepare(view)
	if err != nil {
		return err
	}
	var why poise.Decision
	selection, err := picker.Pick(poise.Query{Why: &why})
	if err != nil {
		return err
	}
	index, err := view.Index(selection)
	if err != nil {
		return err
	}
	lease, err := loads[index].Acquire()
	if err != nil {
		return err
	}
	defer lease.Release()
	fmt.Fprintln(out, why)
	return nil
}
