package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Verdict is whether one Must held over all runs of one policy.
type Verdict struct {
	Scenario string
	Policy   string
	Must     Must
	// Value was measured; Bound is what it was compared with.
	Value, Bound float64
	// Slack is how much of the difference chance explains: three standard errors,
	// where the bound itself is measured; else 0.
	Slack float64
	Runs  int
	Holds bool
}

// String says it in a line.
func (v Verdict) String() string {
	word, sign := "holds", ">="
	if !v.Holds {
		word = "FAILS"
	}
	if v.Must.AtMost {
		sign = "<="
	}
	text := fmt.Sprintf("%s  %-42s %-14s %s: %.6g %s %.6g", word, v.Scenario, v.Policy, v.Must.Text, v.Value, sign, v.Bound)
	if v.Slack > 0 {
		text += fmt.Sprintf(" (chance explains %.3g)", v.Slack)
	}
	return text
}

// Result is what the runs of one scenario with one policy came to.
type Result struct {
	Scenario *Scenario
	Policy   string
	// Records are the sums of the runs, by Subject.
	Records  map[string]*Record
	Verdicts []Verdict
}

// JudgeConfig says how much to run.
type JudgeConfig struct {
	_ struct{}
	// Seed is the first seed; the others follow.
	Seed uint64
	// Seeds is how many runs are pooled; 0 is what the scenario says.
	Seeds int
	// Subject is the one that is judged; nil is the shipped loop.
	Subject NewSubject
	// Beside names Subjects that run as well, whether a Must asks for them or not; for
	// a picture a few seeds are enough.
	Beside []string
	// Workers is how many runs go on at once; 0 is one for each processor.
	Workers int
}

// besideSeeds is how many runs a Subject beside the others has at most.
const besideSeeds = 20

// judged is the name of the Subject that is judged.
const judged = "loop"

// Judge runs the scenario with each of its policies and compares what was counted
// with what must hold. Calls counts what was simulated, baselines included.
func Judge(s *Scenario, cfg JudgeConfig) ([]Result, int, error) {
	if cfg.Seeds == 0 {
		cfg.Seeds = s.Seeds
	}
	if cfg.Seed == 0 {
		cfg.Seed = 1
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	names := map[string]bool{judged: true}
	seeds := map[string]int{}
	for _, name := range cfg.Beside {
		names[name] = true
		seeds[name] = min(cfg.Seeds, besideSeeds)
	}
	for _, m := range s.Musts {
		for _, of := range m.others() {
			names[of] = true
			delete(seeds, of)
		}
	}
	var all []Result
	shared := map[string]*sample{}
	calls := 0
	for _, policy := range s.Policies {
		samples := map[string]*sample{}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if done := shared[name]; done != nil {
				samples[name] = done
				continue
			}
			make, known := subjects[name]
			if !known {
				return nil, calls, fmt.Errorf("%w: %s", ErrUnknownSubject, name)
			}
			if name == judged && cfg.Subject != nil {
				make = cfg.Subject
			}
			runs := cfg
			runs.Seeds = cmp.Or(seeds[name], cfg.Seeds)
			one, err := runAll(s, policy, make, runs)
			if err != nil {
				return nil, calls, err
			}
			calls += one.sum.Calls()
			samples[name] = one
			if !byPolicy(name) {
				shared[name] = one
			}
		}
		all = append(all, judge(s, policy, samples))
	}
	return all, calls, nil
}

// sample is what the runs of one Subject came to: added up, and by seed what each
// Must measures.
type sample struct {
	sum      *Record
	measured [][][2]float64 // by Must, then seed
}

// runAll runs one Subject with every seed.
func runAll(s *Scenario, policy string, subject NewSubject, cfg JudgeConfig) (*sample, error) {
	all := &sample{measured: make([][][2]float64, len(s.Musts))}
	windows := make([]window, len(s.Musts))
	for i := range s.Musts {
		all.measured[i] = make([][2]float64, cfg.Seeds)
		windows[i] = s.window(&s.Musts[i])
	}
	var next atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for range min(cfg.Workers, cfg.Seeds) {
		group.Go(func() {
			w := new(world)
			var sum *Record
			for {
				i := int(next.Add(1)) - 1
				if i >= cfg.Seeds {
					break
				}
				r, err := w.whole(s, policy, subject, cfg.Seed+uint64(i))
				if err != nil {
					mu.Lock()
					failure = err
					mu.Unlock()
					return
				}
				for k := range s.Musts {
					value, of := r.measure(&s.Musts[k], windows[k], len(s.Servers))
					all.measured[k][i] = [2]float64{value, of}
				}
				if sum == nil {
					sum = r
				} else {
					sum.add(r)
				}
			}
			if sum == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if all.sum == nil {
				all.sum = sum
			} else {
				all.sum.add(sum)
			}
		})
	}
	group.Wait()
	return all, failure
}

func judge(s *Scenario, policy string, samples map[string]*sample) Result {
	r := Result{Scenario: s, Policy: policy, Records: map[string]*Record{}}
	for name, one := range samples {
		r.Records[name] = one.sum
	}
	for i := range s.Musts {
		m := &s.Musts[i]
		if m.Policies != nil && !slices.Contains(m.Policies, policy) {
			continue
		}
		own := samples[judged]
		v := Verdict{Scenario: s.Name, Policy: policy, Must: *m, Runs: own.sum.Runs, Bound: m.Number}
		switch m.Metric {
		case LeastShare, MostShare, Notice, Return:
			w := s.window(m)
			v.Value = own.sum.pooled(m, w, s)
			v.relate(m, func(of string) (float64, float64) { return samples[of].sum.pooled(m, w, s), 0 })
		default:
			v.Value = total(own.measured[i])
			v.relate(m, func(of string) (float64, float64) {
				other := samples[of].measured[i]
				return total(other), 3 * standardError(own.measured[i], other, m.Factor)
			})
		}
		if m.AtMost {
			v.Holds = v.Value <= v.Bound+v.Slack
		} else {
			v.Holds = v.Value >= v.Bound-v.Slack
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

// others are the Subjects that the bound is compared with.
func (m *Must) others() (names []string) {
	for _, name := range []string{m.Of, m.Or} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// relate adds to the bound what another Subject measured, the one that allows most.
func (v *Verdict) relate(m *Must, measured func(of string) (value, slack float64)) {
	plain := v.Bound
	for k, of := range m.others() {
		value, slack := measured(of)
		bound := plain + m.Factor*value
		if k == 0 || m.AtMost && bound > v.Bound || !m.AtMost && bound < v.Bound {
			v.Bound, v.Slack = bound, slack
		}
	}
}

// total is the ratio of the sums.
func total(runs [][2]float64) float64 {
	var value, of float64
	for _, one := range runs {
		value, of = value+one[0], of+one[1]
	}
	return ratio(value, of)
}

// standardError is that of total(a) − factor·total(b), where run i of a and of b had
// the same calls: by the differences of runs, since the calls of a run are not
// independent of each other.
func standardError(a, b [][2]float64, factor float64) float64 {
	n := float64(len(a))
	var ofA, ofB float64
	for i := range a {
		ofA, ofB = ofA+a[i][1], ofB+b[i][1]
	}
	if ofA == 0 || ofB == 0 {
		return 0
	}
	meanA, meanB := total(a), total(b)
	var squares float64
	for i := range a {
		e := (a[i][0]-meanA*a[i][1])/(ofA/n) - factor*(b[i][0]-meanB*b[i][1])/(ofB/n)
		squares += e * e
	}
	return math.Sqrt(squares) / n
}

// Fails reports whether something that must hold does not.
func Fails(results []Result) bool {
	for _, r := range results {
		for _, v := range r.Verdicts {
			if !v.Holds {
				return true
			}
		}
	}
	return false
}
