package main

import (
	"context"
	"path"
	"path/filepath"
	"strings"
)

// adapters vets and tests the modules beside the library, each by its own go.mod.
func adapters(ctx context.Context, w *workspace) result {
	r := result{counts: map[string]int{}}
	folders, err := w.modules(ctx, "adapters")
	switch {
	case err != nil:
		r.fail("list the modules", err.Error())
		return r
	case len(folders) == 0:
		r.notRun = "there is no module in adapters"
		return r
	}
	module, _, err := w.packages(ctx)
	if err != nil {
		r.fail("list the packages", err.Error())
		return r
	}
	r.counts["modules"] = len(folders)
	for _, folder := range folders {
		dir := filepath.Join(w.root, filepath.FromSlash(folder))
		r.add(w.judgeIn(ctx, dir, "go", "vet", "./..."))
		r.add(w.goTestIn(ctx, dir, newStream(module), []string{"CGO_ENABLED=1"}, "-race", "./..."))
	}
	return r
}

// modules returns the folders within a folder that are modules of their own.
func (w *workspace) modules(ctx context.Context, within string) (folders []string, err error) {
	files, err := w.files(ctx)
	for _, f := range files {
		if path.Base(f) == "go.mod" && strings.HasPrefix(f, within+"/") {
			folders = append(folders, path.Dir(f))
		}
	}
	return folders, err
}
