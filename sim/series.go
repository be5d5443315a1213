package sim

import (
	"fmt"
	"strings"
	"time"
)

// Series writes each second of the runs: how many of a hundred calls failed, and
// how many servers were ejected in a run.
func (r Result) Series() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:", r.Scenario.Name, r.Policy)
	of := r.Records[judged]
	step := int(time.Second / bucketWidth)
	for from := 0; from < int(r.Scenario.Length/bucketWidth); from += step {
		w := window{from, from + step}
		failed := ratio(of.classes(&of.failed, AnyClass, w), of.classes(&of.calls, AnyClass, w))
		fmt.Fprintf(&b, " %.1f/%.1f", 100*failed, over(of.eject, w)/float64(of.Runs))
	}
	return b.String()
}
