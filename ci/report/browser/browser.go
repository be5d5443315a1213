// Package browser names the programs in which the report is tried. Its tests need
// one of them: they are a layer of their own, behind a build tag, so that nobody has
// to skip them.
package browser

import "os/exec"

// Names are the programs that can render a page without a screen, the lightest
// first. Each takes the same flags.
var Names = []string{
	"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Find returns the path of the first of them that is here; "" if none is.
func Find() string {
	for _, name := range Names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
