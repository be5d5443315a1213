package observe_test

import (
	"encoding"
	"errors"
	"fmt"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// enumeration is a value of an enumeration, and a place to read one into.
type enumeration interface {
	fmt.Stringer
	encoding.TextMarshaler
}

func all[E ~uint8](last E) (values []E) {
	for e := E(0); e <= last; e++ {
		values = append(values, e)
	}
	return values
}

// requireWords checks that each value is read back from its text, and that nothing else is read or written.
func requireWords[E interface {
	~uint8
	enumeration
}](t *testing.T, last E, unknown string, read func(*E, []byte) error) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range all(last) {
		text, err := e.MarshalText()
		var back E
		if err != nil || string(text) != e.String() || read(&back, text) != nil || back != e || seen[e.String()] {
			t.Errorf("%d is %q and read back %d: %v", e, text, back, err)
		}
		seen[e.String()] = true
	}
	beyond := last + 1
	if _, err := beyond.MarshalText(); !errors.Is(err, observe.ErrUnknownName) || beyond.String() != unknown {
		t.Errorf("%d is written as %q: %v", beyond, beyond, err)
	}
	var into E = last
	if err := read(&into, []byte("nonsense")); !errors.Is(err, observe.ErrUnknownName) || into != last {
		t.Errorf("nonsense is read as %v: %v", into, err)
	}
}

func TestEnumerations_OfMetricsHaveTextsThatCanBeReadBack(t *testing.T) {
	requireWords(t, observe.DecidedClosed, "unknown decision", (*observe.DecisionKind).UnmarshalText)
	requireWords(t, observe.AttemptInvalid, "unknown attempt", (*observe.AttemptKind).UnmarshalText)
	requireWords(t, observe.ScopePanic, "unknown scope", (*observe.ScopeKind).UnmarshalText)
}

// The first ten kinds of decisions and the first five of attempts keep their order:
// their numbers are part of the format of whoever stores them.
func TestEnumerations_KeepTheirOrder(t *testing.T) {
	for i, want := range []string{
		"selected", "empty", "no eligible", "weight overflow", "duplicate identity", "too many", "other failure",
		"load overflow", "panic rejected", "inconsistent topology",
	} {
		if got := observe.DecisionKind(i).String(); got != want {
			t.Errorf("decision %d is %s, want %s", i, got, want)
		}
	}
	for i, want := range []string{"success", "failure", "overloaded", "cancelled", "other"} {
		if got := observe.AttemptKind(i).String(); got != want {
			t.Errorf("attempt %d is %s, want %s", i, got, want)
		}
	}
}

func TestDecisionKindOf_KnowsTheErrorsOfAPick(t *testing.T) {
	for _, row := range []struct {
		err  error
		want observe.DecisionKind
	}{
		{nil, observe.Selected},
		{poise.ErrEmpty, observe.DecidedEmpty},
		{poise.ErrNoEligible, observe.DecidedNoEligible},
		{poise.ErrPanicRejected, observe.DecidedPanicRejected},
		{poise.ErrAllTried, observe.DecidedAllTried},
		{&poise.CapacityError{Limit: 3}, observe.DecidedAtCapacity},
		{poise.ErrNoKey, observe.DecidedNoKey},
		{fmt.Errorf("of a: %w", poise.ErrLoadOverflow), observe.DecidedLoadOverflow},
		{&poise.FieldError{Field: "weights", Err: poise.ErrWeightOverflow}, observe.DecidedWeightOverflow},
		{&poise.FieldError{Field: "candidates[1].ID", Err: poise.ErrDuplicateIdentity}, observe.DecidedDuplicateIdentity},
		{&poise.FieldError{Field: "candidates", Err: poise.ErrTooMany}, observe.DecidedTooMany},
		{&poise.FieldError{Field: "LocalityWeight", Err: poise.ErrInconsistentTopology}, observe.DecidedInconsistentTopology},
		{errors.New("a policy's own"), observe.DecidedFailed},
	} {
		if got := observe.DecisionKindOf(row.err); got != row.want {
			t.Errorf("%v is %v, want %v", row.err, got, row.want)
		}
	}
}

func TestAttemptKindOf_KnowsEveryOutcome(t *testing.T) {
	for o := poise.Success; o <= poise.Invalid; o++ {
		if got := observe.AttemptKindOf(o); got.String() != o.String() {
			t.Errorf("%v is %v", o, got)
		}
	}
	if got := observe.AttemptKindOf(poise.Invalid + 1); got != observe.AttemptOther {
		t.Errorf("an outcome that there is not is %v", got)
	}
}
