package drift

import "testing"

func TestFigures(t *testing.T) { judge(t, Figures) }

const soundFigures = `
-- pkg/health/config.go --
package health

// Config configures.
type Config struct {
	// Most is how many; 1 or more,
	// default 1,024.
	Most int
	// Percent is how much, default 50 %.
	Percent int
	// Off switches off.
	Off bool
}
-- docs/health.md --
At most <!-- default:pkg/health.Config.Most -->1024<!-- /default --> by default, and
<!-- default:pkg/health.Config.Percent -->50 %<!-- /default --> unless set. It costs little.

| Cause | Default |
|---|---|
| much | <!-- default:pkg/health.Config.Percent -->50 %<!-- /default --> |
| more | failure of 3 |

| Other | Number |
|---|---|
| one | 7 |
-- docs/performance.md --
A pick takes 5 ns.
`

func TestFigures_ReportsEveryFault(t *testing.T) {
	plant(t, Figures, soundFigures, []fault{
		{"a default that is no longer true", `
-- docs/more.md --
It is <!-- default:pkg/health.Config.Percent -->60 %<!-- /default --> now.
`, []string{`docs/more.md:1 the text says "60 %" for the default of pkg/health.Config.Percent; write 50`}},
		{"a field without a default, and a torn marker", `
-- docs/more.md --
It is <!-- default:pkg/health.Config.Off -->0<!-- /default --> now.
It is <!-- default:pkg/health.Config.Most -->1024
`, []string{"docs/more.md:1 no field pkg/health.Config.Off states a default", "docs/more.md:2 a marker of a default is torn"}},
		{"defaults that nothing checks", `
-- docs/more.md --
512 by default, 140 % unless set,
and with the default 1.9 it is

| Cause | Default | Why |
|---|---|---|
| rate | 85 % | 3 |
`, []string{"docs/more.md:1 nothing checks the default", "docs/more.md:2 nothing checks the default", `docs/more.md:6 nothing checks the default in "85 %"`}},
		{"a marker that code hides, and an example of one", "\n-- docs/more.md --\nIt is `set to <!-- default:pkg/health.Config.Most -->7<!-- /default --> of `them`.\n\nOr `<!-- default:pkg/health.Config.Most -->7`.\n\nWrite `<!-- default:x -->1<!-- /default -->`.\n",
			[]string{"docs/more.md:1 code hides a marker of a default: set to", "docs/more.md:3 code hides a part of a marker of a default"}},
		{"a measured figure outside its page", `
-- docs/more.md --
A flip takes 15 µs and 40 KB.
`, []string{`docs/more.md:1 nothing checks the measured figure "15 µs"`}},
	})
}
