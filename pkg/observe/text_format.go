package observe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// AppendText appends what the Metrics have counted in the text format of Prometheus,
// version 0.0.4. Each Metrics has the label balancer, whose value is its name in the
// map; none of the empty name. A nil Metrics is left out.
//
// # Contract
//
//   - AppendText writes each family once, with the values of every Metrics together.
//   - AppendText writes any name as the value of a label, and nothing else of it.
//   - AppendText writes the same text for equal counts.
func AppendText(b []byte, of map[string]*Metrics) []byte {
	names := slices.Sorted(maps.Keys(of))
	snapshots := make([]Snapshot, 0, len(names))
	labels := make([]string, 0, len(names))
	for _, n := range names {
		if of[n] == nil {
			continue
		}
		snapshots = append(snapshots, of[n].Snapshot())
		label := ""
		if n != "" {
			label = `balancer="` + escaper.Replace(strings.ToValidUTF8(n, "\uFFFD")) + `"`
		}
		labels = append(labels, label)
	}
	for _, f := range families {
		metric, kind := "poise_"+f.name+"_total", "counter"
		if f.level {
			metric, kind = "poise_"+f.name, "gauge"
		}
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", metric, f.help, metric, kind)
		for i := range snapshots {
			for k, n := range f.read(&snapshots[i]) {
				value := ""
				if f.label != "" {
					value = f.label + `="` + word(f.values[k]) + `"`
				}
				b = appendLine(b, metric, strconv.FormatUint(n, 10), labels[i], value)
			}
		}
	}
	for _, t := range durations {
		metric := "poise_" + t.name + "_seconds"
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s histogram\n", metric, t.help, metric)
		for i := range snapshots {
			h := t.read(&snapshots[i])
			for _, bucket := range h.Buckets() {
				bound := "+Inf"
				if bucket.Bound != 0 {
					bound = number(bucket.Bound.Seconds())
				}
				b = appendLine(b, metric+"_bucket", strconv.FormatUint(bucket.Count, 10), labels[i], `le="`+bound+`"`)
			}
			b = appendLine(b, metric+"_sum", number(h.Seconds()), labels[i])
			b = appendLine(b, metric+"_count", strconv.FormatUint(h.Count(), 10), labels[i])
		}
	}
	return b
}

// escaper writes the value of a label.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// word is a name of an enumeration as labels are written.
func word(name string) string { return strings.ReplaceAll(name, " ", "_") }

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// appendLine appends one value with those of its labels that there are.
func appendLine(b []byte, metric, value string, labels ...string) []byte {
	b = append(b, metric...)
	labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" })
	if len(labels) > 0 {
		b = append(b, '{')
		b = append(b, strings.Join(labels, ",")...)
		b = append(b, '}')
	}
	b = append(b, ' ')
	b = append(b, value...)
	return append(b, '\n')
}
