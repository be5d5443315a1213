package poise

import "strconv"

// Weight is a candidate's share in relation to the others of its View: 1 to
// 4294967295. Only ratios inside one View mean anything; a weight is no limit on
// admission.
//
// The zero value is 1.
type Weight struct {
	// One less than the weight, so that the zero value is 1 and 0 cannot be held.
	lessOne uint32
}

// NewWeight returns the Weight w. For 0 it answers a [FieldError] of
// [ErrInvalidWeight]: a candidate that is to get nothing is [Draining] or
// [Unavailable].
func NewWeight(w uint32) (Weight, error) {
	if w == 0 {
		return Weight{}, &FieldError{Field: "Weight", Value: w, Err: ErrInvalidWeight}
	}
	return Weight{lessOne: w - 1}, nil
}

// Value returns the weight, 1 to 4294967295.
func (w Weight) Value() uint32 { return w.lessOne + 1 }

// String returns the weight in decimal.
func (w Weight) String() string { return strconv.FormatUint(uint64(w.Value()), 10) }
