package observe_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Each row is one event and what it moves; everything else stays.
//
// Claim: Every event that a Metrics is told moves each counter it belongs to by exactly one.
func TestMetrics_EachEventMovesItsCountersByOne(t *testing.T) {
	type row struct {
		name string
		tell func(*observe.Metrics)
		move []string
	}
	var rows []row
	add := func(name string, tell func(*observe.Metrics), move ...string) {
		rows = append(rows, row{name, tell, move})
	}
	for k := observe.Selected; k <= observe.DecidedClosed; k++ {
		add("decision "+k.String(), func(m *observe.Metrics) { m.Decided(observe.Decided{Kind: k}) }, "decisions/"+k.String(), "scopes/unknown")
	}
	for k := observe.ScopeUnknown; k <= observe.ScopePanic; k++ {
		add("scope "+k.String(), func(m *observe.Metrics) { m.Decided(observe.Decided{Scope: k}) }, "decisions/selected", "scopes/"+k.String())
	}
	for k := observe.AttemptSuccess; k <= observe.AttemptInvalid; k++ {
		add("attempt "+k.String(), func(m *observe.Metrics) { m.Attempted(observe.Attempted{Kind: k}) }, "attempts/"+k.String())
	}
	for o := poise.Success; o <= poise.Invalid; o++ {
		kind := observe.AttemptKindOf(o).String()
		add("end "+kind, func(m *observe.Metrics) { m.Ended(ended(o, 0)) }, "decisions/selected", "attempts/"+kind, "choices/picked")
		add("late "+kind, func(m *observe.Metrics) {
			e := ended(poise.Success, time.Second)
			e.Answered, e.Late.Outcome = e.Began, o
			m.Ended(e)
		}, "decisions/selected", "attempts/success", "choices/picked", "late/"+kind)
	}
	for c := observe.Picked; c <= observe.LastResort; c++ {
		add("choice "+c.String(), func(m *observe.Metrics) {
			e := ended(poise.Success, 0)
			e.Choice = c
			m.Ended(e)
		}, "decisions/selected", "attempts/success", "choices/"+c.String())
	}
	add("retry", func(m *observe.Metrics) {
		e := ended(poise.Success, 0)
		e.Attempt = 2
		m.Ended(e)
	}, "decisions/selected", "attempts/success", "choices/picked", "retries/")
	for c := observe.RefusedByPolicy; c <= observe.RefusedClosed; c++ {
		err, kind := errors.New("a policy's own"), "other failure"
		if c == observe.RefusedClosed {
			kind = "closed"
		}
		add("refusal "+c.String(), func(m *observe.Metrics) { m.Refused(observe.Refusal{Cause: c, Err: err}) }, "decisions/"+kind, "refusals/"+c.String())
	}
	add("refusal for want of a key", func(m *observe.Metrics) {
		m.Refused(observe.Refusal{Err: poise.ErrNoKey})
	}, "decisions/no key", "refusals/by policy")
	add("readiness", func(m *observe.Metrics) { m.ReadinessFailed() }, "readiness_failures/")
	add("publication", func(m *observe.Metrics) { m.Published(observe.Published{}) }, "publications/")
	for r := poise.NotExcluded; r <= poise.ExcludedOutOfScope; r++ {
		add("became "+r.String(), func(m *observe.Metrics) {
			m.Published(observe.Published{Changed: []observe.ReasonChange{{ID: "a", Is: r}}})
		}, "publications/", "changes/"+r.String())
	}
	// What is of no enumeration counts somewhere, too.
	add("unknown decision", func(m *observe.Metrics) { m.Decided(observe.Decided{Kind: 200, Scope: 200}) }, "decisions/other failure", "scopes/unknown")
	add("unknown attempt", func(m *observe.Metrics) { m.Attempted(observe.Attempted{Kind: 200}) }, "attempts/other")
	add("unknown late outcome", func(m *observe.Metrics) {
		e := ended(poise.Success, 0)
		e.Answered, e.Late.Outcome = e.Began, 200
		m.Ended(e)
	}, "decisions/selected", "attempts/success", "choices/picked", "late/other")
	add("unknown outcome", func(m *observe.Metrics) { m.Ended(ended(200, 0)) }, "decisions/selected", "attempts/other", "choices/picked")
	moved := map[string]bool{}
	for _, r := range rows {
		m := new(observe.Metrics)
		for n := range uint64(3) {
			for name, got := range counts(m) {
				want := uint64(0)
				if slices.Contains(r.move, name) {
					want = n
					moved[name] = true
				}
				if got != want {
					t.Errorf("%s, told %d times: %s is %d, want %d", r.name, n, name, got, want)
				}
			}
			r.tell(m)
		}
	}
	for name := range counts(new(observe.Metrics)) {
		if !moved[name] && name != "members/" && name != "eligible/" {
			t.Errorf("nothing moves %s", name)
		}
	}
}

func TestMetrics_KnowsTheMembersOfTheLastPublication(t *testing.T) {
	m := new(observe.Metrics)
	m.Published(observe.Published{Members: 5, Eligible: 4})
	m.Published(observe.Published{Members: 3, Eligible: 2})
	if s := m.Snapshot(); s.Members() != 3 || s.Eligible() != 2 || s.Publications() != 2 {
		t.Errorf("%d of %d after %d publications", s.Eligible(), s.Members(), s.Publications())
	}
}

func TestSnapshot_CountsSaysWhatGoesDown(t *testing.T) {
	for c := range new(observe.Metrics).Snapshot().Counts() {
		if level := c.Name == "members" || c.Name == "eligible"; c.Level != level {
			t.Errorf("%s goes down: %t", c.Name, c.Level)
		}
	}
	for range new(observe.Metrics).Snapshot().Counts() {
		break // who has seen enough may leave
	}
}

// A reason that is added to the enumeration needs a counter.
func TestMetrics_CountsEveryReason(t *testing.T) {
	if next := poise.ExcludedOutOfScope + 1; next.String() != "unknown reason" {
		t.Errorf("%v has no counter", next)
	}
}

// The accessors read what Counts tells.
func TestSnapshot_AccessorsAgreeWithCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := new(observe.Metrics)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			e := ended(poise.Outcome(rapid.IntRange(0, 8).Draw(t, "outcome")), time.Duration(rapid.IntRange(0, 1000).Draw(t, "took")))
			e.Choice, e.Attempt = observe.Choice(rapid.IntRange(0, 5).Draw(t, "choice")), rapid.IntRange(1, 3).Draw(t, "attempt")
			e.Answered, e.Late.Outcome = e.Began, poise.Outcome(rapid.IntRange(0, 6).Draw(t, "late"))
			m.Ended(e)
			m.Refused(observe.Refusal{Cause: observe.RefusalCause(rapid.IntRange(0, 5).Draw(t, "cause")), Err: poise.ErrAllTried})
			m.Decided(observe.Decided{Scope: observe.ScopeKind(rapid.IntRange(0, 3).Draw(t, "scope"))})
			m.ReadinessFailed()
			m.Published(observe.Published{Members: 7, Eligible: 6, Changed: []observe.ReasonChange{{Is: poise.Reason(rapid.IntRange(0, 9).Draw(t, "reason"))}}})
		}
		s, want := m.Snapshot(), counts(m)
		got := map[string]uint64{
			"retries/": s.Retries(), "readiness_failures/": s.ReadinessFailures(), "publications/": s.Publications(),
			"members/": s.Members(), "eligible/": s.Eligible(),
		}
		for k := observe.Selected; k <= observe.DecidedClosed; k++ {
			got["decisions/"+k.String()] = s.Decisions(k)
		}
		for k := observe.ScopeUnknown; k <= observe.ScopePanic; k++ {
			got["scopes/"+k.String()] = s.Scopes(k)
		}
		for k := observe.AttemptSuccess; k <= observe.AttemptInvalid; k++ {
			got["attempts/"+k.String()], got["late/"+k.String()] = s.Attempts(k), s.Late(k)
		}
		for k := observe.Picked; k <= observe.LastResort; k++ {
			got["choices/"+k.String()] = s.Choices(k)
		}
		for k := observe.RefusedByPolicy; k <= observe.RefusedClosed; k++ {
			got["refusals/"+k.String()] = s.Refusals(k)
		}
		for r := poise.NotExcluded; r <= poise.ExcludedOutOfScope; r++ {
			got["changes/"+r.String()] = s.Became(r)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("accessors tell %v, Counts %v", got, want)
		}
		if s.Decisions(observe.DecidedClosed+1)+s.Attempts(observe.AttemptInvalid+1)+s.Became(poise.ExcludedOutOfScope+1) != 0 {
			t.Fatal("what is of no enumeration was counted")
		}
	})
}

// Claim: What a Metrics counts has the same counters whatever it was told.
// Code: count
func TestMetrics_LawItsCountersAreFixed(t *testing.T) {
	fixed := slices.Sorted(maps.Keys(counts(new(observe.Metrics))))
	if len(fixed) < 28-11-1 { // the buckets and the sum of the histogram are beside these
		t.Fatalf("there are %d counters", len(fixed))
	}
	rapid.Check(t, func(t *rapid.T) {
		m := new(observe.Metrics)
		e := ended(poise.Outcome(rapid.Uint8().Draw(t, "outcome")), time.Duration(rapid.Int64().Draw(t, "took")))
		e.ID, e.Choice = rapid.String().Draw(t, "id"), observe.Choice(rapid.Uint8().Draw(t, "choice"))
		m.Ended(e)
		m.Refused(observe.Refusal{Cause: observe.RefusalCause(rapid.Uint8().Draw(t, "cause")), Err: errors.New(rapid.String().Draw(t, "error"))})
		m.Decided(observe.Decided{Kind: observe.DecisionKind(rapid.Uint8().Draw(t, "kind"))})
		m.Published(observe.Published{Changed: []observe.ReasonChange{{ID: e.ID, Is: poise.Reason(rapid.Uint8().Draw(t, "reason"))}}})
		if now := slices.Sorted(maps.Keys(counts(m))); !slices.Equal(now, fixed) {
			t.Fatalf("the counters are %v, and were %v", now, fixed)
		}
	})
}

// Eight goroutines lose nothing.
func TestMetrics_LosesNothingOfManyGoroutines(t *testing.T) {
	const tellers, events = 8, 5000
	m := new(observe.Metrics)
	var group sync.WaitGroup
	for range tellers {
		group.Go(func() {
			for range events {
				m.Ended(ended(poise.Success, time.Millisecond))
			}
		})
	}
	group.Wait()
	s := m.Snapshot()
	if s.Attempts(observe.AttemptSuccess) != tellers*events || s.AttemptTime().Count() != tellers*events || math.Abs(s.AttemptTime().Seconds()-tellers*events*1e-3) > 1e-6 {
		t.Errorf("%d attempts, %d of them in the histogram, %v s together", s.Attempts(observe.AttemptSuccess), s.AttemptTime().Count(), s.AttemptTime().Seconds())
	}
}

// Claim: String of a Metrics is the JSON of its Snapshot, as expvar wants it.
//
// Claim: The JSON of a Snapshot has a field for each counter, by the names of the text format without its prefix and suffix.
// Code: Snapshot.MarshalJSON
func TestMetrics_IsAnExpvar(t *testing.T) {
	m := new(observe.Metrics)
	m.Ended(ended(poise.Failure, 7*time.Millisecond))
	var v expvar.Var = m
	var got map[string]any
	if err := json.Unmarshal([]byte(v.String()), &got); err != nil {
		t.Fatalf("%s: %v", v.String(), err)
	}
	for c := range m.Snapshot().Counts() {
		value := got[c.Name]
		if c.Label != "" {
			value = value.(map[string]any)[c.Value]
		}
		if value != float64(c.Number) {
			t.Errorf("%s %s is %v, want %d", c.Name, c.Value, value, c.Number)
		}
	}
	times := got["attempt_duration"].(map[string]any)
	buckets := times["buckets"].([]any)
	if times["count"] != 1.0 || times["sum_seconds"] != 0.007 || len(buckets) != 11 {
		t.Errorf("the histogram is %v", times)
	}
	if first, last := buckets[0].(map[string]any), buckets[10].(map[string]any); first["le"] != 0.001 || first["count"] != 0.0 || last["le"] != nil || last["count"] != 1.0 {
		t.Errorf("the buckets are %v", buckets)
	}
}

func TestMetrics_AllocatesNothing(t *testing.T) {
	m := new(observe.Metrics)
	e, p := ended(poise.Success, time.Millisecond), observe.Published{Changed: make([]observe.ReasonChange, 3)}
	for name, tell := range map[string]func(){
		"an end":        func() { m.Ended(e) },
		"a refusal":     func() { m.Refused(observe.Refusal{Err: poise.ErrNoEligible}) },
		"a decision":    func() { m.Decided(observe.Decided{Took: time.Microsecond}) },
		"a publication": func() { m.Published(p) },
	} {
		if n := testing.AllocsPerRun(100, tell); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// What an attempt costs to count: one goroutine, and two at once.
func BenchmarkMetrics_Ended(b *testing.B) {
	e := ended(poise.Success, time.Millisecond)
	b.Run("alone", func(b *testing.B) {
		m := new(observe.Metrics)
		b.ReportAllocs()
		for b.Loop() {
			m.Ended(e)
		}
	})
	b.Run("shared", func(b *testing.B) {
		m := new(observe.Metrics)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Ended(e)
			}
		})
	})
}
