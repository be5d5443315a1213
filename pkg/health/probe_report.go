package health

// ProbeReport is what became of one probe.
type ProbeReport struct {
	_ struct{}
	// Member is who was probed, by the number that the Prober was given.
	Member uint64
	// Result is what the probe found.
	Result ProbeResult
	// TimedOut means the probe did not answer within Timeout.
	TimedOut bool
	// Err is why the probe failed, ErrTimedOut if TimedOut; nil if it did not, and if
	// it was discarded.
	Err error
	// State is that of the member when the probe was recorded.
	State ActiveState
}
