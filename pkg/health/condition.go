package health

// Condition is what active probing knows of a candidate.
//
// The zero value is Unknown.
type Condition uint8

const (
	// Unknown: too few probes in a row have agreed so far.
	Unknown Condition = iota
	// Healthy: enough probes in a row succeeded.
	Healthy
	// Unhealthy: enough probes in a row failed.
	Unhealthy
	conditions
)

var conditionNames = [conditions]string{"unknown", "healthy", "unhealthy"}

// String returns the condition in lower case.
func (c Condition) String() string {
	if c < conditions {
		return conditionNames[c]
	}
	return "no condition"
}

// UnknownPolicy is whether a candidate may be chosen while nobody knows how it is.
//
// The zero value is AllowUnknown.
type UnknownPolicy uint8

const (
	// AllowUnknown takes it for available until probes have found it unhealthy.
	AllowUnknown UnknownPolicy = iota
	// DenyUnknown leaves it out until probes have found it healthy.
	DenyUnknown
	unknownPolicies
)

// String returns the policy in lower case.
func (p UnknownPolicy) String() string {
	switch p {
	case AllowUnknown:
		return "allow unknown"
	case DenyUnknown:
		return "deny unknown"
	}
	return "no policy"
}
