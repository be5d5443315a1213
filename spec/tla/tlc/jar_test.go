package tlc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind_SaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context()); err == nil || !strings.Contains(err.Error(), "default-jre-headless") {
		t.Errorf("without Java: got %v", err)
	}
	if err := fetch(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "install maven") {
		t.Errorf("without Maven: got %v", err)
	}
}

func TestCached_RefusesAJarOfAnotherHash(t *testing.T) {
	folder := t.TempDir()
	put := func(_ context.Context, into string) error {
		return os.WriteFile(filepath.Join(into, jarName), []byte("no jar"), 0o600)
	}
	if _, err := cached(t.Context(), folder, put); err == nil || !strings.Contains(err.Error(), digest) {
		t.Errorf("fetched: got %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("a jar of another hash stays behind: %v", left)
	}
	if err := put(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, string) error { return errors.New("fetched although there is a jar") }
	if _, err := cached(t.Context(), folder, never); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("in the cache: got %v", err)
	}
}

func TestCached_ReportsAFailedFetch(t *testing.T) {
	want := errors.New("no network")
	if _, err := cached(t.Context(), t.TempDir(), func(context.Context, string) error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
