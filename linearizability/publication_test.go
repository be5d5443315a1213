package linearizability

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// port is an endpoint that answers with its number.
type port int

func (p *port) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Port": {fmt.Sprint(int(*p))}}, Body: http.NoBody}, nil
}

func (p *port) Close() error { return nil }

// members returns the list with the ports in the set.
func members(set uint64) (list []poisehttp.Member) {
	for i := range 4 {
		if set&(1<<i) != 0 {
			p := port(i)
			list = append(list, poisehttp.Member{ID: fmt.Sprint(i), Endpoint: &p})
		}
	}
	return list
}

// Here it is a whole Balancer, with its goroutine and its clock. It publishes its
// endpoints as one list, so they are one object.
var publication = subject{
	spec: seq.Members(0b0011),
	fresh: func(t testing.TB) func(*Caller, int, int) {
		b, err := poisehttp.New(poisehttp.Config{Policy: new(policy.RoundRobin), Members: members(0b0011)})
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
var open *poisehttp.Balancer

// instead closes the Balancer of the last history: where operations yield, one that
// is left open keeps a processor busy.
func instead(t testing.TB, b *poisehttp.Balancer) {
	if open != nil {
		_ = open.Close()
	}
	open = b
	t.Cleanup(func() { _ = b.Close() })
}

// callOnce returns the port that served the call, -1 for none.
func callOnce(t testing.TB, b *poisehttp.Balancer) int {
	req, err := http.NewRequest(http.MethodGet, "http://service.test/", http.NoBody)
	if err != nil {
		t.Error(err)
		return -1
	}
	resp, err := b.RoundTrip(req)
	if err != nil {
		t.Log(err)
		return -1
	}
	at, err := strconv.Atoi(resp.Header.Get("Port"))
	if err != nil {
		t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return at
}

// Claim: A draining or removed endpoint gets no call that began after SetStatus or Update returned.
func TestPublication_Linearizable(t *testing.T)     { allowed(t, publication) }
func TestPublication_Linearizable_Law(t *testing.T) { law(t, publication) }
