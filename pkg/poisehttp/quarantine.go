// Explorable.

package poisehttp

import (
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// QuarantineConfig are the settings of a Quarantine. The zero value of each field
// is its default.
type QuarantineConfig struct {
	_ struct{}
	// Off admits always.
	Off bool
	// Failures is how many failures in a row set an endpoint aside; 1 or more,
	// default 3.
	Failures int
	// Backoff is the first time aside, before jitter; it doubles each time the
	// endpoint fails again on return. Positive, default 1 s.
	Backoff time.Duration
	// MaxBackoff is the longest time aside, before jitter; at least Backoff,
	// default 30 s.
	MaxBackoff time.Duration
	// MaxAside is how many endpoints of a Balancer may be aside at once, in percent
	// of all in its list and rounded down: of one endpoint none, of two one. 1 to
	// 100, default 50.
	MaxAside int
}

// withDefaults returns the config with its defaults filled in, or the field that
// is out of range.
func (c QuarantineConfig) withDefaults() (QuarantineConfig, error) {
	c.Failures = defaultTo(c.Failures, 3)
	c.Backoff = defaultTo(c.Backoff, time.Second)
	c.MaxBackoff = defaultTo(c.MaxBackoff, max(30*time.Second, c.Backoff))
	c.MaxAside = defaultTo(c.MaxAside, 50)
	switch {
	case c.Failures < 1:
		return c, outOfRange("Quarantine.Failures", c.Failures)
	case c.Backoff < 0:
		return c, outOfRange("Quarantine.Backoff", c.Backoff)
	case c.MaxBackoff < c.Backoff:
		return c, outOfRange("Quarantine.MaxBackoff", c.MaxBackoff)
	case c.MaxAside < 1 || c.MaxAside > 100:
		return c, outOfRange("Quarantine.MaxAside", c.MaxAside)
	}
	return c, nil
}

// Quarantine sets an endpoint aside after failures in a row and brings it back
// after a jittered, growing backoff. Without it an endpoint that fails fast looks
// idle, and a load-aware policy sends it the traffic.
//
// A Quarantine is made by NewQuarantine, or by a Ward for one of several endpoints.
//
// # Contract
//
//   - The configured number of failures in a row sets the endpoint aside; a success in between starts the count again.
//   - A Quarantine whose Ward is full stays admitting instead, and asks again at its next failure.
//   - A Quarantine is in its Ward exactly while its endpoint is aside.
//   - Retire is final: the endpoint is not aside, and is never set aside again.
//   - Admit refuses exactly while the endpoint is aside.
//   - Return brings the endpoint back once its time aside is over, and not before.
//   - After a return the first failure sets the endpoint aside again, for twice the time up to the longest; the first success forgets that.
//   - Each time aside is between half of the backoff and the whole of it.
//   - A result of a call that was admitted before the endpoint was last set aside changes nothing.
//   - A cancelled call changes nothing.
//   - A clock that steps back costs at most one more time aside.
//
// # Cost
//
// Every method is O(1) and allocates nothing.
//
// # Concurrency
//
// Every method is one critical section.
type Quarantine struct {
	cfg  QuarantineConfig
	ward *Ward // nil: nothing bounds how many are aside

	mu syncx.Mutex
	// Guarded by mu.
	// epoch counts the times the endpoint was set aside; a permit bears the epoch
	// that issued it.
	epoch    uint64
	failures int // since the last success
	// rounds is how often the endpoint was set aside since its last success.
	rounds uint
	aside  bool
	since  time.Time     // when it was set aside, if it is
	wait   time.Duration // how long it stays aside, if it is
	// retired: the endpoint was removed.
	retired bool
}

// Permit is the right to make one call, issued by Admit and given to Report.
type Permit struct{ epoch uint64 }

// NewQuarantine returns a Quarantine of no Ward, so that MaxAside does not apply, or a [poise.FieldError] of ErrOutOfRange.
func NewQuarantine(cfg QuarantineConfig) (*Quarantine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Quarantine{cfg: cfg}, nil
}

// Admit returns a Permit, or ErrSetAside.
func (q *Quarantine) Admit() (Permit, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.aside {
		return Permit{}, ErrSetAside
	}
	return Permit{epoch: q.epoch}, nil
}

// Aside reports whether the endpoint is set aside.
func (q *Quarantine) Aside() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.aside
}

// Report tells what became of the call of a Permit, at the instant now. The
// chance draws the jitter; nil draws from the runtime. It reports whether this
// result set the endpoint aside.
func (q *Quarantine) Report(p Permit, outcome poise.Outcome, now time.Time, chance *poise.Generator) bool {
	if q.cfg.Off || !outcome.IsObservation() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.epoch != q.epoch || q.retired {
		return false
	}
	if !outcome.IsFailure() {
		q.failures, q.rounds = 0, 0
		return false
	}
	q.failures++
	// A return leaves the count, so that after it the first failure is enough.
	if q.failures < q.cfg.Failures {
		return false
	}
	if q.ward != nil && !q.ward.Enter() {
		return false
	}
	q.epoch++
	q.aside = true
	q.since = now
	backoff := q.backoff()
	q.wait = backoff - time.Duration(chance.Below(uint64(backoff/2)+1))
	q.rounds++
	return true
}

// backoff returns the time aside of this round, before jitter. Requires mu.
func (q *Quarantine) backoff() time.Duration {
	backoff := q.cfg.Backoff
	for range q.rounds {
		if backoff > q.cfg.MaxBackoff/2 {
			return q.cfg.MaxBackoff
		}
		backoff *= 2
	}
	return backoff
}

// Return brings the endpoint back if its time aside is over at the instant now.
// It returns how long the endpoint stays aside from now on, 0 if it is not aside.
func (q *Quarantine) Return(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.aside {
		return 0
	}
	elapsed := now.Sub(q.since)
	if elapsed < 0 {
		// The clock stepped back: waiting for the old instant could take for ever.
		q.since, elapsed = now, 0
	}
	if elapsed < q.wait {
		return q.wait - elapsed
	}
	q.leave()
	return 0
}

// release brings the endpoint back before its time, if it is aside.
func (q *Quarantine) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave()
}

// Retire brings the endpoint back for ever: it was removed, and what still fails
// there counts no more.
func (q *Quarantine) Retire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retired = true
	q.leave()
}

// leave ends the time aside. Requires mu.
func (q *Quarantine) leave() {
	if q.aside && q.ward != nil {
		q.ward.Leave()
	}
	q.aside = false
}
