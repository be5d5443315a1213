package poisehttp_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func TestNew_NamesTheFieldThatIsWrong(t *testing.T) {
	for _, row := range []struct {
		cfg   poisehttp.Config
		field string
	}{
		{poisehttp.Config{AttemptTimeout: -1}, "AttemptTimeout"},
		{poisehttp.Config{BodyIdleTimeout: -1}, "BodyIdleTimeout"},
		{poisehttp.Config{CutAfter: -1}, "CutAfter"},
		{poisehttp.Config{MaxWait: -1}, "MaxWait"},
		{poisehttp.Config{Repeat: poisehttp.RepeatConfig{Statuses: []int{503, 399}}}, "Repeat.Statuses"},
		{poisehttp.Config{Repeat: poisehttp.RepeatConfig{Statuses: []int{600}}}, "Repeat.Statuses"},
		{poisehttp.Config{Repeat: poisehttp.RepeatConfig{MaxRetryAfter: -1}}, "Repeat.MaxRetryAfter"},
		{poisehttp.Config{Loop: loop(attempts(-1))}, "Loop.Retry.Attempts"},
	} {
		b, err := poisehttp.New(row.cfg)
		requireField(t, err, row.field, poisehttp.ErrOutOfRange)
		if b != nil {
			t.Errorf("%s: an error and a Transport", row.field)
		}
	}
}

func TestTransport_RepeatsAfterTheStatusesOfItsSettings(t *testing.T) {
	for _, row := range []struct {
		statuses []int
		first    int
		want     int
	}{
		{nil, 503, 200}, {[]int{}, 503, 503}, {[]int{429}, 503, 503}, {[]int{429}, 429, 200}, {[]int{404, 500}, 404, 200}, {[]int{404, 500}, 500, 200},
	} {
		b := newTransport(t, poisehttp.Config{Loop: loop(off), Repeat: poisehttp.RepeatConfig{Statuses: row.statuses}}, answering(row.first), answering(200))
		if got, err := get(t, b); got != row.want {
			t.Errorf("%v after %d: got %d, %v", row.statuses, row.first, got, err)
		}
	}
}

func TestTransport_PausesBeforeItRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := loop(off, attempts(2))
		cfg.Retry.Pause = time.Second
		e := failing(errBroken)
		b := newTransport(t, poisehttp.Config{Loop: cfg}, e, failing(errBroken))
		call := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			_, err := do(b, newRequest(t, http.MethodGet, nil).WithContext(ctx))
			return time.Since(began), err
		}
		if took, _ := call(t.Context()); took <= time.Second/2 || took > time.Second {
			t.Errorf("it waited %v", took)
		}
		// Who would not live to see the next attempt is not kept waiting.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		if took, err := call(ctx); took != 0 || !errors.Is(err, errBroken) {
			t.Errorf("it waited %v and got %v", took, err)
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/4, leave)
		if took, err := call(ctx); took != time.Second/4 || !errors.Is(err, errBroken) {
			t.Errorf("it waited %v and got %v", took, err)
		}
	})
}

func TestTransport_WaitsForRoomIfItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{MaxWait: time.Second, Members: []poisehttp.Member{{ID: "a", Endpoint: answering(200), Limit: 1}}})
		held, err := b.RoundTrip(newRequest(t, http.MethodGet, nil))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := get(t, b); !errors.Is(err, poise.ErrAtCapacity) || !errors.Is(err, dispatch.ErrWaited) || time.Since(began) < time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second/2, func() { _ = held.Body.Close() })
		began = time.Now()
		if status, err := get(t, b); status != 200 || time.Since(began) != time.Second/2 {
			t.Errorf("got %d, %v after %v", status, err, time.Since(began))
		}
	})
}

func TestWithOverride_BoundsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTransport(t, poisehttp.Config{AttemptTimeout: time.Hour, Loop: loop(off, attempts(1))}, hanging())
		for _, timeout := range []time.Duration{0, time.Second} {
			began, want := time.Now(), time.Hour
			if timeout > 0 {
				want = timeout
			}
			req := newRequest(t, http.MethodGet, nil)
			_, err := do(b, req.WithContext(poisehttp.WithOverride(req.Context(), poisehttp.Override{AttemptTimeout: timeout})))
			if took := time.Since(began); took != want || !errors.Is(err, poisehttp.ErrAttemptTimeout) {
				t.Errorf("got %v after %v", err, took)
			}
		}
		req := newRequest(t, http.MethodGet, nil)
		ctx, cancel := context.WithTimeout(req.Context(), 2*time.Hour)
		defer cancel()
		_, err := do(b, req.WithContext(poisehttp.WithOverride(ctx, poisehttp.Override{AttemptTimeout: -1})))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a bound: got %v", err)
		}
	})
}

func TestWithOverride_SetsTheKeyAndExplains(t *testing.T) {
	var seen poise.Key
	picks := fixed{func(v *poise.View) (poise.Picker, error) {
		return pickerFunc(func(q poise.Query) (poise.Selection, error) {
			seen = q.Key
			return poise.Selection{}, poise.ErrNoEligible
		}), nil
	}}
	b := newTransport(t, poisehttp.Config{Loop: loop(by(picks)), Key: func(*http.Request) poise.Key { return poise.StringKey("usual") }}, answering(200))
	req := newRequest(t, http.MethodGet, nil)
	_, _ = do(b, req)
	if seen != poise.StringKey("usual") {
		t.Errorf("the key was %v", seen)
	}
	_, err := do(b, req.WithContext(poisehttp.WithOverride(req.Context(), poisehttp.Override{Key: poise.Uint64Key(7), Explain: true})))
	if seen != poise.Uint64Key(7) || requireCallError(t, err).Decision == nil {
		t.Errorf("the key was %v, got %v", seen, err)
	}
}
