package drift

import "regexp"

// longestContract is how many sentences the Contract of one type may have. A reader
// holds no more in mind; what belongs to a method stands there.
const longestContract = 10

const contractsFile = "drift/contracts.txt"

var longerContract = regexp.MustCompile(`^(\S+)\s+(\d+)\s+#\s*(\S.*)$`)

// Contracts checks that no Contract is longer than a reader can hold in mind. Those
// that are stand in a list with their length and the reason, so that they can grow
// no further, and a line goes when it is needed no more.
func Contracts(repo *Repo) Report {
	report := Report{Checker: "contracts", Things: "Contracts"}
	type exception struct{ length, line int }
	exceptions := map[string]exception{}
	for _, line := range numbered(repo.text(contractsFile)) {
		if line.text == "" || line.text[0] == '#' {
			continue
		}
		parts := longerContract.FindStringSubmatch(line.text)
		if parts == nil {
			report.fail(contractsFile, line.line, "write folder.Name 12 # why", "the line %q is none", line.text)
			continue
		}
		exceptions[parts[1]] = exception{number(parts[2]), line.line}
	}
	for _, file := range repo.public() {
		var ignored Report // what is wrong with the bullets is Claims' to say
		for _, decl := range file.exportedDecls() {
			length := len(file.contract(decl, &ignored))
			if length == 0 {
				continue
			}
			report.Checked++
			name := file.Folder + "." + decl.name
			e, listed := exceptions[name]
			delete(exceptions, name)
			switch {
			case listed && length <= longestContract:
				report.fail(contractsFile, e.line, "delete the line", "the Contract of %s has %d sentences and needs no exception", name, length)
			case listed && length != e.length:
				report.fail(contractsFile, e.line, "write the number that is true; it may only fall",
					"the Contract of %s has %d sentences, and the list says %d", name, length, e.length)
			case !listed && length > longestContract:
				report.fail(file.Path, decl.line, "move what belongs to a method there, or make two types",
					"the Contract of %s has %d sentences, more than %d", name, length, longestContract)
			}
		}
	}
	for name, e := range exceptions {
		report.fail(contractsFile, e.line, "delete the line", "there is no Contract of %s", name)
	}
	return report
}
