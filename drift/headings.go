package drift

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// threeHeadings is the order in which a reader meets them in every type.
var threeHeadings = []string{"Contract", "Cost", "Concurrency"}

// plainMethods are those that print, compare, wrap or encode a value. A type
// that has no others with a pointer receiver is plain data and needs no headings;
// nor does an error, whatever else one can ask it.
var plainMethods = []string{
	"As", "Format", "GoString", "Is", "String", "Unwrap",
	"MarshalBinary", "MarshalJSON", "MarshalText",
	"UnmarshalBinary", "UnmarshalJSON", "UnmarshalText",
}

// Headings checks that types with behaviour say what they promise, what they cost
// and who may use them at once, in this order and under no other heading.
//
// A type has behaviour if it is an interface with an exported method, or has an
// exported method with a pointer receiver that is not one of [plainMethods], and
// is no error. The rule looks at no field and no comment, so that nobody has to
// argue about it.
func Headings(repo *Repo) Report {
	report := Report{Checker: "headings", Things: "types with behaviour"}
	behaves, isError := map[string]bool{}, map[string]bool{}
	for _, file := range repo.public() {
		for _, decl := range file.functions() {
			receiver, pointer := receiverOf(decl)
			name := path.Join(file.Folder, receiver)
			if decl.Name.Name == "Error" {
				isError[name] = true
			}
			if pointer && decl.Name.IsExported() && !slices.Contains(plainMethods, decl.Name.Name) {
				behaves[name] = true
			}
		}
	}
	for _, file := range repo.public() {
		for _, decl := range file.exportedDecls() {
			name := path.Join(file.Folder, decl.name)
			needs := decl.typ != nil && !isError[name] && (behaves[name] || hasExportedMethod(decl.typ))
			if needs {
				report.Checked++
			}
			checkHeadings(decl, needs, &report)
		}
	}
	return report
}

func hasExportedMethod(spec *ast.TypeSpec) bool {
	methods, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return false
	}
	return slices.ContainsFunc(methods.Methods.List, func(field *ast.Field) bool {
		return slices.ContainsFunc(field.Names, (*ast.Ident).IsExported)
	})
}

func checkHeadings(decl declaration, needs bool, report *Report) {
	var found []string
	for _, line := range decl.file.lines(decl.doc) {
		heading, ok := strings.CutPrefix(line.text, "# ")
		if !ok {
			continue
		}
		heading = strings.TrimSpace(heading)
		place := slices.Index(threeHeadings, heading)
		switch {
		case place < 0:
			report.fail(decl.file.Path, line.line, "use Contract, Cost and Concurrency, or say it above them",
				"%s has the heading %s", decl.name, heading)
		case slices.Contains(found, heading):
			report.fail(decl.file.Path, line.line, "join the two sections", "%s has the heading %s twice", decl.name, heading)
		case len(found) > 0 && place < slices.Index(threeHeadings, found[len(found)-1]):
			report.fail(decl.file.Path, line.line, "keep the order Contract, Cost, Concurrency",
				"%s has the heading %s after %s", decl.name, heading, found[len(found)-1])
		}
		found = append(found, heading)
	}
	for _, heading := range threeHeadings {
		if needs && !slices.Contains(found, heading) {
			report.fail(decl.file.Path, decl.line, "add the section; an author who cannot write it has not decided yet",
				"the type %s has behaviour and no heading %s", decl.name, heading)
		}
	}
}
