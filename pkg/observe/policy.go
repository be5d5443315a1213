package observe

import (
	"iter"
	"math"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// PolicyConfig are the settings of an observed Policy. The zero value of all but
// Policy and Observer is legal.
type PolicyConfig struct {
	_ struct{}
	// Policy is the policy that decides. Required.
	Policy poise.Policy
	// Observer is told of each decision. Required.
	Observer DecisionObserver
	// Scopes has each pick asked why it went as it did, to tell the Scope of a topology
	// policy. It costs what the policy's explanation costs.
	Scopes bool
	// Clock tells the time, to measure how long a pick took; nil measures nothing.
	Clock func() time.Time
}

// Policy is a policy whose decisions are told.
//
// A Policy is made by NewPolicy.
//
// # Contract
//
//   - A Policy picks what its policy picks, and returns its errors as they are.
//   - Each pick is told once, after it was made.
//   - The Pickers of a Policy are Preferrers where those of its policy are.
//   - A panic of the DecisionObserver is dropped.
//
// # Cost
//
// A pick costs what its policy's does, and what the Observer does. It allocates nothing
// more, but with Scopes where the Query does not ask why itself.
//
// # Concurrency
//
// A Policy is used as its policy is.
type Policy struct{ cfg PolicyConfig }

// NewPolicy returns a Policy, or a [poise.FieldError].
func NewPolicy(cfg PolicyConfig) (*Policy, error) {
	switch {
	case cfg.Policy == nil:
		return nil, &poise.FieldError{Field: "Policy", Value: nil, Err: ErrMissing}
	case cfg.Observer == nil:
		return nil, &poise.FieldError{Field: "Observer", Value: nil, Err: ErrMissing}
	}
	return &Policy{cfg}, nil
}

// Prepare returns a Picker of the policy that is observed.
func (p *Policy) Prepare(view *poise.View) (poise.Picker, error) {
	inner, err := p.cfg.Policy.Prepare(view)
	if err != nil || inner == nil {
		return nil, err
	}
	of := &picker{policy: p, inner: inner, view: view, first: firstPriority(view)}
	if _, ok := inner.(poise.Preferrer); ok {
		return preferrer{of}, nil
	}
	return of, nil
}

// picker tells what another Picker picks.
type picker struct {
	policy *Policy
	inner  poise.Picker
	view   *poise.View
	first  uint32 // the most preferred priority of the View
}

// Pick picks, and tells.
func (p *picker) Pick(q poise.Query) (poise.Selection, error) {
	cfg := &p.policy.cfg
	if cfg.Scopes && q.Why == nil {
		q.Why = new(poise.Decision)
	}
	var began time.Time
	if cfg.Clock != nil {
		began = cfg.Clock()
	}
	selection, err := p.inner.Pick(q)
	d := Decided{Kind: DecisionKindOf(err), Candidates: p.view.Len()}
	if cfg.Clock != nil {
		d.Took = cfg.Clock().Sub(began)
	}
	d.Selected, _ = p.view.Index(selection) // -1 of none
	if cfg.Scopes {
		d.Scope = p.scope(&q.Why.Scope)
	}
	p.tell(d)
	return selection, err
}

func (p *picker) tell(d Decided) {
	defer func() { _ = recover() }()
	p.policy.cfg.Observer.Decided(d)
}

// scope is where a pick was made.
func (p *picker) scope(of *poise.ScopeChoice) ScopeKind {
	switch {
	case of.Policy == "":
		return ScopeUnknown
	case of.Panic:
		return ScopePanic
	case of.Priority != p.first:
		return ScopeSpill
	}
	return ScopeFirst
}

// firstPriority returns the most preferred priority of the View.
func firstPriority(view *poise.View) uint32 {
	first := uint32(math.MaxUint32)
	for _, s := range view.All() {
		first = min(first, s.Priority)
	}
	return first
}

// preferrer is a picker over one that has an order of preference.
type preferrer struct{ *picker }

// Preference is that of the policy.
func (p preferrer) Preference(key poise.Key) iter.Seq[int] {
	return p.inner.(poise.Preferrer).Preference(key)
}
