package transform_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/transform"
)

// reporter is what a helper needs of a test: *testing.T and *rapid.T have it.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// fixed is a load that does not change and is no InFlight.
type fixed uint64

func (f fixed) Load(time.Time) (uint64, error) { return uint64(f), nil }
func (f fixed) Unit() poise.LoadUnit           { return poise.RequestsInFlight }

func weightOf(t reporter, w uint32) poise.Weight {
	t.Helper()
	weight, err := poise.NewWeight(w)
	if err != nil {
		t.Fatalf("NewWeight(%d): %v", w, err)
	}
	return weight
}

// backends returns n ready members.
func backends(n int) []poise.Sample {
	samples := make([]poise.Sample, n)
	for i := range samples {
		samples[i] = poise.Sample{ID: fmt.Sprintf("backend-%d", i)}
	}
	return samples
}

// weighing returns ready members a, b, c… of those weights.
func weighing(t reporter, weights ...uint32) []poise.Sample {
	t.Helper()
	samples := backends(len(weights))
	for i, w := range weights {
		samples[i].Weight, samples[i].ID = weightOf(t, w), string(rune('a'+i))
	}
	return samples
}

// seconds is an instant so many seconds after an arbitrary one.
func seconds(s float64) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

func newChain(t reporter, transforms ...transform.Transform) *transform.Chain {
	t.Helper()
	c, err := transform.NewChain(transforms...)
	if err != nil {
		t.Fatalf("NewChain: %v", err)
	}
	return c
}

// run makes the members those of the list and runs the transforms.
func run(t reporter, c *transform.Chain, samples []poise.Sample, now time.Time) (again time.Time) {
	t.Helper()
	if err := c.Reset(samples); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	again, err := c.Run(now)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return again
}

// kept returns the identities of the members that are not left out.
func kept(c *transform.Chain) []string {
	var ids []string
	for _, s := range c.Samples() {
		if s.Excluded != poise.ExcludedOutOfScope {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func checkFieldError(t *testing.T, name string, err error, field string, sentinel error) {
	t.Helper()
	var fieldError *poise.FieldError
	if !errors.As(err, &fieldError) || fieldError.Field != field || !errors.Is(err, sentinel) {
		t.Errorf("%s: error is %v, want %v of field %s", name, err, sentinel, field)
	}
}
