package drift

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	countMark  = regexp.MustCompile(`<!--\s*count:([a-z-]+)\s*-->(.*?)<!--\s*/count\s*-->`)
	digits     = regexp.MustCompile(`\d+`)
	countBegin = regexp.MustCompile(`<!--\s*count:|<!--\s*/count`)
)

// countNames says what each marker counts, for whoever writes one.
var countNames = map[string]string{
	"policies":         "policy types of pkg/policy that declare themselves a poise.Policy",
	"laws":             "functions of pkg/policytest that claim a promise",
	"contract-bullets": "Contract bullets of pkg",
	"fuzz-targets":     "fuzz targets of the tree",
	"make-targets":     "targets that make help lists",
}

// Counts checks the numbers that documents derive from the source. A number
// without a marker is an opinion; a marker makes it a fact that a test keeps.
func Counts(repo *Repo) Report {
	report := Report{Checker: "counts", Things: "count markers"}
	values := countValues(repo)
	seen := map[string]bool{}
	for _, doc := range repo.documents() {
		doc.tangled(&report)
		doc.hidden(&report, "a count marker", countMark, countBegin)
		for _, line := range doc.prose {
			marks := countMark.FindAllStringSubmatch(line.text, -1)
			if len(countBegin.FindAllString(line.text, -1)) != 2*len(marks) {
				report.fail(doc.path, line.line, "write <!-- count:name -->5<!-- /count --> on one line", "a count marker is torn")
			}
			for _, mark := range marks {
				report.Checked++
				name, written := mark[1], mark[2]
				value, known := values[name]
				seen[name] = true
				switch {
				case !known:
					report.fail(doc.path, line.line, "use one of "+strings.Join(slices.Sorted(maps.Keys(countNames)), ", "), "nothing counts %q", name)
				case written != strconv.Itoa(value):
					report.fail(doc.path, line.line, "write "+strconv.Itoa(value), "the text says %q for %s", written, countNames[name])
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] > 0 && !seen[name] {
			report.fail("README.md", 1, "state the number once, in the README or where a reader looks for it",
				"no document states count:%s, the %s", name, countNames[name])
		}
	}
	return report
}

func countValues(repo *Repo) map[string]int {
	values := map[string]int{"policies": len(policiesOf(repo))}
	_, claims := Claims(repo)
	values["contract-bullets"] = claims.Bullets
	for _, listed := range makeTargets(repo) {
		if listed {
			values["make-targets"]++
		}
	}
	for _, file := range repo.Go {
		for _, decl := range file.functions() {
			if file.isFuzzTarget(decl) {
				values["fuzz-targets"]++
			}
			if file.isLaw(decl) {
				values["laws"]++
			}
		}
	}
	return values
}

// hidden reports markers that nobody would read: in a code span that an open backtick
// makes, or in one that is no example of a marker.
func (d *document) hidden(report *Report, what string, whole, begin *regexp.Regexp) {
	for _, span := range d.spans {
		rest := whole.ReplaceAllString(span.text, "")
		switch {
		case begin.MatchString(rest):
			report.fail(d.path, span.line, "close the backtick before it", "code hides a part of %s: %.40s", what, span.text)
		case rest != "" && rest != span.text:
			report.fail(d.path, span.line, "close the backtick before it", "code hides %s: %.40s", what, span.text)
		}
	}
}

// tangled reports backticks that nothing closes, and a line that a merge has left
// twice, with two numbers.
func (d *document) tangled(report *Report) {
	for _, line := range d.torn {
		report.fail(d.path, line.line, "close it, or write it as \\`", "a backtick is open: %.40s", line.text)
	}
	for i := 1; i < len(d.prose); i++ {
		before, now := d.prose[i-1], d.prose[i]
		if now.line == before.line+1 && len(now.text) > 40 && digits.ReplaceAllString(before.text, "0") == digits.ReplaceAllString(now.text, "0") &&
			!strings.HasPrefix(now.text, "|") {
			report.fail(d.path, now.line, "delete the one that is not true", "the line above says the same")
		}
	}
}
