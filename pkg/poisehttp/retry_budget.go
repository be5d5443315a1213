// Explorable.

package poisehttp

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// RetryBudgetConfig are the settings of a RetryBudget. The zero value of each
// field is its default.
type RetryBudgetConfig struct {
	_ struct{}
	// Percent is how many retries each hundred calls earn, 1 to 1000; default 20.
	Percent int
	// Burst is how many retries may be saved up, and are there at the start; 1 to
	// 1000000, default 10.
	Burst int
}

// RetryBudget bounds retries by a share of the calls, so that failures of the
// backends do not multiply the traffic that makes them fail.
//
// A RetryBudget is made by NewRetryBudget.
//
// # Contract
//
//   - The retries that were granted never exceed Burst plus Percent of a hundredth of the calls.
//   - Spend with nothing saved returns false and changes nothing.
//   - The retries saved up never exceed Burst.
//
// # Cost
//
// Every method is O(1) and allocates nothing.
//
// # Concurrency
//
// Earn and Spend are each one atomic step.
type RetryBudget struct {
	percent uint64
	full    uint64
	// saved counts hundredths of a retry. Invariant: saved <= full.
	saved syncx.Uint64
}

// retry is the price of one retry in saved hundredths.
const retry = 100

// NewRetryBudget returns a full RetryBudget, or a [poise.FieldError] of
// ErrOutOfRange.
func NewRetryBudget(cfg RetryBudgetConfig) (*RetryBudget, error) {
	percent, burst := defaultTo(cfg.Percent, 20), defaultTo(cfg.Burst, 10)
	if percent < 1 || percent > 1000 {
		return nil, outOfRange("RetryBudget.Percent", percent)
	}
	if burst < 1 || burst > 1_000_000 {
		return nil, outOfRange("RetryBudget.Burst", burst)
	}
	b := &RetryBudget{percent: uint64(percent), full: uint64(burst) * retry}
	b.saved.Store(b.full)
	return b, nil
}

// Earn counts one call.
func (b *RetryBudget) Earn() { b.save(b.percent) }

// refund gives a retry back that Spend took and that was not made.
func (b *RetryBudget) refund() { b.save(retry) }

// save adds hundredths of a retry, as far as there is room for them.
func (b *RetryBudget) save(hundredths uint64) {
	for {
		saved := b.saved.Load()
		if saved == b.full || b.saved.CompareAndSwap(saved, min(saved+hundredths, b.full)) {
			return
		}
	}
}

// Spend takes one retry from what was saved. It reports whether there was one.
func (b *RetryBudget) Spend() bool {
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
