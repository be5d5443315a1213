// Explorable.

package dispatch

import (
	"time"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// RetryBudgetConfig are the settings of a RetryBudget. The zero value of each
// field is its default.
type RetryBudgetConfig struct {
	_ struct{}
	// Percent is how many retries each hundred successes earn, 1 to 1000; default 20.
	Percent int
	// PerSecond is how many retries each second earns, however little traffic there
	// is; 1 to 1000000, default 3.
	PerSecond int
	// NoFloor lets time earn nothing. PerSecond is ignored then.
	NoFloor bool
	// Burst is how many retries may be saved up, and are there at the start; 1 to
	// 1000000, default 10.
	Burst int
}

// RetryBudget bounds retries by a share of the successes and a floor in time, so
// that failures of the members do not multiply the traffic that makes them fail,
// and a caller with little traffic may still repeat.
//
// A RetryBudget is made by NewRetryBudget.
//
// # Contract
//
//   - The retries that were granted never exceed Burst plus Percent of a hundredth of the successes plus PerSecond for each second that has passed.
//   - Spend with nothing saved returns false and changes nothing.
//   - The retries saved up never exceed Burst.
//   - A second earns PerSecond retries, whatever traffic there is.
//   - A clock that steps back earns nothing, and goes on earning from there.
//
// # Cost
//
// Every method is O(1) and allocates nothing.
//
// # Concurrency
//
// Earn is one atomic step. Spend is one step for the time and one for the retry;
// what other goroutines earn in between counts.
type RetryBudget struct {
	percent   uint64
	perSecond uint64 // hundredths of a retry
	full      uint64
	// saved counts hundredths of a retry. Invariant: saved <= full.
	saved syncx.Uint64
	// paid is the instant up to which time has been paid, in nanoseconds of the Unix
	// clock; 0 before the first Spend.
	paid syncx.Int64
}

// retry is the price of one retry in saved hundredths.
const retry = 100

// NewRetryBudget returns a full RetryBudget, or a [poise.FieldError] of
// ErrOutOfRange.
func NewRetryBudget(cfg RetryBudgetConfig) (*RetryBudget, error) {
	percent, perSecond, burst := defaultTo(cfg.Percent, 20), defaultTo(cfg.PerSecond, 3), defaultTo(cfg.Burst, 10)
	switch {
	case percent < 1 || percent > 1000:
		return nil, outOfRange("Percent", percent)
	case perSecond < 1 || perSecond > 1_000_000:
		return nil, outOfRange("PerSecond", perSecond)
	case burst < 1 || burst > 1_000_000:
		return nil, outOfRange("Burst", burst)
	}
	if cfg.NoFloor {
		perSecond = 0
	}
	b := &RetryBudget{percent: uint64(percent), perSecond: uint64(perSecond) * retry, full: uint64(burst) * retry}
	b.saved.Store(b.full)
	return b, nil
}

// Earn counts one success.
func (b *RetryBudget) Earn() { b.save(b.percent) }

// Refund gives a retry back that Spend took and that was not made.
func (b *RetryBudget) Refund() { b.save(retry) }

// save adds hundredths of a retry, as far as there is room for them.
func (b *RetryBudget) save(hundredths uint64) {
	for {
		saved := b.saved.Load()
		if saved == b.full || b.saved.CompareAndSwap(saved, min(saved+hundredths, b.full)) {
			return
		}
	}
}

// Spend takes one retry from what was saved up to the instant now. It reports
// whether there was one.
func (b *RetryBudget) Spend(now time.Time) bool {
	b.pay(now)
	for {
		saved := b.saved.Load()
		if saved < retry {
			return false
		}
		if b.saved.CompareAndSwap(saved, saved-retry) {
			return true
		}
	}
}

// pay saves what the time since the last payment has earned.
func (b *RetryBudget) pay(now time.Time) {
	if b.perSecond == 0 {
		return
	}
	at, paid := now.UnixNano(), b.paid.Load()
	if paid == 0 || at < paid {
		// The first payment, or a clock that was set back.
		b.paid.CompareAndSwap(paid, at)
		return
	}
	price := uint64(time.Second) / b.perSecond // of a hundredth, in nanoseconds
	if price == 0 {
		price = 1
	}
	earned := min(uint64(at-paid)/price, b.full)
	if earned == 0 {
		return
	}
	next := at // what exceeds a full budget is lost
	if earned < b.full {
		next = paid + int64(earned*price)
	}
	// Who loses the race leaves the payment to who won it.
	if b.paid.CompareAndSwap(paid, next) {
		b.save(earned)
	}
}

// Saved returns how many retries are saved, in hundredths.
func (b *RetryBudget) Saved() uint64 { return b.saved.Load() }
