package seq

import (
	"cmp"
	"slices"
)

// Define returns a specification with states of type S, which starts at initial.
// step returns the states in which a call may leave a state, none when the call
// is not allowed. A specification so defined is judged as a whole.
func Define[S comparable](name string, initial S, step func(S, Op) []S) Spec {
	return &defined[S]{name: name, initial: initial, step: step}
}

// DefineParts is Define for a specification that composes: calls with different
// keys do not touch each other's state, so every key is judged on its own. The
// caller states the reason beside the call.
func DefineParts[S comparable, K cmp.Ordered](name string, initial S, step func(S, Op) []S, key func(Op) K) Spec {
	return &defined[S]{name: name, initial: initial, step: step, parts: func(h History) []History {
		byKey := make(map[K]History)
		for _, op := range h {
			byKey[key(op)] = append(byKey[key(op)], op)
		}
		keys := make([]K, 0, len(byKey))
		for k := range byKey {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		parts := make([]History, len(keys))
		for i, k := range keys {
			parts[i] = byKey[k]
		}
		return parts
	}}
}

// One returns the only state a call can lead to, when allowed holds.
func One[S any](allowed bool, next S) []S {
	if !allowed {
		return nil
	}
	return []S{next}
}

type defined[S comparable] struct {
	name    string
	initial S
	step    func(S, Op) []S
	parts   func(History) []History // nil: one part
}

func (d *defined[S]) Name() string { return d.name }
func (d *defined[S]) Initial() any { return d.initial }

func (d *defined[S]) Next(state any, op Op) []any {
	states := d.step(state.(S), op)
	next := make([]any, len(states))
	for i, s := range states {
		next[i] = s
	}
	return next
}

func (d *defined[S]) Parts(h History) []History {
	if d.parts == nil {
		return []History{h}
	}
	return d.parts(h)
}
