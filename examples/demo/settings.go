package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// policyChoice is a policy as a user names it on the command line.
type policyChoice struct {
	name string
	kind policyKind
	make func(seed uint64) (poise.Policy, error)
}

// policyKind is what a policy looks at, and so what to look at in a run of it.
type policyKind int

const (
	looksAtNothing policyKind = iota
	looksAtLoad
	looksAtKey
)

// policies is all that the demo offers. A line more makes one more of them.
var policies = []policyChoice{
	{"power-of-two-choices", looksAtLoad, func(seed uint64) (poise.Policy, error) {
		return policy.NewPowerOfTwoChoices(policy.PowerOfTwoChoicesConfig{Seed: seed}), nil
	}},
	{"least-loaded", looksAtLoad, func(uint64) (poise.Policy, error) {
		return new(policy.LeastLoaded), nil
	}},
	{"round-robin", looksAtNothing, func(seed uint64) (poise.Policy, error) {
		return policy.NewRoundRobin(policy.RoundRobinConfig{Seed: seed}), nil
	}},
	{"random", looksAtNothing, func(seed uint64) (poise.Policy, error) {
		return policy.NewRandom(policy.RandomConfig{Seed: seed}), nil
	}},
	{"rendezvous", looksAtKey, func(uint64) (poise.Policy, error) {
		return policy.NewRendezvous(policy.RendezvousConfig{}), nil
	}},
}

func policyNames() string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

// settings are what the command line says.
type settings struct {
	policy      policyChoice
	target      target.Target // where the user's own backends are; the zero value: the demo starts servers
	path        string
	requests    int
	concurrency int
	duration    time.Duration
	seed        uint64
	json        string

	patience patience // follows from the rest
}

// own reports whether the backends are the user's own.
func (s settings) own() bool { return s.target != target.Target{} }

const (
	maxRequests    = 1_000_000 // one latency of each is kept
	maxConcurrency = 10_000
)

// What can be wrong with a command line, besides what the library refuses. Each
// arrives in a poise.FieldError, which names the flag and the value.
var (
	errUnreadable    = errors.New("unreadable flag")
	errUnexpected    = errors.New("unexpected argument")
	errUnknownPolicy = errors.New("unknown policy, the policies are " + policyNames())
	errOutOfRange    = errors.New("out of range")
	errBadPath       = errors.New("not a path that begins with /")
	errTwoSources    = errors.New("one source only: -backends a,b is -discover static:a,b")
)

// parse reads the command line. For -help it prints the flags and returns
// flag.ErrHelp; every other error is a *poise.FieldError.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned, and printed once
	name := flags.String("policy", policies[0].name, "the `policy`: "+policyNames())
	backends := flags.String("backends", "", "your own backends, as `host:port,host:port`; they get GET requests only\n(default: servers that the demo starts)")
	discover := flags.String("discover", "", "where to find your own backends, and to look again while the demo runs: a `source`\nstatic:HOST:PORT,HOST:PORT or file:PATH with an address a line, or dns:NAME:PORT, or dns+srv:NAME")
	flags.StringVar(&s.path, "path", "/", "the `path` to request")
	flags.IntVar(&s.requests, "requests", 6000, "how many requests to send, from 1 on")
	flags.IntVar(&s.concurrency, "concurrency", 64, "how many requests may be under way at once, from 1 on")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "the time over which to spread the requests; 0 sends them as fast as they go")
	flags.Uint64Var(&s.seed, "seed", 1, "makes chance replay; 0 takes a new seed each time")
	flags.StringVar(&s.json, "json", "", "write the summary to this `file` too, as JSON")

	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, "Demo sends real requests through the library to real HTTP servers, and checks its promises.")
		flags.SetOutput(out)
		flags.PrintDefaults()
		return s, flag.ErrHelp
	case err != nil:
		return s, &poise.FieldError{Field: "command line", Value: strings.Join(args, " "), Err: fmt.Errorf("%w: %w", errUnreadable, err)}
	}
	given := map[string]bool{} // even if it is empty: then something is missing
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if s.seed == 0 {
		s.seed = rand.Uint64() | 1
	}
	chosen := slices.IndexFunc(policies, func(p policyChoice) bool { return p.name == *name })
	if chosen >= 0 {
		s.policy = policies[chosen]
	}
	refuse := func(flag string, value any, why error) (settings, error) {
		return s, &poise.FieldError{Field: flag, Value: value, Err: why}
	}
	switch {
	case flags.NArg() > 0:
		return refuse("argument", flags.Arg(0), errUnexpected)
	case chosen < 0:
		return refuse("-policy", *name, errUnknownPolicy)
	case s.requests < 1 || s.requests > maxRequests:
		return refuse("-requests", s.requests, fmt.Errorf("%w, from 1 to %s", errOutOfRange, count(maxRequests)))
	case s.concurrency < 1 || s.concurrency > maxConcurrency:
		return refuse("-concurrency", s.concurrency, fmt.Errorf("%w, from 1 to %s", errOutOfRange, count(maxConcurrency)))
	case s.duration < 0:
		return refuse("-duration", s.duration.String(), fmt.Errorf("%w, 0 or more", errOutOfRange))
	case !isPath(s.path):
		return refuse("-path", s.path, errBadPath)
	}
	var err error
	switch {
	case given["backends"] && given["discover"]:
		return refuse("-discover", *discover, errTwoSources)
	case given["backends"]:
		s.target, err = parseTarget("-backends", "static:", *backends)
	case given["discover"]:
		s.target, err = parseTarget("-discover", "", *discover)
	}
	s.patience = patienceWith(s.own())
	return s, err
}

func isPath(path string) bool {
	_, err := url.ParseRequestURI(path)
	return err == nil && strings.HasPrefix(path, "/")
}
