//go:build interleave && !race

package explore

import (
	"testing"
)

// counters is a state of independent and shared counters.
type counters struct{ shared, a, b, c Int64 }

func straight(tasks, ops int) Model[*counters] {
	m := Model[*counters]{Name: "straight line", New: func() *counters { return new(counters) }}
	for range tasks {
		m.Tasks = append(m.Tasks, Task[*counters]{"task", func(s *counters, _ *T) {
			for range ops {
				s.shared.Add(1)
			}
		}})
	}
	return m
}

// multinomial returns the number of orders of tasks × ops steps.
func multinomial(tasks, ops int) int {
	n, total := 1, 0
	for range tasks {
		for k := 1; k <= ops; k++ {
			total++
			n = n * total / k
		}
	}
	return n
}

func TestExplore_CountsTheOrdersOfAStraightLine(t *testing.T) {
	for _, c := range []struct{ tasks, ops int }{{1, 5}, {2, 1}, {2, 6}, {2, 8}, {3, 3}, {3, 4}, {4, 2}} {
		want := multinomial(c.tasks, c.ops)
		for _, reduce := range []bool{false, true} { // every two steps are dependent: nothing to reduce
			r := run(erase(straight(c.tasks, c.ops)), options{reduce: reduce, budget: -1})
			if r.refused != "" || r.executions != want || !r.exhausted {
				t.Errorf("%d tasks of %d steps, reduced %t: %d executions and %d redundant, want %d; %s", c.tasks, c.ops, reduce, r.executions, r.redundant, want, r.refused)
			}
		}
	}
}

func TestExplore_RunsIndependentTasksOnce(t *testing.T) {
	m := straight(3, 0)
	for i := range m.Tasks {
		m.Tasks[i].Body = func(s *counters, _ *T) {
			for range 4 {
				[]*Int64{&s.a, &s.b, &s.c}[i].Add(1)
			}
		}
	}
	r := run(erase(m), options{reduce: true, budget: -1})
	if r.executions != 1 || r.redundant != 0 {
		t.Errorf("%d executions and %d redundant, want 1 and 0", r.executions, r.redundant)
	}
}

func TestEstimate_IsExactWhereEveryExecutionHasAsManyWays(t *testing.T) {
	m := Model[*counters]{New: func() *counters { return new(counters) }}
	for range 3 {
		m.Tasks = append(m.Tasks, Task[*counters]{"task", func(s *counters, h *T) { s.a.Store(int64(h.Choose("value", 4))) }})
	}
	if got, want := estimate(erase(m)), 4.0*4*4*6; got != want {
		t.Errorf("about %v executions, want %v", got, want)
	}
}

func TestEstimate_IsNearTheTruth(t *testing.T) {
	got, want := estimate(erase(straight(3, 4))), float64(multinomial(3, 4))
	if got < want/2 || got > 2*want {
		t.Errorf("about %v executions, want %v", got, want)
	}
}

// An operation of this benchmark is 924 executions.
func BenchmarkExplore_TwoTasksOfSixAtomics(b *testing.B) {
	m := straight(2, 6)
	m.Final = func(s *counters, _ *Run) error { return nil }
	p, n := erase(m), 0
	for b.Loop() {
		n += run(p, options{budget: -1}).executions
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "executions/s")
}
