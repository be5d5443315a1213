package main

import (
	"slices"
	"testing"
)

func TestOnPlatforms_FindsWhatIsWrongElsewhere(t *testing.T) {
	const fault = "package m\n\nimport \"testing\"\n\nfunc TestGolden(t *testing.T) {\n\tif s := uint64(1) << 40; uint64(int(s)) != s {\n\t\tt.Error(\"cut\")\n\t}\n}\n"
	w := realTree(t, map[string]string{
		"pkg/m/a.go": "package m\n", "pkg/m/a_test.go": fault,
		"wide/b.go": "package wide\n\nconst Wide int = 1 << 40\n",
	})
	r := onPlatforms(t.Context(), w)
	if got, want := failureNames(r), []string{"GOARCH=386 go vet ./...", "pkg/m TestGolden"}; !slices.Equal(got, want) || r.passed != 1 {
		t.Errorf("got %d passed and failures %q, want 1 and %q", r.passed, got, want)
	}
}
