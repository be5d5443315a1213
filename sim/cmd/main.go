// Command cmd runs scenarios. It is what make sim runs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copyleftdev/poise-go/sim"
)

func main() {
	seeds := flag.Int("seeds", 0, "runs of each scenario and policy; 0 is what the scenario says")
	first := flag.Uint64("seed", 1, "the first seed")
	subject := flag.String("subject", "loop", "what is judged")
	only := flag.String("only", "", "run scenarios whose name contains this")
	series := flag.Bool("series", false, "print each second of the runs: failed percent / ejections per run")
	flag.Parse()
	begin := time.Now()
	total := 0
	for _, file := range flag.Args() {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		all, err := sim.Parse(strings.TrimSuffix(filepath.Base(file), ".txt"), string(text))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for _, s := range all {
			if !strings.Contains(s.Name, *only) {
				continue
			}
			results, calls, err := sim.Judge(s, sim.JudgeConfig{Seeds: *seeds, Seed: *first, Subject: sim.SubjectNamed(*subject)})
			total += calls
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			for _, r := range results {
				if *series {
					fmt.Println(r.Series())
				}
				for _, v := range r.Verdicts {
					fmt.Println(v)
				}
			}
		}
	}
	took := time.Since(begin)
	fmt.Printf("%d calls in %v, %.0f ns per call\n", total, took.Round(time.Millisecond), float64(took.Nanoseconds())/float64(max(total, 1)))
}
