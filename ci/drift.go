package main

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/copyleftdev/poise-go/ci/record"
)

// evidenceLine is how the checker of claims says which checks quote a type's
// promises.
var evidenceLine = regexp.MustCompile(`\bevidence: (\{.*\})\n?$`)

// drift compares the texts with the code, and takes over what is the evidence of
// each type. A run that names no evidence is one whose lines nobody understood.
func drift(ctx context.Context, w *workspace) result {
	module, pkgs, err := w.packages(ctx, "drift")
	if r, stop := cannot(pkgs, err, "there is no package in drift"); stop {
		return r
	}
	s := newStream(module)
	var rows []record.Evidence
	s.onText = func(_, output string) {
		m := evidenceLine.FindStringSubmatch(output)
		if m == nil {
			return
		}
		var row record.Evidence
		if json.Unmarshal([]byte(m[1]), &row) == nil {
			rows = append(rows, row)
		}
	}
	r := w.goTest(ctx, s, nil, paths(pkgs)...)
	r.evidence = rows
	if len(rows) == 0 && len(r.failures) == 0 {
		r.fail("drift named no evidence", "")
	}
	return r
}
