package tlc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Job is one run of TLC.
type Job struct {
	_ struct{}
	// Jar is the path that Find returned.
	Jar string
	// Module is the text of the module, and Name its name.
	Name, Module string
	// Beside holds the texts of further modules, by name.
	Beside map[string]string
	// Config is the text of the configuration.
	Config string
	// Dump makes the result hold the state graph.
	Dump bool
	// Limit is how long the run may take.
	Limit time.Duration
}

// Run runs TLC in a temporary folder of its own: TLC unpacks its standard modules
// into one, and some releases leave files beside the module. The error says that
// TLC could not be run; what it found is in the result.
func Run(ctx context.Context, job Job) (Result, error) {
	folder, err := os.MkdirTemp("", "tlc")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(folder)
	files := map[string]string{job.Name + ".tla": job.Module, job.Name + ".cfg": job.Config}
	for name, text := range job.Beside {
		files[name+".tla"] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return Result{}, err
		}
	}
	args := []string{
		// A run is short: a quick start matters more than peak speed.
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g",
		"-Djava.io.tmpdir=" + folder, "-cp", job.Jar, "tlc2.TLC",
		// One worker and a fixed fingerprint make the output repeatable.
		"-tool", "-coverage", "1", "-workers", "1", "-fp", "0", "-metadir", filepath.Join(folder, "states"),
	}
	graph := filepath.Join(folder, "graph.dot")
	if job.Dump {
		args = append(args, "-dump", "dot,actionlabels", graph)
	}
	ctx, cancel := context.WithTimeout(ctx, job.Limit)
	defer cancel()
	command := exec.CommandContext(ctx, "java", append(args, job.Name+".tla")...)
	command.Dir = folder
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	began := time.Now()
	err = command.Run()
	took := time.Since(began)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("tlc: stopped after %v: %w", took.Round(time.Second), ctx.Err())
	case err != nil && !errors.As(err, &exit):
		return Result{}, fmt.Errorf("tlc: %w", err)
	}
	result := Read(said.String(), command.ProcessState.ExitCode())
	result.Took, result.Said = took, said.String()
	if job.Dump {
		dot, err := os.ReadFile(graph)
		if err != nil {
			return result, fmt.Errorf("tlc: no graph was dumped: %w", err)
		}
		result.Dot = string(dot)
	}
	return result, nil
}

// Errors returns what TLC complained about, in one string.
func (r Result) Errors() string { return strings.Join(r.Complaints, "; ") }
