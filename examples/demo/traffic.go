package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// userHeader names the user that a request is for: the key of keyed policies.
const userHeader = "Demo-User"

// users is how many there are.
const users = 97

// traffic sends requests through an http.Client, a number of them at once and
// evenly over time, and tells the tally how each ended.
type traffic struct {
	settings settings
	origin   string // scheme and host of every request
	client   *http.Client
	tally    *tally

	turns atomic.Uint64 // taken by a worker; each has its time
	// begun numbers the requests as they go to the client, so that a number above
	// one read earlier belongs to a request that began later.
	begun atomic.Uint64
}

// run sends until all is sent, the time is over, or the context ends. It returns
// when every request has ended.
func (t *traffic) run(ctx context.Context) {
	if d := t.settings.duration; d > 0 {
		// A quarter and a second more are for those who were held up.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d+d/4+time.Second)
		defer cancel()
	}
	start := time.Now()
	var workers sync.WaitGroup
	for range min(t.settings.concurrency, t.settings.requests) {
		workers.Go(func() {
			for t.turn(ctx, start) {
				t.send(t.begun.Add(1))
			}
		})
	}
	workers.Wait()
}

// turn takes the next turn and waits for its time. It reports whether there was
// one.
func (t *traffic) turn(ctx context.Context, start time.Time) bool {
	turn := t.turns.Add(1)
	if turn > uint64(t.settings.requests) || ctx.Err() != nil {
		return false
	}
	part := float64(turn-1) / float64(t.settings.requests)
	early := time.Until(start.Add(time.Duration(part * float64(t.settings.duration))))
	return early <= 0 || wait(ctx, early)
}

// send sends the request of a number and reads the response to its end.
func (t *traffic) send(number uint64) {
	ctx := context.Background()
	if !t.patient(number) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.settings.patience.whole)
		defer cancel()
	}
	began := time.Now()
	ended, err := t.exchange(ctx, number)
	t.tally.ended(number, ended, err, time.Since(began))
}

// patient reports whether the request of a number has no deadline. A caller's
// context gives the slot back as well when it ends: only where there is none it
// shows whether the end of the body does. The user's own backends may never end
// one.
func (t *traffic) patient(number uint64) bool { return !t.settings.own() && number%8 == 0 }

// ending is how a request ended for its caller.
type ending int

const (
	answered    ending = iota // with a response, whatever its status
	tornOff                   // with a response whose body broke off
	typedError                // with a *poisehttp.CallError
	otherEnding               // with anything else, which the library promises not to do
	endings
)

func (t *traffic) exchange(ctx context.Context, number uint64) (ending, error) {
	request, err := t.request(ctx, number)
	if err != nil {
		return otherEnding, err
	}
	response, err := t.client.Do(request)
	if err != nil {
		if _, typed := errors.AsType[*poisehttp.CallError](err); typed {
			return typedError, err
		}
		return otherEnding, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return tornOff, err
	}
	return answered, nil
}

// request makes the request of a number: which one is which user's, and which are
// POSTs, follows from the seed. The user's own backends get nothing but GETs.
func (t *traffic) request(ctx context.Context, number uint64) (*http.Request, error) {
	chance := poise.Mix64(t.settings.seed ^ poise.Mix64(number))
	method, body := http.MethodGet, io.Reader(nil)
	if !t.settings.own() && chance%4 == 0 {
		method, body = http.MethodPost, strings.NewReader(fmt.Sprintf("order %d", number))
	}
	request, err := http.NewRequestWithContext(ctx, method, t.origin+t.settings.path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set(numberHeader, strconv.FormatUint(number, 10))
	request.Header.Set(userHeader, fmt.Sprintf("user-%d", chance/4%users))
	return request, nil
}
