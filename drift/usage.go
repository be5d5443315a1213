package drift

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// clockCalls are the functions that read a clock or wait for one.
var clockCalls = map[string][]string{
	"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
}

// privateLooks are the ways to a private field or to the name of a function on a
// stack. Evidence speaks public names, or a change of a name would break a proof.
var privateLooks = []string{"FieldByName", "FieldByNameFunc", "FieldByIndex", "UnsafeAddr", "UnsafePointer", "NewAt", "Callers", "CallersFrames", "FuncForPC"}

var (
	evidenceFolders = []string{"spec", "models", "linearizability", "fuzz", "sim"}
	tracesOnly      = "models/explore/replay.go" // prints where a step was made, and decides nothing by it
)

// Usage checks the rules that imports alone cannot tell: where the library keeps
// a clock or starts a goroutine, that no test waits by sleeping, that evidence speaks public names, and that types
// meant for exhaustive interleaving do nothing an explorer cannot schedule.
func Usage(repo *Repo) Report {
	report := Report{Checker: "usage", Things: "explorable files"}
	var ignored Report // what is wrong with the lattice is Layering's to say
	allowed := parseLattice(repo, &ignored).uses
	used := map[string]map[string]bool{"clock": {}, "goroutine": {}}
	for _, file := range repo.Go {
		if file.Test {
			for _, call := range file.uses("time", []string{"Sleep"}) {
				report.fail(file.Path, file.line(call.Pos()), "wait for the event itself, or use testing/synctest", "a test sleeps")
			}
		}
		if under(file.Folder, "pkg") && !file.Test {
			file.checkClockAndGoroutines(allowed, used, &report)
		}
		file.checkPublicNames(&report)
		file.checkExplorable(&report)
	}
	for what, files := range allowed {
		for name, line := range files {
			if !used[what][name] {
				report.fail(latticeFile, line, "delete it from the line", "%s needs no %s, or does not exist", name, what)
			}
		}
	}
	return report
}

// checkClockAndGoroutines notes what the file uses, and reports what the lattice does
// not let it use.
func (f *GoFile) checkClockAndGoroutines(allowed map[string]map[string]int, used map[string]map[string]bool, report *Report) {
	note := func(what string, pos token.Pos, do, wrong string, args ...any) {
		used[what][f.Path] = true
		if _, ok := allowed[what][f.Path]; !ok {
			report.fail(f.Path, f.line(pos), do, wrong, args...)
		}
	}
	for importPath, names := range clockCalls {
		for _, call := range f.uses(importPath, names) {
			note("clock", call.Pos(), "take the instant as a parameter, or name the file in "+latticeFile+" with its reason",
				"%s.%s keeps a clock", importPath, call.Sel.Name)
		}
	}
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		if startsGoroutine(node) {
			note("goroutine", node.Pos(), "let the caller or a runner start it, or name the file in "+latticeFile+" with its reason",
				"the library starts a goroutine")
		}
		return true
	})
}

// checkPublicNames reports evidence that looks at private names.
func (f *GoFile) checkPublicNames(report *Report) {
	if !slices.ContainsFunc(evidenceFolders, func(folder string) bool { return under(f.Path, folder) }) || f.Path == tracesOnly {
		return
	}
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(privateLooks, selector.Sel.Name) {
			report.fail(f.Path, f.line(selector.Sel.Pos()), "use exported operations and the inspection value of the type, or add one",
				"evidence looks at private names by %s", selector.Sel.Name)
		}
		return true
	})
}

// startsGoroutine reports whether the node is a go statement or calls something
// named Go, as those of syncx, sync.WaitGroup and errgroup are.
func startsGoroutine(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		selector, ok := node.Fun.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == "Go"
	}
	return false
}

// checkExplorable reads the mark "// Explorable." and what it promises.
func (f *GoFile) checkExplorable(report *Report) {
	explorable := false
	for _, group := range f.Syntax.Comments {
		for _, line := range f.lines(group) {
			if strings.TrimSpace(line.text) != "Explorable." {
				continue
			}
			explorable = true
			if len(f.Syntax.Decls) > 0 && f.firstDecl().IsValid() && group.Pos() > f.firstDecl() {
				report.fail(f.Path, line.line, "move it to the top: it speaks for the whole file",
					"the mark Explorable stands below a declaration")
			}
		}
	}
	if !explorable {
		return
	}
	report.Checked++
	no := func(pos token.Pos, what string) {
		report.fail(f.Path, f.line(pos), "use pkg/internal/syncx, or remove the mark and say what explores the type instead",
			"an explorable file holds %s, which no explorer can schedule", what)
	}
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ChanType:
			no(node.Pos(), "a channel type")
		case *ast.SendStmt:
			no(node.Arrow, "a send")
		case *ast.UnaryExpr:
			if node.Op == token.ARROW {
				no(node.Pos(), "a receive")
			}
		case *ast.SelectStmt:
			no(node.Pos(), "a select")
		case *ast.GoStmt:
			no(node.Pos(), "a go statement")
		case *ast.SelectorExpr:
			if x, ok := node.X.(*ast.Ident); ok && slices.Contains(f.syncNames(), x.Name) &&
				(node.Sel.Name == "Pool" || node.Sel.Name == "Map") {
				no(node.Pos(), x.Name+"."+node.Sel.Name)
			}
		}
		return true
	})
	for importPath, names := range clockCalls {
		for _, call := range f.uses(importPath, names) {
			no(call.Pos(), importPath+"."+call.Sel.Name)
		}
	}
}

// firstDecl returns where the first declaration other than an import begins, its
// doc included.
func (f *GoFile) firstDecl() token.Pos {
	for _, decl := range f.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Doc != nil {
				return decl.Doc.Pos()
			}
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				continue
			}
			if decl.Doc != nil {
				return decl.Doc.Pos()
			}
		}
		return decl.Pos()
	}
	return token.NoPos
}

// syncNames returns the names by which the file knows package sync and our door
// to it.
func (f *GoFile) syncNames() []string {
	names := []string{"syncx"}
	if name := f.importedAs("sync"); name != "" {
		names = append(names, name)
	}
	return names
}

// uses returns where the file mentions one of the names of a package, called or
// not: a function value reads the clock as well.
func (f *GoFile) uses(importPath string, names []string) []*ast.SelectorExpr {
	local := f.importedAs(importPath)
	if local == "" {
		return nil
	}
	var found []*ast.SelectorExpr
	ast.Inspect(f.Syntax, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, selector.Sel.Name) {
				found = append(found, selector)
			}
		}
		return true
	})
	return found
}
