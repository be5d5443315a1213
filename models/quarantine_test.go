//go:build interleave

package models

import (
	"testing"
	"time"

	"github.com/copyleftdev/poise-go/models/explore"
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/seq"
)

// ward is a Quarantine whose time aside is one nanosecond, or a twin of it with a
// planted bug. Instants are nanoseconds.
type ward interface {
	admit() (report func(v seq.Verdict) bool, ok bool)
	back(at int) bool
}

type realWard struct {
	*poisehttp.Quarantine
	chance *poise.Generator
}

func newWard(failures int) realWard {
	q, err := poisehttp.NewQuarantine(poisehttp.QuarantineConfig{Failures: failures, Backoff: 1, MaxBackoff: 1})
	if err != nil {
		panic(err)
	}
	return realWard{q, poise.NewGenerator(1)}
}

func (w realWard) admit() (report func(v seq.Verdict) bool, ok bool) {
	permit, err := w.Admit()
	if err != nil {
		return nil, false
	}
	return func(v seq.Verdict) bool {
		outcome := poise.Success
		if v.Failed {
			outcome = poise.Failure
		}
		return w.Report(permit, outcome, time.Unix(0, int64(v.At)), w.chance)
	}, true
}

func (w realWard) back(at int) bool { return w.Return(time.Unix(0, int64(at))) == 0 }

// buggyWard is a Quarantine for one failure, in hooked cells.
type buggyWard struct {
	mu           explore.Mutex
	epoch, since explore.Int64
	aside        explore.Bool

	anyEpoch bool // a result counts whenever its call was admitted
	unlocked bool // Report decides outside the lock
}

func (w *buggyWard) admit() (report func(v seq.Verdict) bool, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aside.Load() {
		return nil, false
	}
	epoch := w.epoch.Load()
	return func(v seq.Verdict) bool {
		if w.unlocked {
			return w.report(epoch, v)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.report(epoch, v)
	}, true
}

func (w *buggyWard) report(epoch int64, v seq.Verdict) bool {
	if !w.anyEpoch && epoch != w.epoch.Load() || !v.Failed {
		return false
	}
	w.epoch.Add(1)
	w.since.Store(int64(v.At))
	w.aside.Store(true)
	return true
}

func (w *buggyWard) back(at int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aside.Load() && int64(at) > w.since.Load() {
		w.aside.Store(false)
	}
	return !w.aside.Load()
}

// callWith is one call whose result is known beforehand.
func callWith(id, at int, failed bool) func(ward, *explore.T) {
	return func(w ward, h *explore.T) {
		var report func(seq.Verdict) bool
		if h.Call("Admit", id, func() (ok any) { report, ok = w.admit(); return ok }) == true {
			v := seq.Verdict{Permit: id, At: at, Failed: failed}
			h.Call("Report", v, func() any { return report(v) })
		}
	}
}

// Claim: A result of a call that was admitted before the endpoint was last set aside changes nothing.
// Claim: Admit refuses exactly while the endpoint is aside.
// Claim: Return brings the endpoint back once its time aside is over, and not before.
func TestQuarantine_LateFailuresAgainstTheReturn(t *testing.T) {
	explore.Check(t, explore.Model[ward]{
		Name:     "quarantine: two calls that fail, against two looks whether the time is over",
		NotShown: "A growing backoff and its jitter, which are arithmetic and tested as such.",
		New:      func() ward { return newWard(1) },
		Tasks: []explore.Task[ward]{
			{Name: "call 0", Body: callWith(0, 1, true)},
			{Name: "call 1", Body: callWith(1, 3, true)},
			{Name: "control", Body: func(w ward, h *explore.T) {
				for _, at := range []int{1, 2} {
					h.Call("Return", at, func() any { return w.back(at) })
				}
			}},
		},
		Outcome: results[ward],
		Spec:    seq.Quarantine(1),
		Bugs: []explore.Bug[ward]{
			bug("a late failure counts", "history", func() ward { return &buggyWard{anyEpoch: true} }),
			bug("report outside the lock", "history", func() ward { return &buggyWard{unlocked: true} }),
		},
	})
}

// Claim: The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
func TestQuarantine_FailuresInARowAgainstASuccess(t *testing.T) {
	explore.Check(t, explore.Model[ward]{
		Name:     "quarantine: two calls that fail and one that succeeds, two failures set aside",
		NotShown: "More than three calls.",
		New:      func() ward { return newWard(2) },
		Tasks: []explore.Task[ward]{
			{Name: "call 0", Body: callWith(0, 1, true)},
			{Name: "call 1", Body: callWith(1, 2, true)},
			{Name: "call 2", Body: callWith(2, 3, false)},
		},
		Outcome: results[ward],
		Spec:    seq.Quarantine(2),
		Bugs: []explore.Bug[ward]{
			bug("one failure is enough", "history", func() ward { return newWard(1) }),
		},
	})
}
