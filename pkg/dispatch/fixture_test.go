package dispatch_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// epoch is the instant at which the tests begin.
var epoch = time.Unix(1_000_000_000, 0)

// failer is a test, or a law that answers in text.
type failer interface {
	Fatalf(format string, args ...any)
	Helper()
}

func requireField(t testing.TB, err error, field string, sentinel error) {
	t.Helper()
	var refused *poise.FieldError
	if !errors.As(err, &refused) || refused.Field != field || !errors.Is(err, sentinel) {
		t.Errorf("want %v for %s, got %v", sentinel, field, err)
	}
}

// noPassive switches passive health off.
func noPassive() (cfg health.PassiveHealthConfig) {
	cfg.Off = true
	return cfg
}

// outcomeList is an Observer that keeps the outcomes of a sequential test.
type outcomeList struct {
	observe.Nobody
	list []poise.Outcome
}

func (l *outcomeList) Ended(e observe.Ended) { l.list = append(l.list, e.Result.Outcome) }

// fatal is a test or a law that a helper can end.
type fatal interface {
	Helper()
	Fatal(args ...any)
}
