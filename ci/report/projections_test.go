package report_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
)

func TestProjections_JUnitAddsUp(t *testing.T) {
	type suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	}
	var all struct {
		XMLName xml.Name `xml:"testsuites"`
		suite
		Suites []suite `xml:"testsuite"`
	}
	text := files(t, full, unitFails, raceDoesNotRun)["junit.xml"]
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	r := base(t)
	unitFails(&r)
	raceDoesNotRun(&r)
	passed, failed := r.Totals() // the layer that did not run counts as one failed there
	tests, failures, skipped := 0, 0, 0
	for _, s := range all.Suites {
		tests, failures, skipped = tests+s.Tests, failures+s.Failures, skipped+s.Skipped
		shownFailures, shownSkipped := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				shownFailures++
			}
			if c.Skipped != nil {
				shownSkipped++
			}
		}
		if shownFailures != s.Failures || shownSkipped != s.Skipped {
			t.Errorf("%s counts %d failures and %d skipped, and shows %d and %d", s.Name, s.Failures, s.Skipped, shownFailures, shownSkipped)
		}
	}
	if len(all.Suites) != len(r.Layers) || tests != passed+failed || all.Tests != tests || all.Failures != failures || failures+skipped != failed || all.Skipped != skipped {
		t.Errorf("%d suites, %d of %d tests, %d of %d failed, %d of %d skipped; the record has %d and %d", len(all.Suites), tests, all.Tests, failures, all.Failures, skipped, all.Skipped, passed, failed)
	}
	if c := all.Suites[3].Cases; len(c) != 2 || c[1].Failure.Message != "pkg TestX" || !strings.Contains(c[1].Failure.Text, "boom") {
		t.Errorf("the failure reads %+v", c)
	}
}

func TestProjections_SARIFNamesEachFailureAndItsPlace(t *testing.T) {
	var all struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(files(t, unitFails, raceDoesNotRun)["failures.sarif"]), &all); err != nil {
		t.Fatal(err)
	}
	if all.Version != "2.1.0" || len(all.Runs) != 1 || len(all.Runs[0].Results) != 2 {
		t.Fatalf("got %+v, want one run with two results", all)
	}
	rules, results := all.Runs[0].Tool.Driver.Rules, all.Runs[0].Results
	for _, r := range results {
		if rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" {
			t.Errorf("%+v does not name its rule", r)
		}
	}
	at := results[0].Locations[0].PhysicalLocation
	if results[0].Level != "error" || at.ArtifactLocation.URI != "pkg/x_test.go" || at.Region.StartLine != 7 {
		t.Errorf("the failure is %+v, want it at pkg/x_test.go:7", results[0])
	}
	if results[1].Level != "warning" || !strings.HasPrefix(results[1].Message.Text, "not run: ") || results[1].Locations != nil {
		t.Errorf("what did not run is %+v", results[1])
	}
	if none := files(t)["failures.sarif"]; !strings.Contains(none, `"results": []`) {
		t.Errorf("without failures it reads\n%s", none)
	}
}

func TestProjections_BadgeAndSummarySayTheHeadline(t *testing.T) {
	for _, c := range []struct{ message, color string }{{"10 of 10 layers passed, 1 of", "yellow"}, {"8 of 10 layers passed, 1 of", "red"}} {
		all := files(t)
		if c.color == "red" {
			all = files(t, unitFails, raceDoesNotRun)
		}
		var badge struct {
			SchemaVersion         int
			Label, Message, Color string
		}
		if err := json.Unmarshal([]byte(all["badge.json"]), &badge); err != nil {
			t.Fatal(err)
		}
		if badge.SchemaVersion != 1 || badge.Color != c.color || !strings.HasPrefix(badge.Message, c.message) {
			t.Errorf("the badge is %+v, want %+v", badge, c)
		}
	}
	text := files(t, unitFails, raceDoesNotRun)["summary.md"]
	mustHold(t, text, "# Verification: 1 layer of 10 failed: unit; not run: race; 1 of", "| race | not run | – | – |", "speed bounds are over", "| RoundRobin, one pick |")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 6 && strings.Count(line, "|") != 4 {
			t.Errorf("a row has another number of cells: %s", line)
		}
	}
}
