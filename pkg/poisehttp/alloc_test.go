package poisehttp_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// constant is an endpoint that costs nothing.
type constant struct{ resp *http.Response }

func (c *constant) RoundTrip(*http.Request) (*http.Response, error) { return c.resp, nil }
func (c *constant) Close() error                                    { return nil }

// constantBody is at its end at once and can be read again and again.
type constantBody struct{}

func (constantBody) Read([]byte) (int, error) { return 0, io.EOF }
func (constantBody) Close() error             { return nil }

// A call without a body and a timeout allocates once beside what the endpoint does, and
// not at all if its answer has no body; no more often with a context that may end.
func TestTransport_AllocatesOncePerCall(t *testing.T) {
	within, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, ctx := range map[string]context.Context{"without an end": context.Background(), "cancellable": within} {
		for body, most := range map[io.ReadCloser]float64{http.NoBody: 0, constantBody{}: 1} {
			resp := &http.Response{StatusCode: 200}
			b := newTransport(t, poisehttp.Config{Loop: loop(by(new(policy.PowerOfTwoChoices)))}, &constant{resp}, &constant{resp})
			req := newRequest(t, http.MethodGet, nil).WithContext(ctx)
			n := testing.AllocsPerRun(1000, func() {
				resp.Body = body
				got, err := b.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = got.Body.Read(nil)
				_ = got.Body.Close()
			})
			if n > most {
				t.Errorf("%s, a body of %T: %v allocations", name, body, n)
			}
		}
	}
}
