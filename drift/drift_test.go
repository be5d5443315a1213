package drift

import (
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// realTree reads the repository once for all tests.
var realTree = sync.OnceValues(func() (*Repo, error) { return Load(os.DirFS("..")) })

func repository(t *testing.T) *Repo {
	t.Helper()
	repo, err := realTree()
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// judge runs a checker on the repository itself.
func judge(t *testing.T, check func(*Repo) Report) {
	t.Helper()
	repo := repository(t)
	report := check(repo)
	for _, problem := range report.Verdict(repo) {
		t.Error(problem)
	}
	t.Logf("%d %s", report.Checked, report.Things)
}

// fault is a tree with something wrong in it, and every problem that the checker
// must report: "file:line fragment of the message".
type fault struct {
	name string
	tree string
	want []string
}

// plant runs the checker on a sound tree, where it must be silent, and on the same
// tree overlaid with each fault, where it must report that fault and no other.
func plant(t *testing.T, check func(*Repo) Report, sound string, faults []fault) {
	t.Helper()
	t.Run("is silent on a sound tree", func(t *testing.T) {
		expect(t, check, grow(t, sound), nil)
	})
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			expect(t, check, grow(t, sound, f.tree), f.want)
		})
	}
}

func expect(t *testing.T, check func(*Repo) Report, repo *Repo, want []string) {
	t.Helper()
	problems := check(repo).Verdict(repo)
	for _, w := range want {
		place, fragment, _ := strings.Cut(w, " ")
		found := -1
		for i, problem := range problems {
			if text := problem.String(); strings.HasPrefix(text, place+": ") && strings.Contains(text, fragment) {
				found = i
			}
		}
		if found < 0 {
			t.Errorf("not reported: %s", w)
			continue
		}
		problems = append(problems[:found], problems[found+1:]...)
	}
	for _, problem := range problems {
		t.Errorf("reported without a fault: %s", problem)
	}
}

// grow makes a tree of texts in which a line "-- path --" begins a file. A later
// text replaces the files of an earlier one; an empty file is removed.
func grow(t *testing.T, texts ...string) *Repo {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n")}}
	for _, text := range texts {
		name := ""
		for line := range strings.Lines(text) {
			if marked, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(marked, " --") {
				name = strings.TrimSuffix(marked, " --")
				fsys[name] = &fstest.MapFile{}
				continue
			}
			if name != "" {
				fsys[name].Data = append(fsys[name].Data, line...)
			}
		}
	}
	for name, file := range fsys {
		if len(file.Data) == 0 {
			delete(fsys, name)
		}
	}
	repo, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestVerdict_ReportsACheckerThatLooksAtNothing(t *testing.T) {
	check := func(*Repo) Report { return Report{Checker: "claims", Things: "Contract bullets"} }
	expect(t, check, grow(t), nil)
	expect(t, check, grow(t, "-- pkg/policy/a.go --\npackage policy\n"),
		[]string{"drift/README.md:1 the checker claims found no Contract bullets to look at"})
}

func TestVerdict_SortsByFileAndLine(t *testing.T) {
	report := Report{Checked: 1, Problems: []Problem{{"b", 1, "", ""}, {"a", 2, "", ""}, {"a", 1, "", ""}}}
	var order []string
	for _, problem := range report.Verdict(grow(t)) {
		order = append(order, problem.String())
	}
	if got, want := strings.Join(order, " "), "a:1: ;  a:2: ;  b:1: ; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoad_RefusesWhatItCannotRead(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"a tree without go.mod", "a.txt", "a", "no module line"},
		{"a Go file that does not parse", "pkg/a.go", "package\n", "pkg/a.go:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{c.file: {Data: []byte(c.text)}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestLoad_LeavesOutWhatGoIgnores(t *testing.T) {
	repo := grow(t, `
-- pkg/a.go --
package a
-- pkg/testdata/b.go --
not Go
-- pkg/_c.go --
not Go
-- out/d.go --
not Go
`)
	if len(repo.Go) != 1 || repo.HasFolder("out") {
		t.Errorf("read %d Go files of %v, want pkg/a.go alone and nothing of out", len(repo.Go), repo.Files)
	}
}
