package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func TestRun_EveryCallIsServed(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "hello world: 100 calls served, 100 of them") {
		t.Error(out.String())
	}
}

func TestResultOf_TellsTheBackendFromTheCaller(t *testing.T) {
	for _, row := range []struct {
		err  error
		want poise.Outcome
	}{
		{nil, poise.Success},
		{&status{code: 3}, poise.Success}, // INVALID_ARGUMENT
		{&status{code: 5}, poise.Success}, // NOT_FOUND
		{&status{code: unimplemented}, poise.Success},
		{&status{code: unavailable}, poise.Failure},
		{&status{code: internal}, poise.Failure},
		{&status{code: dataLoss}, poise.Failure},
		{errors.New("of no code"), poise.Failure},
		{&status{code: resourceExhausted}, poise.Overloaded},
		{&status{code: deadlineExceeded}, poise.Silent},
		{&status{code: canceled}, poise.Cancelled},
		{errNotConnected, poise.Unreachable},
	} {
		if got := resultOf(row.err).Outcome; got != row.want {
			t.Errorf("%v shows %v, want %v", row.err, got, row.want)
		}
	}
}

func TestChannel_RepeatsOnlyWhatMayRunTwice(t *testing.T) {
	failing, sound := &local{answer: &status{unavailable, "going down"}}, new(local)
	c, err := newChannel(new(policy.RoundRobin), []dispatch.Member[conn]{{ID: "a", Endpoint: failing}, {ID: "b", Endpoint: sound}},
		func(method string) bool { return method == "get" })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply string
	if err := c.Invoke(t.Context(), "pay", "x", &reply); codeOf(err) != unavailable || sound.calls.Load() != 0 {
		t.Errorf("%v after %d calls elsewhere", err, sound.calls.Load())
	}
	for range 2 {
		if err := c.Invoke(context.Background(), "get", "x", &reply); err != nil {
			t.Error(err)
		}
	}
}
