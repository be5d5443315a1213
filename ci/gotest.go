package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string
	FailedBuild string
}

// stream turns the events of one go test into a result.
//
// The exit code is 1 for a failing test, a build failure and a crash alike, so
// the events decide which it was. A test that began and never ended failed, and
// so did a package that ended badly without naming a test: neither has a failing
// test event of its own.
type stream struct {
	module string
	onEnd  func(e event)            // a test passed
	onText func(pkg, output string) // a line of output; the last one of a package may lack its end

	line   []byte            // the unfinished last line
	half   map[string]string // of each package, its unfinished line: go test cuts long ones in pieces
	noise  strings.Builder   // what is not an event
	texts  map[event]*strings.Builder
	open   map[event]bool
	failed map[event]bool
	result result
}

func newStream(module string) *stream {
	return &stream{
		module: module,
		half:   map[string]string{},
		texts:  map[event]*strings.Builder{},
		open:   map[event]bool{},
		failed: map[event]bool{},
		result: result{counts: map[string]int{}},
	}
}

// Write takes the standard output of go test in pieces of any size.
func (s *stream) Write(p []byte) (int, error) {
	s.line = append(s.line, p...)
	for {
		line, rest, found := bytes.Cut(s.line, []byte("\n"))
		if !found {
			return len(p), nil
		}
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			fmt.Fprintf(&s.noise, "%s\n", line)
		} else {
			s.take(e)
		}
		s.line = rest
	}
}

func (s *stream) take(e event) {
	key := event{Package: e.Package, Test: e.Test}
	switch e.Action {
	case "build-output":
		s.text(event{ImportPath: e.ImportPath}).WriteString(e.Output)
	case "output":
		s.text(key).WriteString(e.Output)
		s.say(e.Package, e.Output)
	case "start", "run":
		s.open[key] = true
	case "pass", "fail", "skip":
		s.end(e, key)
	}
}

// say hands on the whole lines.
func (s *stream) say(pkg, output string) {
	if s.onText == nil {
		return
	}
	text := s.half[pkg] + output
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "\n") {
			s.onText(pkg, line)
		}
	}
	s.half[pkg] = text[strings.LastIndexByte(text, '\n')+1:]
}

func (s *stream) end(e, key event) {
	delete(s.open, key)
	switch {
	case e.Action == "fail" && e.FailedBuild != "":
		s.fail(s.short(e.Package)+": build failed", event{ImportPath: e.FailedBuild})
	case e.Action == "fail" && e.Test == "":
		s.endBadly(e.Package)
	case e.Action == "fail":
		s.failed[key] = true
		if !s.failedBelow(key) {
			s.fail(s.short(e.Package)+" "+e.Test, key)
		}
	case e.Action == "skip" && e.Test == "":
		s.result.counts["packages without tests"]++
	case e.Action == "skip" && strings.HasPrefix(e.Test, "Fuzz"):
		s.result.counts["corpus entries refused"]++ // the input is not one that the target judges
	case e.Action == "skip":
		s.fail(s.short(e.Package)+" "+e.Test+": skipped, so it did not run", key)
	case e.Test == "":
		s.endWell(e.Package)
	default:
		s.result.passed++
		s.result.counts[kind(e.Test)]++
		if s.onEnd != nil {
			s.onEnd(e)
		}
		delete(s.texts, key)
	}
}

// endWell drops the benchmarks of a package, which begin and have no end event.
func (s *stream) endWell(pkg string) {
	s.result.counts["packages"]++
	for k := range s.open {
		if k.Package == pkg && kind(k.Test) == "benchmarks" {
			delete(s.open, k)
		}
	}
}

// endBadly names what a failed package did not: the tests it left open, or
// itself if it has no failing test at all.
func (s *stream) endBadly(pkg string) {
	named := s.failUnfinished(pkg)
	for k := range s.failed {
		named = named || k.Package == pkg
	}
	if !named {
		s.fail(s.short(pkg)+": failed without a failing test", event{Package: pkg})
	}
}

func (s *stream) failUnfinished(pkg string) bool {
	var left []event
	for k := range s.open {
		if k.Package == pkg {
			left = append(left, k)
			delete(s.open, k)
		}
	}
	for _, k := range left {
		s.fail(strings.TrimSpace(s.short(pkg)+" "+k.Test)+": did not finish", k)
	}
	return len(left) > 0
}

func (s *stream) failedBelow(parent event) bool {
	for k := range s.failed {
		if k.Package == parent.Package && strings.HasPrefix(k.Test, parent.Test+"/") {
			return true
		}
	}
	return false
}

// finish closes the books: stderr holds what go itself had to say.
func (s *stream) finish(exit int, err error, stderr string) result {
	if len(s.line) > 0 {
		fmt.Fprintf(&s.noise, "%s\n", s.line)
	}
	for _, pkg := range slices.Sorted(maps.Keys(s.half)) {
		if rest := s.half[pkg]; rest != "" {
			s.onText(pkg, rest)
		}
	}
	pkgs := map[string]bool{}
	for k := range s.open {
		pkgs[k.Package] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(pkgs)) {
		s.failUnfinished(pkg)
	}
	said := strings.TrimSpace(stderr + "\n" + s.noise.String())
	switch {
	case err != nil:
		s.result.fail("go test did not finish", err.Error()+"\n"+said)
	case exit != 0 && len(s.result.failures) == 0:
		s.result.fail(fmt.Sprintf("go test ended with exit code %d and named no failure", exit), said)
	}
	return s.result
}

func (s *stream) text(key event) *strings.Builder {
	b := s.texts[key]
	if b == nil {
		b = new(strings.Builder)
		s.texts[key] = b
	}
	return b
}

func (s *stream) fail(name string, key event) {
	s.result.fail(name, s.text(key).String())
}

func (s *stream) short(pkg string) string {
	if pkg == s.module {
		return "."
	}
	return strings.TrimPrefix(pkg, s.module+"/")
}

// kind names what a test is counted as.
func kind(test string) string {
	switch {
	case strings.HasPrefix(test, "Benchmark"):
		return "benchmarks"
	case strings.HasPrefix(test, "Fuzz") && strings.Contains(test, "/"):
		return "corpus entries"
	case strings.HasPrefix(test, "Fuzz"):
		return "fuzz targets"
	case strings.Contains(test, "/"):
		return "subtests"
	case strings.HasPrefix(test, "Example"):
		return "examples"
	default:
		return "tests"
	}
}

// goTest runs go test with args and returns what its events say. The vet layer
// does what go test would otherwise repeat.
func (w *workspace) goTest(ctx context.Context, s *stream, env []string, args ...string) result {
	return w.goTestIn(ctx, w.root, s, env, args...)
}

// goTestIn is goTest in a folder.
func (w *workspace) goTestIn(ctx context.Context, dir string, s *stream, env []string, args ...string) result {
	argv := []string{"go", "test", "-json", "-vet=off"}
	if w.fresh {
		argv = append(argv, "-count=1")
	}
	var stderr strings.Builder
	exit, err := w.exec(ctx, command{
		dir: dir, env: append(w.settings.env(), env...), argv: append(argv, args...), out: s, err: &stderr,
	})
	return s.finish(exit, err, stderr.String())
}
