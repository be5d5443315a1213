package observe

// ScopeKind is where among the priorities a candidate was picked. It is a fixed
// enumeration, so it can label a metric.
//
// The zero value is ScopeUnknown.
type ScopeKind uint8

const (
	// ScopeUnknown: nobody asked, or the policy knows no priorities.
	ScopeUnknown ScopeKind = iota
	// ScopeFirst: of the most preferred priority that the View has.
	ScopeFirst
	// ScopeSpill: of a less preferred one, which takes over a part.
	ScopeSpill
	// ScopePanic: of a priority in panic, which uses members that are not eligible, or
	// rejects.
	ScopePanic
	scopeKinds
)

var scopeKindNames = [scopeKinds]string{"unknown", "first", "spill", "panic"}

// String returns the kind in lower case.
func (k ScopeKind) String() string { return name(scopeKindNames[:], k, "unknown scope") }

// MarshalText returns String, or ErrUnknownName for a number outside the enumeration.
func (k ScopeKind) MarshalText() ([]byte, error) { return marshal(scopeKindNames[:], k) }

// UnmarshalText reads what MarshalText wrote.
func (k *ScopeKind) UnmarshalText(text []byte) error { return unmarshal(scopeKindNames[:], k, text) }
