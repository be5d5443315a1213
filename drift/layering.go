package drift

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

const latticeFile = "drift/lattice.txt"

// topFolders are the folders of the tree; design and documents know no others.
var topFolders = []string{
	"pkg", "spec", "models", "linearizability", "fuzz", "drift", "ci", "docs", "examples", "sim", "mutation", "internal", "adapters",
}

// lattice is the parsed form of the lattice file.
type lattice struct {
	paths   map[string]string // short name → import path
	nodes   map[string]bool   // folders of this repository
	modules map[string]bool
	allowed map[edge]edgeKind
	refused []refusal
	uses    map[string]map[string]int // clock or goroutine → file → line of the lattice
}

// edge says that the folder at to imports from.
type edge struct{ from, to string }

type edgeKind struct{ anyFile, test bool }

type refusal struct {
	from, to, except []string
	code             bool // tests are free
	deep             bool // so is nothing that they import, directly or not
	why              string
	line             int
}

// Layering checks every import of the tree against the lattice.
func Layering(repo *Repo) Report {
	report := Report{Checker: "layering", Things: "imports"}
	l := parseLattice(repo, &report)
	l.contradictions(&report)
	checkTopFolders(repo, &report)
	for _, file := range repo.Go {
		home := l.home(file.Folder)
		if home == "" {
			report.fail(file.Path, 1, "move the file, or add the folder and its reason to "+latticeFile,
				"the folder %s is not in the lattice", file.Folder)
			continue
		}
		for _, spec := range file.Syntax.Imports {
			report.Checked++
			imported := strings.Trim(spec.Path.Value, `"`)
			line := file.line(spec.Pos())
			name := ""
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." {
				report.fail(file.Path, line, "import it under its name", "a dot import hides where a name comes from")
			}
			if imported == repo.Module+"/pkg" && name != "poise" {
				report.fail(file.Path, line, `write poise "`+imported+`"`,
					"folder and package name of the root package differ and the import does not say so")
			}
			l.check(repo, file, home, imported, line, &report)
		}
	}
	for _, no := range l.refused {
		if no.deep {
			l.checkDeep(repo, no, &report)
		}
	}
	return report
}

// checkDeep follows the imports of a refusal's folders through the tree, tests left
// out, and reports who imports what they must do without.
func (l *lattice) checkDeep(repo *Repo, no refusal, report *Report) {
	for _, to := range no.to {
		by := map[string]string{to: ""} // the folder that imports it
		for queue := []string{to}; len(queue) > 0; queue = queue[1:] {
			folder := queue[0]
			for _, file := range repo.Go {
				if file.Folder != folder || file.Test {
					continue
				}
				for _, spec := range file.Syntax.Imports {
					imported := strings.Trim(spec.Path.Value, `"`)
					if slices.Contains(no.from, l.nameOf(repo, imported)) && folder != to {
						chain := folder
						for f := by[folder]; f != ""; f = by[f] {
							chain = f + " imports " + chain
						}
						report.fail(file.Path, file.line(spec.Pos()), "do without it, because "+no.why, "%s, which imports %s", chain, imported)
					}
					next, ours := strings.CutPrefix(imported, repo.Module+"/")
					if _, seen := by[next]; ours && !seen {
						by[next] = folder
						queue = append(queue, next)
					}
				}
			}
		}
	}
}

func checkTopFolders(repo *Repo, report *Report) {
	seen := map[string]bool{}
	for _, name := range repo.Files {
		top, _, inFolder := strings.Cut(name, "/")
		if !inFolder || seen[top] || strings.HasPrefix(top, ".") || slices.Contains(topFolders, top) {
			continue
		}
		seen[top] = true
		report.fail(name, 1, "put it into one of "+strings.Join(topFolders, ", "), "the top-level folder %s is not part of the tree", top)
	}
}

// check judges one import.
func (l *lattice) check(repo *Repo, file *GoFile, home, imported string, line int, report *Report) {
	from := l.nameOf(repo, imported)
	if l.modules[home] || from == home {
		return
	}
	for _, no := range l.refused {
		if no.refuses(from, home, file) {
			report.fail(file.Path, line, "do without it, because "+no.why, "%s imports %s", home, imported)
			return
		}
	}
	if isStandard(imported) {
		return
	}
	kind := l.allowed[edge{from, home}]
	switch {
	case kind.anyFile || kind.test && file.Test:
	case kind.test:
		report.fail(file.Path, line, "move the code that needs it into a _test.go file", "%s imports %s outside its tests", home, imported)
	default:
		report.fail(file.Path, line, "do without it, or add a line with its reason to "+latticeFile,
			"%s imports %s and the lattice does not let it", home, imported)
	}
}

func (no refusal) refuses(from, home string, file *GoFile) bool {
	return slices.Contains(no.from, from) && slices.Contains(no.to, home) && !(no.code && file.Test) &&
		!slices.Contains(no.except, home) && !slices.Contains(no.except, file.Path)
}

// nameOf returns the name by which the lattice knows an import path.
func (l *lattice) nameOf(repo *Repo, imported string) string {
	if folder, ok := strings.CutPrefix(imported, repo.Module+"/"); ok {
		if home := l.home(folder); home != "" {
			return home
		}
		return folder
	}
	for name, prefix := range l.paths {
		if under(imported, prefix) {
			return name
		}
	}
	return imported
}

// home returns the name under which the lattice knows a folder, "" for none.
func (l *lattice) home(folder string) string {
	for name := folder; name != "."; name = path.Dir(name) {
		if l.modules[name] {
			return name
		}
		if l.nodes[name] && (name == folder || !under(name, "pkg")) {
			return name
		}
	}
	return ""
}

// isStandard reports whether the import path belongs to the standard library,
// whose first element alone has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// contradictions reports what one line allows and another refuses.
func (l *lattice) contradictions(report *Report) {
	for _, no := range l.refused {
		for _, from := range no.from {
			for _, to := range no.to {
				kind := l.allowed[edge{from, to}]
				if (kind.anyFile || kind.test && !no.code) && !slices.Contains(no.except, to) {
					report.fail(latticeFile, no.line, "decide which of the two holds",
						"another line allows %s < %s, which this one refuses", from, to)
				}
			}
		}
	}
}

var (
	latticeRule = regexp.MustCompile(`^(.+?)\s+(<|<test|!<|!<code|!<deep)\s+(.+?)(?:\s+except\s+(.+))?$`)
	latticeName = regexp.MustCompile(`^(\S+)\s+=\s+(\S+)$`)
	latticeUse  = regexp.MustCompile(`^(clock|goroutine)\s+in\s+(.+)$`)
)

// parseLattice reads the file twice: pkg/** in any line means every folder that
// some line names.
func parseLattice(repo *Repo, report *Report) *lattice {
	l := &lattice{
		paths: map[string]string{}, nodes: map[string]bool{}, modules: map[string]bool{}, allowed: map[edge]edgeKind{},
		uses: map[string]map[string]int{"clock": {}, "goroutine": {}},
	}
	text := repo.text(latticeFile)
	if text == "" {
		report.fail(latticeFile, 1, "write down who may import whom", "there is no lattice")
	}
	l.readNames(text)
	for _, line := range numbered(text) {
		rule, why, _ := strings.Cut(line.text, "#")
		rule, why = strings.TrimSpace(rule), strings.TrimSpace(why)
		if rule == "" || latticeName.MatchString(rule) {
			continue
		}
		if parts := latticeUse.FindStringSubmatch(rule); parts != nil {
			l.readUse(parts[1], parts[2], why, line.line, report)
			continue
		}
		if folder, ok := strings.CutPrefix(rule, "module "); ok {
			l.modules[folder] = true
			if why == "" {
				report.fail(latticeFile, line.line, "write it after a #", "the module %s has no reason", folder)
			}
			if !slices.Contains(repo.Modules, folder) {
				report.fail(latticeFile, line.line, "delete the line, or add the module", "%s is no module of its own", folder)
			}
			continue
		}
		l.readRule(rule, why, line.line, report)
	}
	return l
}

func (l *lattice) readNames(text string) {
	for line := range strings.Lines(text) {
		rule, _, _ := strings.Cut(line, "#")
		rule = strings.TrimSpace(rule)
		if parts := latticeName.FindStringSubmatch(rule); parts != nil {
			l.paths[parts[1]] = parts[2]
		}
	}
	for line := range strings.Lines(text) {
		rule, _, _ := strings.Cut(line, "#")
		parts := latticeRule.FindStringSubmatch(strings.TrimSpace(rule))
		if parts == nil {
			continue
		}
		for _, name := range append(splitList(parts[1]), splitList(parts[3])...) {
			top, _, _ := strings.Cut(name, "/")
			if slices.Contains(topFolders, top) && !strings.HasSuffix(name, "/**") {
				l.nodes[name] = true
			}
		}
	}
}

func (l *lattice) readRule(rule, why string, number int, report *Report) {
	parts := latticeRule.FindStringSubmatch(rule)
	if parts == nil {
		report.fail(latticeFile, number, "use one of the forms at the top of the file", "the line %q is no rule", rule)
		return
	}
	from, to := l.expand(parts[1]), l.expand(parts[3])
	if strings.HasPrefix(parts[2], "!") {
		if why == "" {
			report.fail(latticeFile, number, "write it after a #", "the refusal has no reason")
		}
		l.refused = append(l.refused, refusal{
			from: from, to: to, except: l.expand(parts[4]), code: parts[2] != "!<", deep: parts[2] == "!<deep", why: why, line: number,
		})
		return
	}
	for _, a := range from {
		for _, b := range to {
			kind := l.allowed[edge{a, b}]
			kind.anyFile = kind.anyFile || parts[2] == "<"
			kind.test = true
			l.allowed[edge{a, b}] = kind
		}
	}
}

// readUse reads which files may keep a clock or start a goroutine. A folder is none:
// each file gives its own reason.
func (l *lattice) readUse(what, list, why string, number int, report *Report) {
	if why == "" {
		report.fail(latticeFile, number, "write it after a #", "the %s has no reason", what)
	}
	for _, name := range splitList(list) {
		if !strings.HasSuffix(name, ".go") {
			report.fail(latticeFile, number, "name its files one by one", "%s is no Go file", name)
		}
		l.uses[what][name] = number
	}
}

// expand turns a list of the file into names, pkg/** into all it stands for.
func (l *lattice) expand(list string) []string {
	var names []string
	for _, name := range splitList(list) {
		folder, wild := strings.CutSuffix(name, "/**")
		if !wild {
			names = append(names, name)
			continue
		}
		for node := range l.nodes {
			if under(node, folder) {
				names = append(names, node)
			}
		}
	}
	slices.Sort(names)
	return names
}

func splitList(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
