package poise_test

import (
	"fmt"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// requireNames requires that the known values of an enumeration have names of
// their own and every other value the given one.
func requireNames[E ~uint8](t *testing.T, known int, unknown string) {
	t.Helper()
	seen := map[string]int{}
	for v := range 256 {
		name := any(E(v)).(fmt.Stringer).String()
		if v >= known {
			if name != unknown {
				t.Errorf("%T(%d) is called %q, want %q", E(0), v, name, unknown)
			}
			continue
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%T(%d) and %T(%d) are both called %q", E(0), v, E(0), other, name)
		}
		if name == "" || name == unknown || name != strings.ToLower(name) {
			t.Errorf("%T(%d) is called %q", E(0), v, name)
		}
		seen[name] = v
	}
}

func TestEnumerations_HaveDistinctNamesAndOneForTheUnknown(t *testing.T) {
	requireNames[poise.Status](t, 3, "unknown status")
	requireNames[poise.Reason](t, 10, "unknown reason")
	requireNames[poise.Outcome](t, 7, "unknown outcome")
	requireNames[poise.LoadUnit](t, 2, "unknown unit")
}

func TestEnumerations_NameWhatTheyMean(t *testing.T) {
	for _, row := range []struct {
		value fmt.Stringer
		want  string
	}{
		{poise.Ready, "ready"},
		{poise.Draining, "draining"},
		{poise.Unavailable, "unavailable"},
		{poise.NotExcluded, "eligible"},
		{poise.ExcludedDraining, "draining"},
		{poise.ExcludedUnavailable, "unavailable"},
		{poise.ExcludedUnhealthy, "unhealthy"},
		{poise.ExcludedCircuitOpen, "circuit open"},
		{poise.ExcludedOutlier, "outlier"},
		{poise.ExcludedEjected, "ejected"},
		{poise.ExcludedNotReady, "not ready"},
		{poise.ExcludedByUser, "left out by user"},
		{poise.ExcludedOutOfScope, "out of scope"},
		{poise.Success, "success"},
		{poise.Failure, "failure"},
		{poise.Overloaded, "overloaded"},
		{poise.Cancelled, "cancelled"},
		{poise.RequestsInFlight, "requests in flight"},
		{poise.CostNanoseconds, "nanoseconds"},
	} {
		if got := row.value.String(); got != row.want {
			t.Errorf("%T is called %q, want %q", row.value, got, row.want)
		}
	}
}
