// Command claims answers whether the tests that quote a promise notice a small change of
// the code that keeps it. The layer kills of ci asks; the answers go to standard output.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

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
	cfg := mutation.Config{Root: "."}
	flag.StringVar(&cfg.Package, "package", "", "the folder of the package, such as ./pkg/health")
	file := flag.String("questions", "", "a JSON file with a list of questions")
	flag.Parse()
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var questions []mutation.Question
	if err := json.Unmarshal(text, &questions); err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	answers, err := mutation.Ask(ctx, cfg, questions)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}
