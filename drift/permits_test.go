package drift

import "testing"

func TestPermits(t *testing.T) { judge(t, Permits) }

func TestPermits_ReportsWhatDoesNotExist(t *testing.T) {
	sound := "-- drift/lattice.txt --\npkg < pkg/policy\nos !<code pkg/** except pkg/door.go   # one door\n"
	for _, top := range topFolders {
		sound += "-- " + top + "/README.md --\nx\n"
	}
	sound += "-- pkg/door.go --\npackage poise\n-- pkg/policy/doc.go --\npackage policy\n"
	plant(t, Permits, sound, []fault{
		{"a folder that the lattice permits", `
-- drift/lattice.txt --
pkg < pkg/policy, pkg/extra
os !<code pkg/** except pkg/window.go   # one window
`, []string{"drift/lattice.txt:1 there is no pkg/extra", "drift/lattice.txt:2 there is no pkg/window.go"}},
		{"a top-level folder", "-- fuzz/README.md --\n", []string{"drift/lattice.txt:1 there is no fuzz"}},
	})
}
