package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/copyleftdev/poise-go/spec/replay"
)

// problem is a breach of form.
type problem struct {
	file string // below spec/tla
	line int
	text string
}

func (p problem) String() string { return fmt.Sprintf("spec/tla/%s:%d: %s", p.file, p.line, p.text) }

// former checks what TLC does not: that specifications, configurations, manifest
// and Go sources fit each other.
type former struct {
	*tree
	repo     fs.FS
	problems []problem
}

// form returns every breach of form in the tree. Its modules speak of Go files in
// the repository.
func form(t *tree, repo fs.FS) []problem {
	f := &former{tree: t, repo: repo}
	f.manifest()
	for _, name := range slices.Sorted(maps.Keys(t.paths)) {
		f.config(name)
	}
	for _, r := range t.rows {
		if _, k, _, _ := spell(r.Config); k == bug || k == witness {
			f.planted(r)
		}
	}
	for _, name := range t.names() {
		f.module(t.modules[name])
	}
	switch text, err := withTable(t.readme, t.table()); {
	case err != nil:
		f.fail(readme, 1, "%v", err)
	case text != t.readme:
		f.fail(readme, 1, "the table of specifications is not theirs; run go run ./spec/tla table")
	}
	return f.problems
}

func (f *former) fail(file string, line int, format string, args ...any) {
	f.problems = append(f.problems, problem{file, line, fmt.Sprintf(format, args...)})
}

func (f *former) manifest() {
	listed := map[string]bool{}
	for _, r := range f.rows {
		_, k, _, ok := spell(r.Config)
		counted := r.Distinct > 0 && r.Depth > 0
		planted := k == bug || k == witness
		_, exists := f.configs[r.Config]
		switch {
		case listed[r.Config]:
			f.fail(manifestFile, r.line, "%s is listed twice", r.Config)
		case !ok:
			f.fail(manifestFile, r.line, "the name %s must be X, X_Live, X_Dump, X_Bug_Name or X_Witness_Name for a module X", r.Config)
		case !exists && planted:
			f.underived(r)
		case !exists:
			f.fail(manifestFile, r.line, "there is no file %s.cfg", r.Config)
		case !planted && (r.Bounds != "" || len(r.With) > 0):
			f.fail(manifestFile, r.line, "%s is a file, so its bounds stand there", r.Config)
		case r.Seconds < 1:
			f.fail(manifestFile, r.line, "%s has no ceiling in seconds", r.Config)
		case planted != (r.Violates != ""):
			f.fail(manifestFile, r.line, "%s must say what it violates exactly if it is a bug or a witness", r.Config)
		case r.Violates == "" && !counted:
			f.fail(manifestFile, r.line, "%s succeeds, so it states distinct states and depth", r.Config)
		}
		listed[r.Config] = true
	}
	for _, name := range slices.Sorted(maps.Keys(f.paths)) {
		switch _, k, _, _ := spell(name); {
		case k == bug || k == witness:
			f.fail(f.paths[name], 1, "the configurations of bugs and witnesses are made from %s; delete the file", manifestFile)
		case !listed[name]:
			f.fail(f.paths[name], 1, "the configuration is not in %s", manifestFile)
		}
	}
}

// underived says why a bug or a witness has no configuration.
func (f *former) underived(r row) {
	if r.Violates == "" {
		f.fail(manifestFile, r.line, "%s must say what it violates exactly if it is a bug or a witness", r.Config)
		return
	}
	_, err := f.derived(r)
	f.fail(manifestFile, r.line, "%s: %v", r.Config, err)
}

// checks returns what the configuration has TLC check.
func (c config) checks() []string { return slices.Concat(c.invariants, c.properties) }

// planted checks a bug's or a witness's row against its module.
func (f *former) planted(r row) {
	of, k, what, _ := spell(r.Config)
	m := f.modules[of]
	asks := regexp.MustCompile(`Bug [=#] "` + what + `"`)
	switch _, defined := m.find(r.Violates); {
	case k == bug && !asks.MatchString(code(m.text)):
		f.fail(manifestFile, r.line, `no line of %s asks whether Bug is "%s"`, m.path, what)
	case k == witness && r.Violates != "Witness_"+what:
		f.fail(manifestFile, r.line, "%s violates its own invariant and nothing else: Witness_%s", r.Config, what)
	case k == witness && !defined:
		f.fail(manifestFile, r.line, "%s does not define %s", m.path, r.Violates)
	}
}

// config checks a configuration that is a file.
func (f *former) config(name string) {
	file := f.paths[name]
	of, k, _, ok := spell(name)
	m, exists := f.modules[of]
	if !ok || !exists {
		f.fail(file, 1, "the name must be X.cfg, X_Live.cfg or X_Dump.cfg for a module X")
		return
	}
	c := parseConfig(f.configs[name])
	if got := c.constants["Bug"]; got != `"None"` {
		f.fail(file, 1, `the constant Bug is %s instead of "None"`, got)
	}
	if slices.Contains(c.others, "SYMMETRY") && len(c.properties) > 0 {
		f.fail(file, 1, "a property under symmetry may be judged wrongly; take one of the two out")
	}
	if (k == live || k == dump) && len(c.others) > 0 {
		f.fail(file, 1, "%s would change the graph that is judged; bound the model by guards", strings.Join(c.others, " and "))
	}
	if k == dump && len(c.properties) > 0 {
		f.fail(file, 1, "a property adds edges to the dumped graph; check it elsewhere")
	}
	for _, p := range c.properties {
		d, found := m.find(p)
		switch {
		case !found:
			f.fail(file, 1, "%s does not define %s", m.path, p)
		case k == safety && !d.single():
			f.fail(file, 1, "%s is temporal, so it belongs into %s_Live.cfg", p, of)
		case k == live && d.single():
			f.fail(file, 1, "%s speaks of single steps, so it belongs into %s.cfg", p, of)
		}
	}
}

func (f *former) module(m module) {
	for _, k := range []string{"", "_Dump"} {
		if _, exists := f.configs[m.name+k]; !exists {
			f.fail(m.path, 1, "there is no %s%s.cfg", m.name, k)
		}
	}
	f.bugs(m)
	f.graph(m)
	for _, d := range m.definitions {
		if _, exists := f.configs[m.name+"_"+d.name]; !exists && strings.HasPrefix(d.name, "Witness_") {
			f.fail(m.path, d.number, "nothing reaches %s; add %s_%s to %s", d.name, m.name, d.name, manifestFile)
		}
	}
	known := f.goNames(m)
	for _, required := range []string{"Models: ", "Go: ", "Left out: "} {
		if !slices.ContainsFunc(m.header, func(l line) bool { return strings.HasPrefix(l.text, required) }) {
			f.fail(m.path, 1, "the comment at the top has no line %s…", required)
		}
	}
	actions := m.actions()
	if len(actions) == 0 {
		f.fail(m.path, 1, "Next names no action")
	}
	for _, a := range actions {
		f.action(m, a)
	}
	for _, d := range m.definitions {
		f.functions(m, d, known)
	}
}

// graph checks that the committed graph is whole and of this specification, as
// far as that can be said without TLC.
func (f *former) graph(m module) {
	file := f.graphFile(m.name)
	text, exists := f.graphs[file]
	if !exists {
		f.fail(m.path, 1, "there is no graph of it; run make tla-graphs")
		return
	}
	g, err := replay.Parse(text)
	switch {
	case err != nil:
		f.fail(file, 1, "%v", err)
	case g.Spec != m.name || g.Source != f.source(m.name):
		f.fail(file, 2, "the graph was made from another text of %s; run make tla-graphs", m.name)
	default:
		if _, err := m.draw(g); err != nil {
			f.fail(m.path, 1, "%v", err)
		}
	}
}

// bugs checks that whatever must hold has a bug that breaks it.
func (f *former) bugs(m module) {
	broken := map[string]bool{}
	for _, r := range f.of(m.name) {
		if _, k, _, _ := spell(r.Config); k == bug {
			broken[r.Violates] = true
		}
	}
	for _, name := range []string{m.name, m.name + "_Live"} {
		for _, check := range parseConfig(f.configs[name]).checks() {
			if check != "TypeOK" && !broken[check] {
				f.fail(f.paths[name], 1, "no bug variant breaks %s", check)
			}
		}
	}
}

// action checks the comment of an action: the Go function whose step it is, or
// the part of the world that acts.
func (f *former) action(m module, a definition) {
	for _, l := range a.comment {
		if strings.HasPrefix(l.text, "World: ") || strings.HasPrefix(l.text, "Go: ") {
			return
		}
	}
	f.fail(m.path, a.number, `%s has no line "\* Go: (*Type).Method, the step." or "\* World: …"`, a.name)
}

// functions checks that the Go functions which a definition is said to be exist.
func (f *former) functions(m module, d definition, known map[string]bool) {
	for _, l := range d.comment {
		text, is := strings.CutPrefix(l.text, "Go: ")
		if name := goName.FindString(text); is && !known[name] {
			f.fail(m.path, l.number, "the Go files that the module names declare no %s", name)
		}
	}
}

var (
	goName = regexp.MustCompile(`^\(\*\w+\)\.\w+|^\w+(?:\.\w+)?`)
	goFile = regexp.MustCompile(`^Go: (\S+\.go) (.+?)\.?$`)
)

// goNames returns what the Go files in the header declare, and checks that they
// declare the types it names.
func (f *former) goNames(m module) map[string]bool {
	known := map[string]bool{}
	for _, l := range m.header {
		found := goFile.FindStringSubmatch(l.text)
		if found == nil {
			if strings.HasPrefix(l.text, "Go: ") {
				f.fail(m.path, l.number, "write Go: file.go Type, Type.")
			}
			continue
		}
		declared, err := declares(f.repo, found[1])
		if err != nil {
			f.fail(m.path, l.number, "%v", err)
			continue
		}
		for _, name := range strings.Split(found[2], ", ") {
			if !declared[name] {
				f.fail(m.path, l.number, "%s declares no %s", found[1], name)
			}
		}
		maps.Copy(known, declared)
	}
	return known
}

// declares returns the names of a Go file's types and functions; methods are
// (*T).M or T.M.
func declares(repo fs.FS, file string) (map[string]bool, error) {
	text, err := fs.ReadFile(repo, path.Clean(file))
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, decl := range syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, is := s.(*ast.TypeSpec); is {
					names[t.Name.Name] = true
				}
			}
		}
	}
	return names, nil
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of, opening, closing := d.Recv.List[0].Type, "", "."
	if star, is := of.(*ast.StarExpr); is {
		of, opening, closing = star.X, "(*", ")."
	}
	if generic, is := of.(*ast.IndexExpr); is {
		of = generic.X
	}
	if name, is := of.(*ast.Ident); is {
		return opening + name.Name + closing
	}
	return ""
}
