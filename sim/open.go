package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// Open is a bound that the shipped loop does not reach yet. It is measured and shown
// like every other one, and may not get worse.
type Open struct {
	Scenario, Policy string
	// Metric is the first word of what must hold.
	Metric string
	// Worst is the worst value that may be measured.
	Worst float64
	// Reason is why it is not reached.
	Reason string
	// Line is where it stands in the list.
	Line int

	met bool
}

// OpenList are the open bounds of a repository. Whatever else fails is a failure, and so
// is an entry that is not needed: what holds is not open.
//
// The zero value has none.
type OpenList struct {
	// Seed is the first seed for which the entries are stated.
	Seed    uint64
	Entries []*Open
}

// ParseOpen reads a list, or returns an error that names the line. A line is
//
//	SCENARIO POLICY METRIC WORST REASON…
//
// and the first one "seed N". Empty lines and those that begin with # say nothing.
func ParseOpen(text string) (*OpenList, error) {
	list := new(OpenList)
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		var err error
		if words[0] == "seed" && len(words) == 2 {
			if list.Seed, err = strconv.ParseUint(words[1], 10, 64); err != nil {
				return nil, fmt.Errorf("line %d: seed %q: %w", number, words[1], err)
			}
			continue
		}
		if len(words) < 5 {
			return nil, fmt.Errorf("line %d: want a scenario, a policy, a metric, the worst value and a reason", number)
		}
		o := &Open{Scenario: words[0], Policy: words[1], Metric: words[2], Reason: strings.Join(words[4:], " "), Line: number}
		if o.Worst, err = strconv.ParseFloat(words[3], 64); err != nil {
			return nil, fmt.Errorf("line %d: worst value %q: %w", number, words[3], err)
		}
		list.Entries = append(list.Entries, o)
	}
	return list, nil
}

// Excuses reports whether a verdict that does not hold is an open one, and no worse than
// that may be.
func (l *OpenList) Excuses(v Verdict) bool {
	for _, o := range l.Entries {
		if metric, _, _ := strings.Cut(v.Must.Text, " "); o.Scenario != v.Scenario || o.Policy != v.Policy || o.Metric != metric {
			continue
		}
		if v.Must.AtMost && v.Value <= o.Worst || !v.Must.AtMost && v.Value >= o.Worst {
			o.met = true
			return true
		}
	}
	return false
}

// Needless returns the entries that excused nothing, of the scenarios that ran.
func (l *OpenList) Needless(ran map[string]bool) (needless []*Open) {
	for _, o := range l.Entries {
		if !o.met && ran[o.Scenario] {
			needless = append(needless, o)
		}
	}
	return needless
}
