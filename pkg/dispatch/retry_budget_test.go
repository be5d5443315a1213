package dispatch_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
)

func newRetryBudget(t testing.TB, percent, burst int) *dispatch.RetryBudget {
	t.Helper()
	b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: percent, Burst: burst})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func spendAll(b *dispatch.RetryBudget) (n int) {
	for b.Spend(epoch) {
		n++
	}
	return n
}

// Claim: The retries saved up never exceed Burst.
func TestRetryBudget_SavesNoMoreThanBurst(t *testing.T) {
	b := newRetryBudget(t, 0, 0)
	if n := spendAll(b); n != 10 {
		t.Errorf("%d retries are there at the start", n)
	}
	for range 10000 {
		b.Earn()
	}
	if n := spendAll(b); n != 10 {
		t.Errorf("%d retries were saved", n)
	}
	b = newRetryBudget(t, 1000, 1)
	b.Earn()
	if n := spendAll(b); n != 1 {
		t.Errorf("%d retries were saved by a call that earns ten", n)
	}
}

// Claim: Spend with nothing saved returns false and changes nothing.
func TestRetryBudget_SpendsOnlyWhatIsThere(t *testing.T) {
	b := newRetryBudget(t, 20, 1)
	spendAll(b)
	for call := range 4 {
		b.Earn()
		for range 3 {
			if b.Spend(epoch) {
				t.Fatalf("a retry after %d calls", call+1)
			}
		}
	}
	b.Earn()
	if n := spendAll(b); n != 1 {
		t.Errorf("%d retries after five calls", n)
	}
}

// Claim: The retries that were granted never exceed Burst plus Percent of a hundredth of the successes plus PerSecond for each second that has passed.
func TestRetryBudget_HoldsUnderContention(t *testing.T) {
	const callers, rounds = 4, 3000
	b := newRetryBudget(t, 30, 5)
	var granted atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range rounds {
				b.Earn()
				for b.Spend(epoch) {
					granted.Add(1)
				}
			}
		})
	}
	group.Wait()
	granted.Add(int64(spendAll(b)))
	// Nothing was lost to a full budget, since every caller spends all the time.
	if want := int64(5 + callers*rounds*30/100); granted.Load() > want || granted.Load() < want-5 {
		t.Errorf("%d retries were granted, want %d", granted.Load(), want)
	}
}

// Claim: The retries that were granted never exceed Burst plus Percent of a hundredth of the successes plus PerSecond for each second that has passed.
//
// Claim: Spend with nothing saved returns false and changes nothing.
//
// Claim: The retries saved up never exceed Burst.
func TestRetryBudget_LawAgreesWithItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.IntRange(1, 1000).Draw(t, "percent")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: percent, Burst: burst})
		if err != nil {
			t.Fatalf("%v", err)
		}
		saved, calls, granted := 100*burst, 0, 0
		for _, earn := range rapid.SliceOf(rapid.Bool()).Draw(t, "script") {
			if earn {
				b.Earn()
				calls++
				saved = min(saved+percent, 100*burst)
				continue
			}
			want := saved >= 100
			if got := b.Spend(epoch); got != want {
				t.Fatalf("Spend with %d hundredths is %t", saved, got)
			}
			if want {
				saved -= 100
				granted++
			}
			if 100*granted > 100*burst+percent*calls {
				t.Fatalf("%d retries for %d calls", granted, calls)
			}
		}
	})
}

func TestNewRetryBudget_NamesTheFieldThatIsOutOfRange(t *testing.T) {
	for _, row := range []struct {
		field          string
		percent, burst int
	}{
		{"Percent", -1, 1},
		{"Percent", 1001, 1},
		{"Burst", 1, -1},
		{"Burst", 1, 1_000_001},
	} {
		_, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{Percent: row.percent, Burst: row.burst})
		requireField(t, err, row.field, dispatch.ErrOutOfRange)
	}
	newRetryBudget(t, 1000, 1_000_000)
}

// Claim: A second earns PerSecond retries, whatever traffic there is.
//
// Claim: The retries saved up never exceed Burst.
//
// Claim: A clock that steps back earns nothing, and goes on earning from there.
//
// Cases: B83.
func TestRetryBudget_EarnsByTime(t *testing.T) {
	b, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{})
	if err != nil {
		t.Fatal(err)
	}
	spend := func(now time.Time) (n int) {
		for b.Spend(now) {
			n++
		}
		return n
	}
	now := epoch
	for _, row := range []struct {
		later time.Duration
		want  int
	}{
		{0, 10}, {0, 0}, {time.Second, 3}, {333 * time.Millisecond, 0}, {time.Millisecond, 1},
		{time.Hour, 10}, {time.Second, 3}, {-time.Hour, 0}, {time.Second, 3},
	} {
		now = now.Add(row.later)
		if got := spend(now); got != row.want {
			t.Errorf("%v later there are %d, want %d", row.later, got, row.want)
		}
	}
	// Asked often, a second earns no less.
	granted := 0
	for range 1000 {
		now = now.Add(time.Millisecond)
		granted += spend(now)
	}
	if granted != 3 {
		t.Errorf("a second of asking each millisecond earned %d", granted)
	}
	bare, err := dispatch.NewRetryBudget(dispatch.RetryBudgetConfig{NoFloor: true, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !bare.Spend(epoch) || bare.Spend(epoch.Add(time.Hour)) {
		t.Error("without a floor time earns")
	}
}
