# The only list of commands. Whatever needs more than a line is Go, in ci.

CI := go run ./ci

# Settings, each for the targets that it names:
#   POLICY=…           demo, verify: the policy under the demo
#   SEED=… CHECKS=…    every test: the seed of generated cases; props: how many
#   FUZZ_EXECUTIONS=…  fuzz-smoke, verify: mutated inputs for each target
#   CLAIM=…            claims, kills: the claims whose id holds the text
#   SPEC=…             tla: the only specification to judge
#   SEEDS=… RANDOM=…   sim: runs of each scenario, and how many random scenarios
#   PKG=…              mutate: the packages to judge
#   INSTALL=0          setup, verify: install nothing
POLICY ?= power-of-two-choices
export POLICY

.PHONY: help setup check claims kills platforms race adapters props fuzz-smoke models lin tla tla-graphs tla-mutate sim sim-book bench demo pages report verify clean mutate

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' Makefile

setup: ## install what verify needs, or say what to install
	@$(CI) setup

check: ## format, vet, staticcheck, unit tests, drift: under a minute
	@$(CI) layer format vet staticcheck unit drift

claims: ## the tests that quote a promise, alone: do they reach its code
	@$(CI) layer claims

kills: ## small changes of the code of each claim: does a test that quotes it notice
	@$(CI) layer kills

platforms: ## vet and goldens where int has 32 bits, vet where bytes are big-endian
	@$(CI) layer platforms

race: ## the tests under the race detector
	@$(CI) layer race

adapters: ## the modules beside the library: vet, and their tests under the race detector
	@$(CI) layer adapters

props: ## the property laws with many cases
	@$(CI) layer props

fuzz-smoke: ## every fuzz target: its corpus, then a fixed number of mutated inputs
	@$(CI) layer fuzz

models: ## every interleaving of small cases of the shared types
	@$(CI) layer models

lin: ## recorded histories of the shared types, judged by Porcupine
	@$(CI) layer lin

tla: ## TLA+ specifications by TLC, and their graphs walked on the code; SPEC=… for one
	@$(CI) layer tla

tla-graphs: ## write the state graphs of the specifications again
	@go run ./spec/tla graphs -spec "$(SPEC)"

tla-mutate: ## small changes of the specifications: who notices; minutes, not part of verify
	@go run ./spec/tla mutate -spec "$(SPEC)"

sim: ## the whole loop in virtual time; SEEDS=… and RANDOM=… for long runs
	@$(CI) layer sim

sim-book: ## write the tables and pictures of docs/availability.md again
	@go run ./sim/cmd -seed 1000000 -open sim/open.txt -book docs/availability.md sim/scenarios/*.txt

bench: ## the benchmarks and their budgets
	@$(CI) layer bench

demo: ## the main job on real HTTP servers, with the policy POLICY
	@go run ./examples/demo -policy $(POLICY)

pages: ## the report in a browser: heights, and nothing off the edge
	@$(CI) layer pages

verify: ## everything that backs a claim; writes out/verification.json and out/report/index.html
	@$(CI) verify

report: ## render out/report/index.html again from out/verification.json
	@$(CI) report

clean: ## remove what verify wrote
	@rm -rf out

mutate: ## small changes of the code: who notices; PKG=./pkg/health names a package
	@$(if $(PKG),go run ./mutation/cmd $(PKG),$(CI) layer mutation )
