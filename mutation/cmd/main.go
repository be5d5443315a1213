// Command cmd judges the mutants of packages.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"

	"github.com/copyleftdev/poise-go/mutation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var cfg mutation.Config
	flag.StringVar(&cfg.Root, "root", ".", "the folder of the module")
	flag.StringVar(&cfg.Only, "only", "", "judge the mutants whose id holds this text")
	flag.IntVar(&cfg.Workers, "workers", 0, "processes at once; 0 is the number of processors")
	ledger := flag.String("ledger", "mutation/equivalents.toml", "the file of equivalent mutants")
	out := flag.String("json", "", "a file for the record")
	agree := flag.Int("agree", 0, "judge so many mutants of each package again, each in a build of its own")
	seed := flag.Uint64("seed", 1, "which ones")
	quiet := flag.Bool("q", false, "no progress")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run ./mutation/cmd [flags] ./pkg/…\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		return fmt.Errorf("no package is named")
	}
	if !*quiet {
		cfg.Progress = os.Stderr
	}
	var err error
	if cfg.Ledger, err = mutation.ReadLedger(filepath.Join(cfg.Root, *ledger)); err != nil {
		return err
	}
	var all []*mutation.Campaign
	for _, dir := range flag.Args() {
		cfg.Package = dir
		c, err := mutation.Run(ctx, cfg)
		if err != nil {
			return err
		}
		all = append(all, c)
		show(c)
		if *agree > 0 {
			n, differ, err := mutation.Agree(ctx, cfg, c, *agree, *seed)
			if err != nil {
				return err
			}
			for _, d := range differ {
				fmt.Printf("%v\n%s\n", d, d.Output)
			}
			if fmt.Printf("%d mutants were judged again in builds of their own, %d differ\n", n, len(differ)); len(differ) > 0 {
				return fmt.Errorf("the switch and plain builds disagree")
			}
		}
	}
	if *out != "" {
		text, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*out, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	return verdict(all)
}

// show prints what needs a look, and the counts.
func show(c *mutation.Campaign) {
	for _, m := range c.Mutants {
		if m.Verdict == mutation.Survived || m.Verdict == mutation.Uncovered {
			fmt.Printf("%-9s %s:%d:%d  %s\n", m.Verdict, m.File, m.Line, m.Column, m.ID)
		}
	}
	for _, s := range c.Stale {
		fmt.Printf("ledger    %s\n", s)
	}
	for _, name := range c.Unsound {
		fmt.Printf("unsound   %s fails in the instrumented binary, and judged nothing\n", name)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%d mutants", c.Package, len(c.Mutants))
	for _, v := range mutation.Verdicts {
		fmt.Fprintf(w, "\t%d %s", c.Count(v), v)
	}
	fmt.Fprintf(w, "\tbuild %.1f s, census %.1f s, judging %.1f s\n", c.Build, c.Census, c.Judging)
	_ = w.Flush()
}

// verdict is the error of campaigns that are not clean.
func verdict(all []*mutation.Campaign) error {
	open := 0
	for _, c := range all {
		open += c.Count(mutation.Survived) + c.Count(mutation.Uncovered) + len(c.Stale)
	}
	if open > 0 {
		return fmt.Errorf("%d mutants are not explained", open)
	}
	return nil
}
