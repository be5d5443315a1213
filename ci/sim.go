package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// simResult is what the simulator writes about its runs.
type simResult struct {
	Scenarios int                 `json:"scenarios"`
	Random    int                 `json:"random"`
	Runs      int                 `json:"runs"`
	Calls     int                 `json:"calls"`
	Held      int                 `json:"held"`
	Open      int                 `json:"open"`
	Failures  []record.Failure    `json:"failures"`
	Chapters  []record.Simulation `json:"chapters"`
}

// simSeedsApart keeps the seeds of one SEED away from those of the next, and all of
// them from the small ones that defaults are tuned with.
const simSeedsApart = 1_000_000

// simFolder is where the simulator leaves its pictures, and the texts of random
// scenarios that failed.
const simFolder = "out/sim"

// sim tests the simulator itself, planted faults included, and then has it judge the
// scenarios of the repository and random ones.
func sim(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "sim")
	r, stop := cannot(pkgs, err, "there is no package in sim")
	if stop {
		return r
	}
	r.add(w.goTest(ctx, newStream(module), nil, paths(pkgs)...))
	files, err := filepath.Glob(filepath.Join(w.root, "sim/scenarios/*.txt"))
	if err != nil || len(files) == 0 {
		r.fail("sim/scenarios: no scenario", fmt.Sprint(err))
		return r
	}
	slices.Sort(files)
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		r.fail("make a folder", err.Error())
		return r
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "sim.exe")
	if _, err := w.exec.output(ctx, w.root, "go", "build", "-buildvcs=false", "-o", program, "./sim/cmd"); err != nil {
		r.fail("sim/cmd: build failed", err.Error())
		return r
	}
	r.add(w.simulated(ctx, program, files))
	return r
}

// simulated runs the program, and believes neither its exit code nor its result
// alone.
func (w *workspace) simulated(ctx context.Context, program string, files []string) result {
	r := result{counts: map[string]int{}}
	folder := filepath.Join(w.root, simFolder)
	if err := os.RemoveAll(folder); err != nil { // nothing of an earlier run counts
		r.fail("empty "+simFolder, err.Error())
		return r
	}
	var said strings.Builder
	exit, err := w.exec(ctx, command{dir: w.root, out: &said, err: &said, argv: append([]string{
		program, "-seed", fmt.Sprint(w.settings.seed * simSeedsApart), "-seeds", fmt.Sprint(w.settings.simSeeds),
		"-random", fmt.Sprint(w.settings.simRandom), "-out", folder, "-open", "sim/open.txt",
	}, files...)})
	b, readErr := os.ReadFile(filepath.Join(folder, "result.json"))
	var found simResult
	decodeErr := json.Unmarshal(b, &found)
	switch {
	case err != nil:
		r.fail("the simulator did not finish", err.Error()+"\n"+said.String())
		return r
	case readErr != nil || decodeErr != nil:
		r.fail("the simulator left no result", errors.Join(readErr, decodeErr).Error()+"\n"+said.String())
		return r
	}
	r.passed, r.failures = found.Held, found.Failures
	if exit != 0 && len(r.failures) == 0 {
		r.fail(fmt.Sprintf("the simulator ended with exit code %d although its result names no failure", exit), said.String())
	}
	r.counts["scenarios"], r.counts["random scenarios"] = found.Scenarios, found.Random
	r.counts["bounds not reached yet"] = found.Open
	r.counts["runs"], r.counts["calls"] = found.Runs, found.Calls
	r.simulations = found.Chapters
	return r
}
