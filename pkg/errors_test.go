package poise_test

import (
	"errors"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
)

var sentinels = []error{
	poise.ErrEmpty, poise.ErrNoEligible, poise.ErrAllTried, poise.ErrNoKey, poise.ErrLoadOverflow,
	poise.ErrAtCapacity, poise.ErrForeignSelection, poise.ErrNotEligible, poise.ErrOutOfRange,
	poise.ErrInvalidWeight, poise.ErrNilCandidate, poise.ErrEmptyIdentity, poise.ErrDuplicateIdentity,
	poise.ErrInvalidStatus, poise.ErrInvalidReason, poise.ErrNilTracker, poise.ErrMixedLoad,
	poise.ErrInconsistentTopology, poise.ErrNotAscending, poise.ErrTooMany, poise.ErrNilView, poise.ErrWeightOverflow,
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
			`poise: index out of range: members[1] is 7`,
		},
		{
			poise.FieldError{Field: "candidates[2]", Err: poise.ErrNilCandidate},
			`poise: candidate is nil: candidates[2] is <nil>`,
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

func TestCapacityError_NamesTheLimitAndUnwraps(t *testing.T) {
	err := &poise.CapacityError{Limit: 5}
	if got, want := err.Error(), "poise: at capacity: limit 5"; got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
	if errors.Unwrap(err) != poise.ErrAtCapacity {
		t.Errorf("it unwraps to %v", errors.Unwrap(err))
	}
}
