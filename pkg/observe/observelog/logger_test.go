package observelog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
	"github.com/copyleftdev/poise-go/pkg/observe/observelog"
)

// newLogger returns a Logger that writes lines of text, without their time.
func newLogger(t *testing.T, level slog.Level, edit func(*observelog.Config)) (*observelog.Logger, *bytes.Buffer) {
	t.Helper()
	into := new(bytes.Buffer)
	cfg := observelog.Config{Logger: slog.New(slog.NewTextHandler(into, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	if edit != nil {
		edit(&cfg)
	}
	l, err := observelog.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, into
}

// tell tells one event of each kind.
func tell(o observe.Observer) {
	began := time.Unix(1, 0)
	o.Ended(observe.Ended{
		ID: "id-of-a", Incarnation: 7, Attempt: 2, Choice: observe.Trial, Began: began, At: began.Add(3 * time.Millisecond),
		Result: poise.Result{Outcome: poise.Failure, Err: errors.New("text-of-an-error")},
	})
	o.Ended(observe.Ended{
		ID: "id-of-a", Attempt: 1, Began: began, Answered: began, At: began,
		Late: poise.Result{Outcome: poise.Silent, Err: errors.New("text-of-a-late-error")},
	})
	o.Refused(observe.Refusal{Cause: observe.RefusedNoEligible, Attempt: 1, Members: 3, Err: errors.New("text-of-an-error")})
	o.Published(observe.Published{Number: 4, Members: 3, Eligible: 2, Changed: []observe.ReasonChange{{ID: "id-of-a", Incarnation: 7, Is: poise.ExcludedEjected}}})
}

// Claim: Without Identities a Logger writes no identity and no text of an error.
func TestLogger_WritesEventsWithoutIdentities(t *testing.T) {
	l, into := newLogger(t, slog.LevelDebug, nil)
	tell(l)
	want := `level=DEBUG msg=attempt outcome=failure late=success choice=trial attempt=2 elapsed_micros=3000
level=DEBUG msg=attempt outcome=success late=silent choice=picked attempt=1 elapsed_micros=0
level=WARN msg=refused cause="no eligible" attempt=1 members=3 eligible=0
level=INFO msg=published number=4 members=3 eligible=2 changed=1
`
	if got := into.String(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}

func TestLogger_WritesIdentitiesWhereWanted(t *testing.T) {
	l, into := newLogger(t, slog.LevelDebug, func(c *observelog.Config) { c.Identities = true })
	tell(l)
	want := `level=DEBUG msg=attempt outcome=failure late=success choice=trial attempt=2 elapsed_micros=3000 member=id-of-a incarnation=7 error=text-of-an-error
level=DEBUG msg=attempt outcome=success late=silent choice=picked attempt=1 elapsed_micros=0 member=id-of-a incarnation=0 error=text-of-a-late-error
level=WARN msg=refused cause="no eligible" attempt=1 members=3 eligible=0 error=text-of-an-error
level=INFO msg=published number=4 members=3 eligible=2 changed=1
level=INFO msg=member was=eligible is=ejected member=id-of-a incarnation=7
`
	if got := into.String(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}

// Claim: Of OneIn attempts, and of OneIn refusals, the first is written and the others are not.
func TestLogger_WritesOneIn(t *testing.T) {
	l, into := newLogger(t, slog.LevelDebug, func(c *observelog.Config) { c.OneIn = 3 })
	for range 7 {
		l.Ended(observe.Ended{})
		l.Refused(observe.Refusal{})
	}
	if got := into.String(); strings.Count(got, "msg=attempt") != 3 || strings.Count(got, "msg=refused") != 3 || strings.Count(got, "one_in=3") != 6 {
		t.Errorf("of seven with one in three these are written:\n%s", got)
	}
}

// Claim: A level that the log does not want costs nothing but to ask.
func TestLogger_WritesNoLevelThatIsNotWanted(t *testing.T) {
	l, into := newLogger(t, slog.LevelError, func(c *observelog.Config) { c.Identities = true })
	if n := testing.AllocsPerRun(100, func() {
		l.Ended(observe.Ended{ID: "a"})
		l.Refused(observe.Refusal{})
		l.Published(observe.Published{})
	}); n != 0 || into.Len() != 0 {
		t.Errorf("what is not wanted allocates %v times and writes %q", n, into)
	}
	l, into = newLogger(t, slog.LevelWarn, func(c *observelog.Config) { c.OneIn = 2 })
	for range 3 { // what is not wanted takes nobody's turn
		l.Ended(observe.Ended{})
	}
	l.Refused(observe.Refusal{})
	if strings.Count(into.String(), "\n") != 1 {
		t.Errorf("the log is %q", into)
	}
}

// Hostile identities stay inside their attribute.
func TestLogger_LetsTheHandlerEscape(t *testing.T) {
	into := new(bytes.Buffer)
	l, err := observelog.New(observelog.Config{Logger: slog.New(slog.NewJSONHandler(into, &slog.HandlerOptions{Level: slog.LevelDebug})), Identities: true})
	if err != nil {
		t.Fatal(err)
	}
	hostile := "a\"\n{\x00"
	l.Ended(observe.Ended{ID: hostile})
	var got map[string]any
	if err := json.Unmarshal(into.Bytes(), &got); err != nil || got["member"] != hostile || strings.Count(into.String(), "\n") != 1 {
		t.Errorf("the line is %q: %v", into, err)
	}
}

func TestNew_NamesTheFieldThatIsMissing(t *testing.T) {
	_, err := observelog.New(observelog.Config{})
	var field *poise.FieldError
	if !errors.As(err, &field) || field.Field != "Logger" || !errors.Is(err, observelog.ErrMissing) {
		t.Errorf("without a Logger: %v", err)
	}
	if _, err := observelog.New(observelog.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		t.Error(err)
	}
}
