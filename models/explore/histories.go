//go:build interleave

package explore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/copyleftdev/poise-go/spec/seq"
)

// historiesVariable names a folder. When it is set, Check judges nothing: it
// writes every history of the model there, for another judge to read.
const historiesVariable = "POISE_EXPLORE_HISTORIES"

// recorded is what Check writes about a model.
type recorded struct {
	Model     string        `json:"model"`
	Spec      string        `json:"spec"`
	Histories []seq.History `json:"histories"`
}

// writeHistories explores a model that has a specification and writes each of its
// histories once, the calls before its start included.
func writeHistories(t *testing.T, p program, folder string) {
	t.Helper()
	if p.spec == nil {
		return
	}
	r := run(p, options{reduce: true, budget: -1, histories: true})
	if r.refused != "" || !r.exhausted {
		t.Fatalf("model %s was not explored to its end: %s", p.name, r.refused)
	}
	all := recorded{Model: p.name, Spec: p.spec.Name()}
	for _, key := range keys(r.histories) {
		all.Histories = append(all.Histories, seq.Whole(p.spec, r.histories[key]))
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(folder, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatalf("%s: %v", filepath.Base(f.Name()), err)
	}
}

// note keeps the history of the execution unless one with the same calls in the
// same order is there. Steps count from 0 without gaps, whatever lay between.
func (r *result) note(h seq.History) {
	var stamps []int64
	for _, op := range h {
		stamps = append(stamps, op.Call, op.Return)
	}
	slices.Sort(stamps)
	stamps = slices.Compact(stamps)
	h = slices.Clone(h)
	for i := range h {
		call, _ := slices.BinarySearch(stamps, h[i].Call)
		ret, _ := slices.BinarySearch(stamps, h[i].Return)
		h[i].Call, h[i].Return = int64(call), int64(ret)
	}
	r.histories[h.String()] = h
}
