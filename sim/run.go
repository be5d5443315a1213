package sim

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// ErrUnknownSubject means that no Subject has the name.
var ErrUnknownSubject = errors.New("sim: unknown subject")

// subjects are the Subjects by name.
var subjects = map[string]NewSubject{
	"loop":     NewLoop,
	"bare":     NewBareLoop,
	"noladder": NewLoopWithoutPassiveHealth,
	"noretry":  NewLoopWithoutRetries,
	"rotation": NewRotation,
	"thrifty":  NewThriftyRotation,
	"once":     NewRotationOnce,
	"oracle":   NewOracle,
}

// SubjectNames returns the names of the Subjects that scenarios can name: "loop" is
// the shipped loop with default settings, "bare" the same without passive health and
// without retries, "noladder" and "noretry" without one of them, "rotation" takes members
// in turn with three attempts, "thrifty" with a budget of them, "once" without retries,
// and "oracle" knows who is well.
func SubjectNames() []string { return slices.Sorted(maps.Keys(subjects)) }

// byPolicy reports whether the Subject of the name differs from policy to policy.
func byPolicy(subject string) bool {
	return subject != "rotation" && subject != "thrifty" && subject != "once" && subject != "oracle"
}

// Run runs the scenario once. Equal arguments give equal Records, if the Subject
// draws its chance from its seed.
func Run(s *Scenario, policy string, subject NewSubject, seed uint64) (*Record, error) {
	return new(world).whole(s, policy, subject, seed)
}

// whole runs a scenario from begin to end. A panic of the Subject is an error that
// says with which seed.
func (w *world) whole(s *Scenario, policy string, subject NewSubject, seed uint64) (r *Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sim: %s, %s, seed %d: panic: %v\n%s", s.Name, policy, seed, p, debug.Stack())
		}
	}()
	if err := w.begin(s, policy, subject, seed); err != nil {
		return nil, fmt.Errorf("sim: %s, %s, seed %d: %w", s.Name, policy, seed, err)
	}
	if err := w.run(); err != nil {
		return nil, fmt.Errorf("sim: %s, %s, seed %d: %w", s.Name, policy, seed, err)
	}
	w.record.peaks = w.record.most
	return w.record, nil
}

// SubjectNamed returns the Subject of the name, nil if there is none.
func SubjectNamed(name string) NewSubject { return subjects[name] }
