package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/copyleftdev/poise-go/spec/tla/tlc"
)

// verdict is what became of one configuration.
type verdict struct {
	row
	result   tlc.Result
	traces   int      // that TLC followed
	problems []string // none: as expected
}

// runner runs TLC on one job; tests put fakes here.
type runner func(context.Context, tlc.Job) (tlc.Result, error)

// gate runs TLC on the rows, side by side up to the width, and on the traces
// of their modules, and reports each as it ends. The verdicts come in this order.
func (t *tree) gate(ctx context.Context, rows []row, run runner, width int, out io.Writer) []verdict {
	var traced []string // modules whose histories are committed
	for _, r := range rows {
		if of, k, _, _ := spell(r.Config); k == dump && t.histories[t.historiesFile(of)] != "" {
			traced = append(traced, of)
		}
	}
	verdicts := make([]verdict, len(rows)+len(traced))
	var said sync.Mutex
	each(len(verdicts), width, func(i int) {
		var v verdict
		if i < len(rows) {
			v = t.judge(ctx, rows[i], run)
		} else {
			v = t.followed(ctx, traced[i-len(rows)], run)
		}
		verdicts[i] = v
		said.Lock()
		defer said.Unlock()
		fmt.Fprintln(out, v)
	})
	return verdicts
}

// each calls f with 0 to n-1, side by side up to the width.
func each(n, width int, f func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}

// job returns the run that a row asks for.
func (t *tree) job(r row) tlc.Job {
	of, k, _, _ := spell(r.Config)
	return tlc.Job{
		Name: of, Module: t.modules[of].text, Config: t.configs[r.Config], Dump: k == dump, Limit: r.limit(),
	}
}

// judge runs one row and compares.
func (t *tree) judge(ctx context.Context, r row, run runner) verdict {
	v := verdict{row: r}
	result, err := run(ctx, t.job(r))
	v.result = result
	if err != nil {
		v.problems = append(v.problems, err.Error())
		return v
	}
	_, k, _, _ := spell(r.Config)
	if got := violated(t.configs[r.Config], result); got != r.Violates {
		v.problems = append(v.problems, fmt.Sprintf("violated %q instead of %q: %s\n%s", got, r.Violates, result.Errors(), result.Trace))
		return v
	}
	for _, w := range result.Warnings {
		v.problems = append(v.problems, "TLC warns: "+w)
	}
	if r.Violates != "" {
		return v
	}
	if result.Distinct != r.Distinct || result.Depth != r.Depth {
		v.problems = append(v.problems, fmt.Sprintf("%d distinct states of depth %d instead of %d and %d",
			result.Distinct, result.Depth, r.Distinct, r.Depth))
	}
	if k == dump {
		if err := t.fresh(r, result); err != nil {
			v.problems = append(v.problems, err.Error())
		}
	}
	if k == safety {
		for _, action := range slices.Sorted(maps.Keys(result.Taken)) {
			if result.Taken[action] == 0 {
				v.problems = append(v.problems, fmt.Sprintf("action %s never happens", action))
			}
		}
	}
	return v
}

// violated names what a run violated; "" for nothing. A deadlock and a run that
// broke have names that no property has.
func violated(text string, r tlc.Result) string {
	switch r.Verdict {
	case tlc.Success:
		return ""
	case tlc.Safety:
		return r.Violated
	case tlc.Liveness:
		return strings.Join(parseConfig(text).properties, " or ")
	}
	return "(" + string(r.Verdict) + ")"
}

func (v verdict) String() string {
	state := "ok  "
	if len(v.problems) > 0 {
		state = "FAIL"
	}
	text := fmt.Sprintf("%s %-40s %8d distinct %9d generated %6.1fs", state, v.Config, v.result.Distinct,
		v.result.Generated, v.result.Took.Round(100*time.Millisecond).Seconds())
	for _, p := range v.problems {
		text += "\n     " + strings.ReplaceAll(strings.TrimSpace(p), "\n", "\n     ")
	}
	return text
}
