package poise_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

var sentinels = []error{
	poise.ErrEmpty, poise.ErrNoEligible, poise.ErrAllTried, poise.ErrNoKey, poise.ErrLoadOverflow,
	poise.ErrAtCapacity, poise.ErrForeignSelection, poise.ErrNotEligible, poise.ErrOutOfRange,
	poise.ErrInvalidWeight, poise.ErrNilCandidate, poise.ErrEmptyIdentity, poise.ErrDuplicateIdentity,
	poise.ErrInvalidStatus, poise.ErrInvalidReason, poise.ErrUnknownWord, poise.ErrNilTracker, poise.ErrMixedLoad,
	poise.ErrInconsistentTopology, poise.ErrNotAscending, poise.ErrTooMany, poise.ErrNilView,
}

// Cases: PE1.
func TestErrors_AreDistinctAndSpeakForThemselves(t *testing.T) {
	texts := map[string]bool{}
	for _, err := range sentinels {
		text := err.Error()
		if !strings.HasPrefix(text, "poise: ") || len(text) < 15 || strings.HasSuffix(text, ".") || texts[text] {
			t.Errorf("the text is %q", text)
		}
		texts[text] = true
		for _, other := range sentinels {
			if errors.Is(err, other) != (err == other) {
				t.Errorf("%v matches %v", err, other)
			}
		}
	}
}

func TestFieldError_NamesFieldAndValueAndUnwraps(t *testing.T) {
	for _, row := range []struct {
		err  poise.FieldError
		want string
	}{
		{
			poise.FieldError{Field: "candidates[3].ID", Value: "", Err: poise.ErrEmptyIdentity},
			`poise: identity is empty: candidates[3].ID is ""`,
		},
		{
			poise.FieldError{Field: "candidates[0].Status", Value: poise.Status(9), Err: poise.ErrInvalidStatus},
			`poise: unknown status: candidates[0].Status is 9`,
		},
		{
			poise.FieldError{Field: "candidates[0].Excluded", Value: poise.Reason(99), Err: poise.ErrInvalidReason},
			`poise: unknown reason: candidates[0].Excluded is 99`,
		},
		{
			poise.FieldError{Field: "members[1]", Value: 7, Err: poise.ErrOutOfRange},
			`poise: out of range: members[1] is 7`,
		},
		{
			poise.FieldError{Field: "candidates[2]", Err: poise.ErrNilCandidate},
			`poise: candidate is nil: candidates[2] is <nil>`,
		},
		{
			poise.FieldError{Field: "TableSize", Value: 1, Err: &poise.RangeError{Min: 2, Max: 9}},
			`poise: must be from 2 to 9: TableSize is 1`,
		},
		{
			poise.FieldError{Field: "Initial", Value: -time.Second, Err: &poise.RangeError{Min: time.Duration(1)}},
			`poise: must be at least 1ns: Initial is -1s`,
		},
		{
			poise.FieldError{Field: "Percent", Value: 101, Err: &poise.RangeError{Max: 100}},
			`poise: must be at most 100: Percent is 101`,
		},
		{
			poise.FieldError{Field: "Percent", Value: 101, Err: &poise.RangeError{}},
			`poise: out of range: Percent is 101`,
		},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("it reads %q, want %q", got, row.want)
		}
		if errors.Unwrap(&row.err) != row.err.Err {
			t.Errorf("it unwraps to %v", errors.Unwrap(&row.err))
		}
	}
}

func TestRangeError_MatchesErrOutOfRange(t *testing.T) {
	err := &poise.FieldError{Field: "Percent", Value: 101, Err: &poise.RangeError{Max: 100}}
	var bounds *poise.RangeError
	if !errors.Is(err, poise.ErrOutOfRange) || errors.Is(err, poise.ErrTooMany) || !errors.As(err, &bounds) || bounds.Max != 100 {
		t.Errorf("%v is not told as out of a range", err)
	}
}

func TestCapacityError_NamesTheLimitAndUnwraps(t *testing.T) {
	err := &poise.CapacityError{Limit: 5}
	if got, want := err.Error(), "poise: at capacity: limit 5"; got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
	if errors.Unwrap(err) != poise.ErrAtCapacity {
		t.Errorf("it unwraps to %v", errors.Unwrap(err))
	}
}
