package policytest

import (
	"sync/atomic"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// planted is a policy by turns that keeps every law, but for the fault that a test
// plants in it.
type planted struct {
	turn     atomic.Uint64
	prepared atomic.Uint64
	refused  bool // for faults of refusals
	// prepare and pick, if not nil, stand in for the sound methods.
	prepare func(*planted, *poise.View) (poise.Picker, error)
	pick    func(*plantedPicker, poise.Query) (poise.Selection, error)
}

func (p *planted) Prepare(v *poise.View) (poise.Picker, error) {
	p.prepared.Add(1)
	if p.prepare != nil {
		return p.prepare(p, v)
	}
	return p.sound(v)
}

func (p *planted) sound(v *poise.View) (poise.Picker, error) {
	return &plantedPicker{policy: p, view: v}, nil
}

type plantedPicker struct {
	policy *planted
	view   *poise.View
}

func (p *plantedPicker) Pick(q poise.Query) (poise.Selection, error) {
	if p.policy.pick != nil {
		return p.policy.pick(p, q)
	}
	return p.sound(q)
}

// sound is a pick that keeps the laws.
func (p *plantedPicker) sound(q poise.Query) (poise.Selection, error) {
	rest := p.view.Untried(q.Tried)
	d := poise.Decision{
		View: p.view, Policy: "planted", Chosen: -1, Err: rest.Check(),
		Tried: p.view.EligibleLen() - rest.Len(),
	}
	if d.Err == nil {
		turn := p.policy.turn.Add(1) - 1
		d.Chosen = rest.At(int(turn % uint64(rest.Len())))
		d.Rule, d.Considered = "its turn", 1
		d.Compared[0] = poise.Compared{Index: d.Chosen}
		d.ComparedLen = 1
	}
	if q.Why != nil {
		*q.Why = d
	}
	if d.Err != nil {
		return poise.Selection{}, d.Err
	}
	return p.view.Select(d.Chosen)
}

// fails is a pick that answers the error where a sound one answers another or
// none.
func (p *plantedPicker) fails(q poise.Query, err error) (poise.Selection, error) {
	if q.Why != nil {
		*q.Why = poise.Decision{View: p.view, Policy: "planted", Chosen: -1, Err: err}
	}
	return poise.Selection{}, err
}

// instead returns a pick that answers one error where a sound one answers another.
func instead(of, answer error) func(*plantedPicker, poise.Query) (poise.Selection, error) {
	return func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		selection, err := p.sound(q)
		if err == of {
			return p.fails(q, answer)
		}
		return selection, err
	}
}

// lying returns a pick whose Why is changed after the fact.
func lying(change func(*poise.Decision)) func(*plantedPicker, poise.Query) (poise.Selection, error) {
	return func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		selection, err := p.sound(q)
		if q.Why != nil {
			change(q.Why)
		}
		return selection, err
	}
}

// trace returns a pick that takes a turn when it fails with the error.
func trace(of error) func(*plantedPicker, poise.Query) (poise.Selection, error) {
	return func(p *plantedPicker, q poise.Query) (poise.Selection, error) {
		selection, err := p.sound(q)
		if err == of {
			p.policy.turn.Add(1)
		}
		return selection, err
	}
}
