package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
)

// projections returns the files that programs read. Each is made of the record, and
// a test holds its sums against it.
func projections(v view) ([]File, error) {
	suites, err := junit(v)
	if err != nil {
		return nil, err
	}
	results, err := sarif(v)
	if err != nil {
		return nil, err
	}
	shield, err := badge(v)
	if err != nil {
		return nil, err
	}
	return []File{{"junit.xml", suites}, {"failures.sarif", results}, {"badge.json", shield}, {"summary.md", summary(v)}}, nil
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     float64      `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// junit writes a suite for each layer. The record does not name the checks that
// passed: one case stands for all of a layer, and the counts say how many.
func junit(v view) ([]byte, error) {
	all := junitSuites{Name: "poise", Tests: v.Passed() + v.Failed() + len(v.NotRun()), Failures: v.Failed(), Skipped: len(v.NotRun()), Time: v.Timing.Seconds}
	for _, l := range v.Rows {
		s := junitSuite{
			Name: l.Name, Tests: l.Counts["passed"] + l.Counts["failed"], Failures: l.Counts["failed"],
			Time: l.Timing.Seconds, Timestamp: v.Timing.Started.UTC().Format("2006-01-02T15:04:05"),
		}
		if l.Status == record.NotRun {
			s.Tests, s.Skipped = 1, 1
			s.Cases = append(s.Cases, junitCase{Class: l.Name, Name: "not run", Skipped: &junitSkipped{l.Reason}})
		}
		if n := l.Counts["passed"]; n > 0 {
			s.Cases = append(s.Cases, junitCase{Class: l.Name, Name: plural(n, "check") + " passed"})
		}
		for _, f := range l.Timing.Failures {
			s.Cases = append(s.Cases, junitCase{Class: l.Name, Name: f.Name, Failure: &junitFailure{f.Name, f.Text}})
		}
		all.Suites = append(all.Suites, s)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

type sarifLog struct {
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string      `json:"name"`
			Rules []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifRule struct {
	ID          string    `json:"id"`
	Description sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

// sarif writes a result for each failure and for each layer that did not run.
func sarif(v view) ([]byte, error) {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name = "poise verify"
	for i, l := range v.Rows {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{l.Name, sarifText{l.Shows}})
		for _, f := range l.Timing.Failures {
			run.Results = append(run.Results, sarifResult{l.Name, i, "error", sarifText{strings.TrimSpace(f.Name + "\n" + f.Text)}, place(f)})
		}
		if l.Status == record.NotRun {
			run.Results = append(run.Results, sarifResult{l.Name, i, "warning", sarifText{"not run: " + l.Reason}, nil})
		}
	}
	return pretty(sarifLog{"2.1.0", []sarifRun{run}})
}

// sourceLine is how the go command and its tests name a place.
var sourceLine = regexp.MustCompile(`(?m)(?:^|\s)([\w./-]+\.go):([1-9]\d{0,8})\b`)

// place finds the first place that a failure names. A test names a file without its
// folder, which begins the name of the failure.
func place(f record.Failure) []sarifLocation {
	m := sourceLine.FindStringSubmatch(f.Text)
	if m == nil || path.IsAbs(m[1]) {
		return nil
	}
	folder, _, _ := strings.Cut(f.Name, " ")
	var l sarifLocation
	l.Physical.Artifact.URI = m[1]
	if !strings.Contains(m[1], "/") {
		l.Physical.Artifact.URI = path.Join(strings.TrimSuffix(folder, ":"), m[1])
	}
	l.Physical.Region.StartLine, _ = strconv.Atoi(m[2]) // the pattern admits only digits
	return []sarifLocation{l}
}

// badge writes what a service that draws badges reads.
func badge(v view) ([]byte, error) {
	message, colour := fmt.Sprintf("%d of %d layers passed", len(v.With(record.Passed)), len(v.Layers)), "red"
	switch {
	case v.AllPassed() && v.Bounds.Over == 0:
		colour = "brightgreen"
	case v.AllPassed():
		colour = "yellow"
	}
	if v.Bounds.Over > 0 {
		message += fmt.Sprintf(", %d of %d speed bounds over", v.Bounds.Over, v.Bounds.Speed)
	}
	return pretty(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
	}{1, "verification", message, colour})
}

func pretty(value any) ([]byte, error) {
	b, err := json.MarshalIndent(value, "", "  ")
	return append(b, '\n'), err
}

// markdown keeps a text in its cell.
var markdown = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "`", "'")

// summary writes the headline and the tables of layers and of bounds that are over.
func summary(v view) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Verification: %s\n\nCommit `%s`, %s on %s/%s, %s.\n\n", markdown.Replace(v.Headline), short(v.Commit), v.Toolchain.Go, v.Toolchain.GOOS, v.Toolchain.GOARCH, v.Started())
	b.WriteString("| Layer | Status | Passed | Failed | Does not show |\n| --- | --- | ---: | ---: | --- |\n")
	for _, l := range v.Rows {
		passed, failed := count(l.Counts["passed"]), count(l.Counts["failed"])
		if l.Status == record.NotRun {
			passed, failed = "–", "–"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.Name, l.Status, passed, failed, markdown.Replace(l.NotShown))
	}
	fmt.Fprintf(&b, "| all | | %s | %s | |\n", count(v.Passed()), count(v.Failed()))
	if over := v.BoundsOver().Rows; len(over) > 0 {
		fmt.Fprintf(&b, "\n%d of %d speed bounds are over. They belong to this machine at this moment and fail nothing.\n\n| Bound | Measured | At most |\n| --- | ---: | ---: |\n", v.Bounds.Over, v.Bounds.Speed)
		for _, o := range over {
			fmt.Fprintf(&b, "| %s | %s %s | %s %s |\n", markdown.Replace(o.What), figure(o.Got), o.Unit, figure(o.Limit), o.Unit)
		}
	}
	return b.Bytes()
}
