// Explorable.

package health

import (
	"fmt"
	"slices"
	"strings"
)

// OutlierCause is by which rule a member is an outlier. Several are joined by |.
//
// The zero value, NoOutlier, is none.
type OutlierCause uint8

const (
	// LocalFailuresInRow: its last calls got no response, as when dialing fails.
	LocalFailuresInRow OutlierCause = 1 << iota
	// GatewayFailuresInRow: its last calls were answered 502, 503 or 504.
	GatewayFailuresInRow
	// FailuresInRow: its last calls failed, in whatever way.
	FailuresInRow
	// FailureShare: too large a share of its calls failed.
	FailureShare
	// SuccessRate: its success rate is far below those of the others.
	SuccessRate

	// NoOutlier: it is none.
	NoOutlier OutlierCause = 0
	// anyRun are the causes that look at the last calls only.
	anyRun = LocalFailuresInRow | GatewayFailuresInRow | FailuresInRow
	// allCauses are all of them.
	allCauses = anyRun | FailureShare | SuccessRate
)

// outlierCauseNames are the names of the causes in the order of their bits.
var outlierCauseNames = [...]string{
	"local failures in a row", "gateway failures in a row", "failures in a row", "failure share", "success rate",
}

const noOutlierName = "no outlier"

// String returns the causes in lower case, parted by |.
func (c OutlierCause) String() string {
	switch {
	case c == NoOutlier:
		return noOutlierName
	case c&^allCauses != 0:
		return "unknown causes"
	}
	var names []string
	for i, name := range outlierCauseNames {
		if c>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// MarshalText returns String, or ErrOutOfRange for a cause that does not exist.
func (c OutlierCause) MarshalText() ([]byte, error) {
	if c&^allCauses != 0 {
		return nil, fmt.Errorf("%w: no name for %d", ErrOutOfRange, uint8(c))
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (c *OutlierCause) UnmarshalText(text []byte) error {
	causes := NoOutlier
	if string(text) != noOutlierName {
		for name := range strings.SplitSeq(string(text), "|") {
			i := slices.Index(outlierCauseNames[:], name)
			if i < 0 {
				return fmt.Errorf("%w: no value %q", ErrOutOfRange, text)
			}
			causes |= 1 << i
		}
	}
	*c = causes
	return nil
}
