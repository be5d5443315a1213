package record_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/ci/record"
)

// sample is a record that keeps the schema and has one layer of each status.
func sample() record.Record {
	return record.Record{
		Commit: strings.Repeat("a1", 20), Toolchain: record.Toolchain{Go: "go1.26.1", GOOS: "linux", GOARCH: "arm64"},
		Seeds: record.Seeds{Property: 1, PropertyChecks: 2, FuzzExecutions: 3},
		Layers: []record.Layer{
			{Name: "a", Target: "a", Status: record.Passed, Shows: "x", NotShown: "y", Counts: map[string]int{"passed": 7, "failed": 0, "z": 1, "b": 2}},
			{Name: "b", Target: "b", Status: record.Failed, Shows: "x", NotShown: "y", Counts: map[string]int{"passed": 0, "failed": 2}, Failures: []string{"T2", "T1"}},
			{Name: "c", Target: "c", Status: record.NotRun, Shows: "x", NotShown: "y", Reason: "why"},
		},
		Timing: record.Timing{Started: time.Unix(0, 0).UTC(), Machine: record.Machine{CPUs: 2, CPU: "one"}},
	}
}

func TestEncode_RoundTrips(t *testing.T) {
	b, err := record.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := record.Encode(r)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("encoded again (%v) it reads\n%s\nwant\n%s", err, again, b)
	}
	if r.Schema != record.Schema || r.Layers[1].Failures[0] != "T1" {
		t.Errorf("schema is %q and failures are %q, want %q and sorted ones", r.Schema, r.Layers[1].Failures, record.Schema)
	}
}

func TestEncode_LeavesItsArgumentAlone(t *testing.T) {
	r := sample()
	if _, err := record.Encode(r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != "" || r.Layers[1].Failures[0] != "T2" || r.Layers[2].Counts != nil {
		t.Errorf("the record is now %+v", r)
	}
}

func TestTotals_LayerThatDidNotRunCountsAsOneFailure(t *testing.T) {
	if passed, failed := sample().Totals(); passed != 7 || failed != 3 {
		t.Errorf("got %d passed, %d failed, want 7 and 3", passed, failed)
	}
}

func TestAllPassed_NeedsEveryLayerAndAtLeastOne(t *testing.T) {
	r := sample()
	all := r.Layers
	for n, want := range map[int]bool{0: false, 1: true, 2: false, 3: false} {
		r.Layers = all[:n]
		if got := r.AllPassed(); got != want {
			t.Errorf("with the first %d layers it is %t, want %t", n, got, want)
		}
	}
	r.Layers = all[2:]
	if r.AllPassed() {
		t.Error("a record whose only layer did not run has passed")
	}
}

// Each row breaks one promise of the schema.
func TestEncode_BadRecordIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		hurt func(*record.Record)
		want string
	}{
		{"no layers", func(r *record.Record) { r.Layers = nil }, "/layers"},
		{"an invented commit", func(r *record.Record) { r.Commit = "main" }, "/commit"},
		{"no seed", func(r *record.Record) { r.Seeds.Property = 0 }, "/seeds/property"},
		{"a status of its own", func(r *record.Record) { r.Layers[0].Status = "skipped" }, "/layers/0/status"},
		{"passed with a failure", func(r *record.Record) { r.Layers[0].Counts["failed"] = 1 }, "/layers/0"},
		{"passed without a check", func(r *record.Record) { r.Layers[0].Counts["passed"] = 0 }, "/layers/0"},
		{"passed without counts", func(r *record.Record) { r.Layers[0].Counts = nil }, "/layers/0"},
		{"passed with a reason not to run", func(r *record.Record) { r.Layers[0].Reason = "tired" }, "/layers/0"},
		{"failed without saying what", func(r *record.Record) { r.Layers[1].Failures = nil }, "/layers/1"},
		{"not run without a reason", func(r *record.Record) { r.Layers[2].Reason = "" }, "/layers/2"},
		{"not run with counts", func(r *record.Record) { r.Layers[2].Counts = map[string]int{"passed": 1} }, "/layers/2"},
		{"a negative count", func(r *record.Record) { r.Layers[0].Counts["z"] = -1 }, "/layers/0/counts/z"},
		{"a layer without a limit to what it shows", func(r *record.Record) { r.Layers[0].NotShown = "" }, "/layers/0/not_shown"},
		{"a verdict of its own", func(r *record.Record) { r.Timing.Budgets = []record.Budget{{What: "x", Verdict: "nearly"}} }, "/timing/budgets/0/verdict"},
		{"a mutant with a status of its own", func(r *record.Record) {
			r.Mutation = &record.Mutation{Discovered: 1, Statuses: map[string]int{"ignored": 1}, Mutants: []record.Mutant{}}
		}, "'ignored'"},
		{"mutants that do not add up", func(r *record.Record) {
			r.Mutation = &record.Mutation{Discovered: 3, Statuses: map[string]int{"killed": 1, "survived": 1}, Mutants: []record.Mutant{}}
		}, "of 3 mutants the statuses count 2"},
		{"a type without claims", func(r *record.Record) {
			r.Evidence = []record.Evidence{{Type: "T", Means: map[string][]record.Check{}, Claims: []record.Claim{}}}
		}, "minItems"},
		{"a change that was noticed by nobody", func(r *record.Record) {
			r.Timing.Noticed = []record.Noticed{{Claim: "T-1", Mutant: "m", At: "f:1", Was: "a", Becomes: "b"}}
		}, "minLength"},
		{"a claim without code", func(r *record.Record) {
			r.Evidence = []record.Evidence{{Type: "T", Means: map[string][]record.Check{}, Claims: []record.Claim{{ID: "T-1", Text: "x", File: "f", Of: "T", Code: []string{}, By: []record.Quote{}}}}}
		}, "minItems"},
		{"a demo without promises", func(r *record.Record) { r.Timing.Demo = &record.Demo{Policy: "p"} }, "/timing/demo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			c.hurt(&r)
			b, err := record.Encode(r)
			if err == nil || b != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %d bytes and %v, want an error at %s", len(b), err, c.want)
			}
		})
	}
}

func TestDecode_UnknownOrMissingKeyIsRefused(t *testing.T) {
	whole, err := record.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(whole, &keys); err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		delete(keys, key)
		if b, _ := json.Marshal(keys); !refused(b) {
			t.Errorf("a record without %q is accepted", key)
		}
		keys[key] = value
	}
	keys["duration"] = json.RawMessage("1")
	if b, _ := json.Marshal(keys); !refused(b) {
		t.Error("a record with a duration beside timing is accepted")
	}
	if !refused([]byte("{")) || !refused(nil) {
		t.Error("what is no JSON is accepted")
	}
}

func refused(b []byte) bool {
	_, err := record.Decode(b)
	return err != nil
}

func TestDecodeDemo_ReadsWhatTheSchemaAllows(t *testing.T) {
	d, err := record.DecodeDemo([]byte(`{"policy":"p","seconds":1.5,"requests":3,"responses":2,"errors":1,"retries":0,
		"promises":[{"name":"n","held":true,"detail":""}],
		"backends":[{"name":"a","role":"","state":"ready","requests":3,"share":1,"errors":1,"p50_ms":0.5,"p99_ms":2}],"decisions":null}`))
	if err != nil || d.Requests != 3 || d.Backends[0].P99 != 2 || !d.Promises[0].Held {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := record.DecodeDemo([]byte(`{"policy":"p"}`)); err == nil {
		t.Error("a summary without promises is accepted")
	}
}
