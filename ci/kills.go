package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copyleftdev/poise-go/ci/record"
	"github.com/copyleftdev/poise-go/drift"
)

// unnoticedFile lists the claims of which no check was seen to notice a change of the
// code. It may only shrink.
const unnoticedFile = "ci/unnoticed.txt"

// question and answer are what the engine of mutation reads and writes.
type question struct {
	ID    string   `json:"id"`
	Code  []lines  `json:"code"`
	Tests []string `json:"tests"`
}

type lines struct {
	File string `json:"file"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

type answer struct {
	ID     string
	Mutant *struct {
		ID, File, Was, Becomes, Killer string
		Line                           int
	}
	Tried, Reached int
}

// kills asks of each claim whether one of the tests that quote it, of the same package as
// its code, notices a small change of that code.
func kills(ctx context.Context, w *workspace) result {
	r := result{counts: map[string]int{}, figures: map[string]float64{}}
	repo, err := drift.Load(os.DirFS(w.root))
	if err != nil {
		r.fail("read the tree", err.Error())
		return r
	}
	var ids []string
	asked := map[string][]question{} // by the folder of the code
	for _, row := range evidence(repo, w.settings.claim) {
		for _, claim := range row.Claims {
			ids = append(ids, claim.ID)
			for folder, q := range questionsOf(claim) {
				asked[folder] = append(asked[folder], q)
			}
		}
	}
	if len(ids) == 0 {
		r.notRun = "there is no claim"
		return r
	}
	noticed := map[string]record.Noticed{}
	for _, folder := range slices.Sorted(maps.Keys(asked)) {
		answers, err := ask(ctx, w, folder, asked[folder])
		if err != nil {
			r.fail("judge the mutants of "+folder, err.Error())
			continue
		}
		for _, a := range answers {
			r.figures["mutants tried"] += float64(a.Tried)
			if m := a.Mutant; m != nil && noticed[a.ID].Mutant == "" {
				noticed[a.ID] = record.Noticed{Claim: a.ID, Mutant: m.ID, At: fmt.Sprintf("%s:%d", m.File, m.Line), Was: m.Was, Becomes: m.Becomes, By: m.Killer}
			}
		}
	}
	listed := readUnnoticed(w.root)
	for _, id := range ids {
		one, yes := noticed[id]
		line, open := listed[id]
		delete(listed, id)
		switch {
		case yes:
			r.shown.Noticed = append(r.shown.Noticed, one)
			if r.passed++; open {
				r.fail(fmt.Sprintf("%s:%d: delete %s", unnoticedFile, line, id), "its checks notice "+one.Mutant)
			}
		case open:
			r.counts["not shown"]++
		default:
			r.fail(id+": its checks notice no change of its code", "make one of them fail where the code breaks the promise, or quote it above a test of the same package that does")
		}
	}
	for id, line := range listed {
		if w.settings.claim != "" {
			break // the list is of all
		}
		r.fail(fmt.Sprintf("%s:%d: delete %s", unnoticedFile, line, id), "there is no such claim")
	}
	return r
}

// questionsOf splits a claim by the folders of its code that have a quoting test.
func questionsOf(claim drift.EvidenceClaim) map[string]question {
	found := map[string]question{}
	for _, group := range claim.Code {
		for _, one := range group.Ranges {
			folder := filepath.ToSlash(filepath.Dir(one.File))
			q := found[folder]
			q.ID = claim.ID
			q.Code = append(q.Code, lines{one.File, one.From, one.To})
			found[folder] = q
		}
	}
	for folder, q := range found {
		for _, quote := range claim.By {
			for _, run := range quote.Runs {
				if run.Folder == folder && run.Tag == "" && !slices.Contains(q.Tests, run.Test) {
					q.Tests = append(q.Tests, run.Test)
				}
			}
		}
		if found[folder] = q; len(q.Tests) == 0 {
			delete(found, folder)
		}
	}
	return found
}

func ask(ctx context.Context, w *workspace, folder string, questions []question) ([]answer, error) {
	text, err := json.Marshal(questions)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "questions")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err = file.Write(text); err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	var out, said strings.Builder
	exit, err := w.exec(ctx, command{
		dir: w.root, out: &out, err: &said,
		argv: []string{"go", "run", "./mutation/claims", "-package", "./" + folder, "-questions", file.Name()},
	})
	if err != nil || exit != 0 {
		return nil, fmt.Errorf("exit code %d, %v\n%s", exit, err, said.String())
	}
	var answers []answer
	err = json.Unmarshal([]byte(out.String()), &answers)
	return answers, err
}

// readUnnoticed returns the listed ids with their lines.
func readUnnoticed(root string) map[string]int {
	listed := map[string]int{}
	text, _ := os.ReadFile(filepath.Join(root, unnoticedFile)) // without the file the list is empty
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if id := strings.TrimSpace(line); id != "" && !strings.HasPrefix(id, "#") {
			listed[id] = n
		}
	}
	return listed
}
