package poisehttp_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// constant is an endpoint that allocates nothing.
type constant struct{ resp *http.Response }

func (c *constant) RoundTrip(*http.Request) (*http.Response, error) { return c.resp, nil }
func (c *constant) Close() error                                    { return nil }

// constantBody ends at once and can be read again and again.
type constantBody struct{}

func (constantBody) Read([]byte) (int, error) { return 0, io.EOF }
func (constantBody) Close() error             { return nil }

func TestBalancer_AllocatesOncePerCall(t *testing.T) {
	requireOneAllocation(t, poisehttp.HealthConfig{})
}

func TestBalancer_AllocatesNoMoreWithHealth(t *testing.T) {
	requireOneAllocation(t, poisehttp.HealthConfig{
		Probes: probing(), Circuit: new(health.CircuitConfig), Outliers: new(health.OutlierControllerConfig), Window: new(health.OutcomeWindowConfig),
	})
}

func requireOneAllocation(t *testing.T, cfg poisehttp.HealthConfig) {
	t.Helper()
	for name, body := range map[string]io.ReadCloser{"without a response body": http.NoBody, "with a response body": constantBody{}} {
		resp := &http.Response{StatusCode: 200}
		b := newBalancer(t, poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Health: cfg}, &constant{resp}, &constant{resp})
		req := newRequest(t, http.MethodGet, nil).WithContext(context.Background())
		n := testing.AllocsPerRun(1000, func() {
			resp.Body = body
			got, err := b.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = got.Body.Read(nil)
			_ = got.Body.Close()
		})
		if n != 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A Balancer that follows a directory is the same to a call, also in the look at
// whether the directory was closed.
func TestBalancer_ThatFollowsAllocatesOncePerCall(t *testing.T) {
	for _, failClosed := range []bool{false, true} {
		d, err := discovery.New(discovery.Config[int]{Equal: func(a, b int) bool { return a == b }})
		if err != nil {
			t.Fatal(err)
		}
		source, err := d.Open("test")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			if _, err := source.Upsert(id, 1); err != nil {
				t.Fatal(err)
			}
		}
		resp := &http.Response{StatusCode: 200, Body: http.NoBody}
		members, err := poisehttp.NewMembership(poisehttp.MembershipConfig[int]{
			Directory: d, FailClosed: failClosed,
			Connect: func(discovery.Member[int]) (poisehttp.Endpoint, error) { return &constant{resp}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := poisehttp.New(poisehttp.Config{Policy: new(policy.PowerOfTwoChoices), Membership: members})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		req := newRequest(t, http.MethodGet, nil).WithContext(context.Background())
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := b.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}); n != 1 {
			t.Errorf("fail closed %t: %v allocations", failClosed, n)
		}
	}
}

func TestParts_AllocateNothing(t *testing.T) {
	slots := poisehttp.NewSlots(1, nil)
	full := poisehttp.NewSlots(1, nil)
	held, _ := full.Begin()
	defer held.Release()
	shut := poisehttp.NewSlots(0, nil)
	shut.Drain()
	quarantine := newQuarantine(t, poisehttp.QuarantineConfig{Failures: 1})
	budget := newRetryBudget(t, 50, 1)
	for name, use := range map[string]func(){
		"Slots":          func() { slot, _ := slots.Begin(); slot.Release(); slots.Drain(); slots.Resume() },
		"full Slots":     func() { _, _ = full.Begin() },
		"draining Slots": func() { _, _ = shut.Begin() },
		"RetryBudget":    func() { budget.Earn(); budget.Spend() },
		"Quarantine":     func() { p, _ := quarantine.Admit(); quarantine.Report(p, poise.Success, start, nil) },
		"Quarantine aside": func() {
			p, _ := quarantine.Admit()
			quarantine.Report(p, poise.Failure, start, nil)
			_, _ = quarantine.Admit()
			quarantine.Aside()
			quarantine.Return(start)
			quarantine.Return(start.Add(1 << 40))
		},
	} {
		if n := testing.AllocsPerRun(1000, use); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
