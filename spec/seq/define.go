package seq

import (
	"cmp"
	"maps"
	"slices"
)

// Define returns a specification with states of type S, which starts at initial.
// step returns the states in which a call may leave a state, none when the call
// is not allowed. A specification so defined is judged as a whole.
func Define[S comparable](name string, initial S, step func(S, Op) []S) Spec {
	return &defined[S]{name: name, initial: initial, step: step}
}

// Each returns a specification of several objects of which each keeps the given
// one on its own; key tells whose call it is. Linearizability is local (Herlihy
// and Wing, "Linearizability: A Correctness Condition for Concurrent Objects",
// ACM TOPLAS 12, 1990, theorem 1), so every object's calls are judged apart. That
// two calls with different keys do not touch each other's state is for the caller
// to say, beside the call.
func Each[K cmp.Ordered](spec Spec, key func(Op) K) Spec {
	return &parted{spec, "each: ", func(h History) []History {
		byKey := make(map[K]History)
		for _, op := range h {
			byKey[key(op)] = append(byKey[key(op)], op)
		}
		var parts []History
		for _, k := range slices.Sorted(maps.Keys(byKey)) {
			parts = append(parts, byKey[k])
		}
		return parts
	}}
}

// parted is a specification whose histories are not judged as they are.
type parted struct {
	Spec
	prefix string // of its name
	parts  func(History) []History
}

func (p *parted) Name() string              { return p.prefix + p.Spec.Name() }
func (p *parted) Parts(h History) []History { return p.parts(h) }

// Stepwise returns a specification of calls that may be several steps, each of
// which takes effect at an instant of its own between the call and its return.
// steps tells which; in what order they come is for the states of the given
// specification to say.
func Stepwise(spec Spec, steps func(Op) []Op) Spec {
	return &parted{spec, "steps: ", func(h History) []History {
		var all History
		for _, op := range h {
			all = append(all, steps(op)...)
		}
		return spec.Parts(all)
	}}
}

// After returns a specification that starts where the calls lead, one after the
// other. It keeps the name.
func After(spec Spec, calls ...Op) Spec {
	state := spec.Initial()
	for _, op := range calls {
		next := spec.Next(state, op)
		if len(next) == 0 {
			panic("seq: " + spec.Name() + " does not allow " + op.String())
		}
		state = next[0]
	}
	return &after{spec, state, calls}
}

type after struct {
	Spec
	state any
	calls []Op
}

func (a *after) Initial() any { return a.state }

// Whole returns the history together with the calls that led to the start of a
// specification made by After, so that it can be judged by the specification of
// that name.
func Whole(spec Spec, h History) History {
	var whole History
	if a, ok := spec.(*after); ok {
		for i, op := range a.calls {
			op.Call = int64(2 * (i - len(a.calls)))
			op.Return = op.Call + 1
			whole = append(whole, op)
		}
	}
	return append(whole, h...)
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

func (d *defined[S]) Parts(h History) []History { return []History{h} }
