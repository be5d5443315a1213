package sim

// NewLoop returns the shipped loop with default settings.
func NewLoop(s Setup) (Subject, error) { return NewRotation(s) }

// NewBareLoop returns the shipped loop without passive health and without retries.
func NewBareLoop(s Setup) (Subject, error) { return NewRotationOnce(s) }
