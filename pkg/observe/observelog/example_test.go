package observelog_test

import (
	"log/slog"
	"os"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/observe/observelog"
)

// A log that says when nobody could be found, beside metrics that count everything.
func Example() {
	log, err := observelog.New(observelog.Config{Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // this example always prints the same
			}
			return a
		},
	}))})
	if err != nil {
		panic(err)
	}
	var metrics observe.Metrics
	observer := observe.Fanout{&metrics, log} // as the Observer of a loop

	observer.Refused(observe.Refusal{Cause: observe.RefusedNoEligible, Err: poise.ErrNoEligible, Attempt: 1, Members: 3})

	// Output:
	// level=WARN msg=refused cause="no eligible" attempt=1 members=3 eligible=0
}
