package mutation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Disagreement is a mutant on which a build of its own says something else than the
// switch.
type Disagreement struct {
	Mutant *Mutant
	// Plain is the verdict of the build of its own.
	Plain Verdict
	// Output is what the tests, or the compiler, printed.
	Output string
}

func (d Disagreement) String() string {
	return fmt.Sprintf("%s is %s by its switch and %s in a build of its own", d.Mutant.ID, d.Mutant.Verdict, d.Plain)
}

// Agree judges so many of the judged mutants again, chosen by the seed, each in a build
// that has this one change written out and no switch. It returns how many there were.
func Agree(ctx context.Context, cfg Config, c *Campaign, n int, seed uint64) (judged int, all []Disagreement, err error) {
	root, err := filepath.Abs(cfg.Root)
	if err != nil {
		return 0, nil, err
	}
	s, err := load(root, cfg.Package)
	if err != nil {
		return 0, nil, err
	}
	by := map[string]*Mutant{}
	for _, m := range s.mutants {
		by[m.ID] = m
	}
	chosen := slices.DeleteFunc(slices.Clone(c.Mutants), func(m *Mutant) bool {
		return by[m.ID] == nil || m.Verdict == Uncovered || m.Verdict == NotCompiled
	})
	chance := poise.NewGenerator(seed)
	for i := range chosen {
		j := i + int(chance.Below(uint64(len(chosen)-i)))
		chosen[i], chosen[j] = chosen[j], chosen[i]
	}
	for _, m := range chosen[:min(n, len(chosen))] {
		plain, out, err := s.judgePlainly(ctx, by[m.ID])
		if err != nil {
			return judged, all, err
		}
		judged++
		if noticed(plain) && m.Verdict == Survived {
			// What is noticed by chance, such as by the order of a map, may be missed once.
			again := cfg
			again.Only, again.Ledger, again.Progress = m.ID, nil, nil
			for range chances {
				if second, err := Run(ctx, again); err == nil && second.Count(Survived) == 0 {
					m.Verdict, m.Why = Killed, "by chance: it survived once"
					break
				}
			}
		}
		if noticed(m.Verdict) != noticed(plain) || plain == NotCompiled {
			all = append(all, Disagreement{Mutant: m, Plain: plain, Output: firstLines(out, 20)})
		}
	}
	return judged, all, nil
}

// chances is how often a survivor that a plain build notices is judged again.
const chances = 5

func noticed(v Verdict) bool { return v == Killed || v == TimedOut }

// judgePlainly builds the tests with one change and runs them all.
func (s *source) judgePlainly(ctx context.Context, m *Mutant) (Verdict, string, error) {
	work, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(work)
	overlay, err := s.plainly(work, m)
	if err != nil {
		return "", "", err
	}
	b := &binary{path: filepath.Join(work, "tests"), dir: s.dir, flags: profile(s.dir)}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, ".")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		return NotCompiled, string(out), nil
	}
	names, err := b.list(ctx)
	if err != nil {
		return "", "", err
	}
	o := b.run(ctx, names, plainLimit, fixedSeeds...)
	switch {
	case o.passed:
		return Survived, o.output, nil
	case o.late:
		return TimedOut, o.output, nil
	}
	return Killed, o.output, nil
}
