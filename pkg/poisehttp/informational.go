package poisehttp

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// informational keeps the 1xx responses of an attempt from a caller who wants them,
// until it is known that its final response is the caller's too. It is the context
// of the attempt, and shows a trace that is the caller's but for this.
type informational struct {
	context.Context
	caller *httptrace.ClientTrace
	shown  httptrace.ClientTrace

	mu   syncx.Mutex
	held []held1xx // guarded by mu
}

type held1xx struct {
	code   int
	header textproto.MIMEHeader
}

// holdInformational returns an informational over the context, or nil if nobody wants
// to be told of 1xx responses.
func holdInformational(ctx context.Context) *informational {
	caller := httptrace.ContextClientTrace(ctx)
	if caller == nil || caller.Got1xxResponse == nil {
		return nil
	}
	i := &informational{Context: ctx, caller: caller, shown: *caller}
	i.shown.Got1xxResponse = i.got
	return i
}

// Value returns what the context has, and the changed trace in place of the caller's.
func (i *informational) Value(key any) any {
	v := i.Context.Value(key)
	if trace, ok := v.(*httptrace.ClientTrace); ok && trace == i.caller {
		return &i.shown
	}
	return v
}

// got keeps a response, unless it asks for the body, which nobody has to wait for.
func (i *informational) got(code int, header textproto.MIMEHeader) error {
	if code == http.StatusContinue {
		return i.caller.Got1xxResponse(code, header)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held = append(i.held, held1xx{code, textproto.MIMEHeader(http.Header(header).Clone())})
	return nil
}

// deliver tells the caller of what was held.
func (i *informational) deliver() error {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	held := i.held
	i.held = nil
	i.mu.Unlock()
	for _, h := range held {
		if err := i.caller.Got1xxResponse(h.code, h.header); err != nil {
			return err
		}
	}
	return nil
}
