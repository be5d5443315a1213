package main

import (
	"context"
	"errors"
	"strings"
)

// platforms are where the library is vetted besides the machine at hand: one where
// int has 32 bits, and one whose bytes are in the other order.
var platforms = []string{"GOARCH=386", "GOARCH=s390x"}

// goldens are the tests of what may differ nowhere: streams, tables, vectors.
const goldens = "Golden|Vector|Frozen"

// onPlatforms vets the tree for each platform, and runs the goldens where int has 32
// bits. Processors for amd64 run programs for 386.
func onPlatforms(ctx context.Context, w *workspace) (r result) {
	r.counts, r.figures = map[string]int{}, map[string]float64{}
	for _, platform := range platforms {
		r.add(w.vetFor(ctx, platform))
	}
	module, pkgs, err := w.packages(ctx, "pkg")
	if bad, stop := cannot(pkgs, err, "there is no package in pkg"); stop {
		return bad
	}
	r.add(w.goTest(ctx, newStream(module), []string{"GOARCH=386", "CGO_ENABLED=0"}, append([]string{"-run", goldens}, paths(pkgs)...)...))
	return r
}

// vetFor runs go vet for one platform.
func (w *workspace) vetFor(ctx context.Context, platform string) (r result) {
	var out strings.Builder
	argv := []string{"go", "vet", "./..."}
	exit, err := w.exec(ctx, command{dir: w.root, env: []string{platform, "CGO_ENABLED=0"}, argv: argv, out: &out, err: &out})
	if err == nil && exit != 0 {
		err = errors.New(strings.TrimSpace(out.String()))
	}
	if err != nil {
		r.fail(platform+" "+strings.Join(argv, " "), err.Error())
		return r
	}
	r.passed++
	return r
}
