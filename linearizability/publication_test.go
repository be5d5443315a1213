package linearizability

import (
	"context"
	"fmt"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// members returns the list with the endpoints in the set, each of which is a number.
func members(set uint64) (list []dispatch.Member[*int]) {
	for i := range 4 {
		if set&(1<<i) != 0 {
			list = append(list, dispatch.Member[*int]{ID: fmt.Sprint(i), Endpoint: &i})
		}
	}
	return list
}

// Here it is a whole Balancer, with its goroutine and its clock. It publishes its
// members as one list, so they are one object.
var publication = subject{
	spec: seq.Members(0b0011),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		b, err := dispatch.New(dispatch.Config[*int]{Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin)}, Members: members(0b0011)})
		if err != nil {
			t.Fatal(err)
		}
		instead(t, b)
		return func(c *Caller, _, pick int) {
			if set := uint64(pick % 16); pick >= 192 && set != 0 {
				c.Call("Update", set, func() any {
					if err := b.Update(members(set)); err != nil {
						t.Error(err)
					}
					return nil
				})
				return
			}
			c.Call("Call", nil, func() any { return callOnce(t, b) })
		}
	},
	good: serial(call("Call", nil, 0), call("Update", uint64(0b0100), nil), call("Call", nil, 2),
		call("Update", uint64(0b0001), nil), call("Call", nil, 0)),
	mutants: []mutant{
		returns("a call to an endpoint that was removed", 4, 2),
		returns("a call that found nobody", 2, -1),
		without("an update is lost", 1),
		swapped("a call that saw the update too soon", 0, 2),
	},
}

// open is the Balancer of the newest history.
var open *dispatch.Balancer[*int]

// instead closes the Balancer of the last history: where operations yield, one that
// is left open keeps a processor busy.
func instead(t testing.TB, b *dispatch.Balancer[*int]) {
	if open != nil {
		_ = open.Close()
	}
	open = b
	t.Cleanup(func() { _ = b.Close() })
}

// callOnce returns the endpoint that served the call, -1 for none.
func callOnce(t testing.TB, b *dispatch.Balancer[*int]) int {
	at := -1
	err := b.Do(context.Background(), dispatch.Query{}, func(_ context.Context, e *int) error {
		at = *e
		return nil
	})
	if err != nil {
		t.Log(err)
		return -1
	}
	return at
}

// Claim: A member that drains or was removed admits no call that began after the change returned.
func TestPublication_Linearizable(t *testing.T)     { allowed(t, publication) }
func TestPublication_Linearizable_Law(t *testing.T) { law(t, publication) }
