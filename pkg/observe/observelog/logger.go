// Package observelog writes what a loop tells to a log of log/slog.
package observelog

import (
	"context"
	"errors"
	"log/slog"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Config are the settings of a Logger.
type Config struct {
	_ struct{}
	// Logger is where it writes. Required.
	Logger *slog.Logger
	// OneIn writes one of so many attempts, and of refusals; 0 and 1 write all. What is
	// not written is counted by observe.Metrics.
	OneIn uint64
	// Identities writes who a member is and what an error says, too. Both may be what
	// strangers have sent, and identities are without bound.
	Identities bool
}

// ErrMissing means a Config without a Logger.
var ErrMissing = errors.New("observelog: missing")

// Logger is an Observer that writes to a log:
//
//	level  message      attributes
//	DEBUG  "attempt"    outcome, late, choice, attempt, elapsed_micros
//	WARN   "refused"    cause, attempt, members, eligible
//	INFO   "published"  number, members, eligible, changed
//	INFO   "member"     was, is: one for each change, with Identities only
//
// An attempt and a refusal have one_in if not all are written. With Identities an
// attempt and a member have member and incarnation, and an attempt and a refusal have
// error.
//
// A Logger is made by New.
//
// # Contract
//
//   - Without Identities a Logger writes no identity and no text of an error.
//   - Of OneIn attempts, and of OneIn refusals, the first is written and the others are not.
//   - A level that the log does not want costs nothing but to ask.
//
// # Cost
//
// What the handler of the log costs, inside the call.
//
// # Concurrency
//
// A Logger is safe for concurrent use if the handler of its log is.
type Logger struct {
	cfg               Config
	attempts, refused syncx.Uint64
}

var _ observe.Observer = (*Logger)(nil)

// New returns a Logger, or a [poise.FieldError].
func New(cfg Config) (*Logger, error) {
	if cfg.Logger == nil {
		return nil, &poise.FieldError{Field: "Logger", Value: nil, Err: ErrMissing}
	}
	cfg.OneIn = max(cfg.OneIn, 1)
	return &Logger{cfg: cfg}, nil
}

// wants reports whether the log wants the level, and this one is the one of OneIn.
func (l *Logger) wants(level slog.Level, seen *syncx.Uint64) bool {
	return l.cfg.Logger.Enabled(context.Background(), level) && (seen.Add(1)-1)%l.cfg.OneIn == 0
}

func (l *Logger) write(level slog.Level, message string, attributes []slog.Attr) {
	l.cfg.Logger.LogAttrs(context.Background(), level, message, attributes...)
}

// Ended writes an attempt.
func (l *Logger) Ended(e observe.Ended) {
	if !l.wants(slog.LevelDebug, &l.attempts) {
		return
	}
	attributes := []slog.Attr{
		slog.String("outcome", e.Result.Outcome.String()),
		slog.String("late", e.Late.Outcome.String()),
		slog.String("choice", e.Choice.String()),
		slog.Int("attempt", e.Attempt),
		slog.Int64("elapsed_micros", e.At.Sub(e.Began).Microseconds()),
	}
	attributes = l.sampled(attributes)
	attributes = l.member(attributes, e.ID, e.Incarnation)
	err := e.Result.Err
	if err == nil {
		err = e.Late.Err
	}
	l.write(slog.LevelDebug, "attempt", l.failed(attributes, err))
}

// Refused writes a call for which nobody was found.
func (l *Logger) Refused(r observe.Refusal) {
	if !l.wants(slog.LevelWarn, &l.refused) {
		return
	}
	attributes := l.sampled([]slog.Attr{
		slog.String("cause", r.Cause.String()),
		slog.Int("attempt", r.Attempt),
		slog.Int("members", r.Members),
		slog.Int("eligible", r.Eligible),
	})
	l.write(slog.LevelWarn, "refused", l.failed(attributes, r.Err))
}

// Published writes a publication.
func (l *Logger) Published(p observe.Published) {
	if !l.cfg.Logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	l.write(slog.LevelInfo, "published", []slog.Attr{
		slog.Uint64("number", p.Number),
		slog.Int("members", p.Members),
		slog.Int("eligible", p.Eligible),
		slog.Int("changed", len(p.Changed)),
	})
	if !l.cfg.Identities {
		return
	}
	for _, c := range p.Changed {
		attributes := []slog.Attr{slog.String("was", c.Was.String()), slog.String("is", c.Is.String())}
		l.write(slog.LevelInfo, "member", l.member(attributes, c.ID, c.Incarnation))
	}
}

func (l *Logger) sampled(attributes []slog.Attr) []slog.Attr {
	if l.cfg.OneIn > 1 {
		attributes = append(attributes, slog.Uint64("one_in", l.cfg.OneIn))
	}
	return attributes
}

func (l *Logger) member(attributes []slog.Attr, id string, incarnation uint64) []slog.Attr {
	if l.cfg.Identities {
		attributes = append(attributes, slog.String("member", id), slog.Uint64("incarnation", incarnation))
	}
	return attributes
}

func (l *Logger) failed(attributes []slog.Attr, err error) []slog.Attr {
	if l.cfg.Identities && err != nil {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	return attributes
}
