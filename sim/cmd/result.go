package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/copyleftdev/poise-go/sim"
)

// result is what a run found, as result.json has it.
type result struct {
	FirstSeed uint64    `json:"first_seed"`
	Scenarios int       `json:"scenarios"`
	Random    int       `json:"random"`
	Runs      int       `json:"runs"`
	Calls     int       `json:"calls"`
	Held      int       `json:"held"`
	Open      int       `json:"open"` // do not hold, and are known not to
	Failures  []failure `json:"failures"`
	Chapters  []chapter `json:"chapters"`

	matrix []sim.Result
	ran    map[string]bool // scenarios
}

// fail notes and prints one failure.
func (r *result) fail(out io.Writer, name, text string) {
	r.Failures = append(r.Failures, failure{Name: name, Text: text})
	fmt.Fprintln(out, text)
}

// failure is one bound that did not hold.
type failure struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// chapter is one file of scenarios.
type chapter struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Cases int    `json:"cases"`
	Held  int    `json:"held"`
	Of    int    `json:"of"`
	// Lines are those of the last case, which Case names.
	Case  string     `json:"case"`
	Lines []sim.Line `json:"lines"`
}

func (c *chapter) add(s *sim.Scenario, results []sim.Result) {
	c.Cases++
	for _, r := range results {
		for _, v := range r.Verdicts {
			c.Of++
			if v.Holds {
				c.Held++
			}
		}
	}
	c.Case, c.Lines = s.Name, sim.Lines(results)
}

// write writes result.json, and a picture for each file of scenarios.
func (r *result) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "result.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	for _, c := range r.Chapters {
		if err := c.draw(folder); err != nil {
			return err
		}
	}
	return nil
}

func (c *chapter) draw(folder string) error {
	var picture bytes.Buffer
	if err := sim.WriteChart(&picture, c.Case, c.Lines); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, c.Name+".svg"), picture.Bytes(), 0o644)
}
