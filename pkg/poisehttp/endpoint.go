package poisehttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"
	"unicode"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// Endpoint makes calls to one backend.
//
// # Contract
//
//   - A Balancer closes an Endpoint once, after it was removed and its last call has ended.
//   - A panic of an Endpoint's RoundTrip passes through to the caller, and leaves nothing held.
//
// # Cost
//
// RoundTrip costs what the backend takes.
//
// # Concurrency
//
// RoundTrip is called by many goroutines at once, Close by one and last.
type Endpoint interface {
	// RoundTrip makes one call, under the rules of http.RoundTripper. An error
	// that matches ErrNotSent promises that no byte of the request left.
	http.RoundTripper
	// Close frees what the endpoint holds. An endpoint that was closed is not to be
	// added again.
	Close() error
}

// HTTPEndpointConfig are the settings of an HTTPEndpoint.
type HTTPEndpointConfig struct {
	_ struct{}
	// Address is the host:port to connect to, with a port from 1 to 65535. Required.
	Address string
	// Transport is a template for TLS, timeouts and idle connections; it is cloned.
	// Its Proxy, dial functions and protocols are replaced, and MaxConnsPerHost
	// must be 0. nil is a template with 64 idle connections kept for 90 s.
	Transport *http.Transport
	// Dial connects to the address. nil is a net.Dialer with a timeout of 10 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// HTTPEndpoint is an Endpoint over an http.Transport of its own, speaking
// HTTP/1.1. Every connection goes to the endpoint's address, whatever host the
// request names, so that the host stays the logical name for the Host header,
// for TLS and for cookies.
//
// An HTTPEndpoint is made by NewHTTPEndpoint; the zero value leads nowhere.
//
// # Contract
//
//   - Every connection of an HTTPEndpoint goes to its address, and the request keeps its host.
//   - An error of an HTTPEndpoint matches ErrNotSent only if its connection took no byte of the request.
//
// # Cost
//
// A call costs what http.Transport costs. The transport itself may send a
// replayable request a second time, on a new connection, when a kept one turns
// out to be closed.
//
// # Concurrency
//
// An HTTPEndpoint is safe for concurrent use.
type HTTPEndpoint struct {
	transport *http.Transport
}

var _ Endpoint = (*HTTPEndpoint)(nil)

// NewHTTPEndpoint returns an HTTPEndpoint, or a [poise.FieldError].
func NewHTTPEndpoint(cfg HTTPEndpointConfig) (*HTTPEndpoint, error) {
	if !isAddress(cfg.Address) {
		return nil, &poise.FieldError{Field: "Address", Value: cfg.Address, Err: ErrBadAddress}
	}
	template := cfg.Transport
	if template == nil {
		template = &http.Transport{
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	if template.MaxConnsPerHost != 0 {
		return nil, &poise.FieldError{Field: "Transport.MaxConnsPerHost", Value: template.MaxConnsPerHost, Err: ErrHiddenQueue}
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	transport := template.Clone()
	transport.Proxy = nil
	transport.DialTLSContext = nil
	//lint:ignore SA1019 a template that sets it would lead connections elsewhere
	transport.DialTLS = nil
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := dial(ctx, network, cfg.Address)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: conn}, nil
	}
	// HTTP/2 needs accounting of its own: after a GOAWAY the transport can send one
	// request hundreds of times a second.
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = nil
	if secure := transport.TLSClientConfig; secure != nil {
		// A template that was in use offers HTTP/2 here, and would be taken at its
		// word.
		secure.NextProtos = []string{"http/1.1"}
	}
	return &HTTPEndpoint{transport: transport}, nil
}

// isAddress reports whether the text is host:port with a port that can be
// connected to. A URL and its parts are none.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.ContainsAny(host, "/@?#") {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0 && !strings.ContainsFunc(host, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c)
	})
}

// RoundTrip makes one call. For a request that must not be repeated it watches
// the connection, to tell ErrNotSent.
func (e *HTTPEndpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	if e.transport == nil {
		if req.Body != nil {
			closeQuietly(req.Body)
		}
		return nil, &notSentError{errNotMade}
	}
	if idempotent(req) {
		return e.transport.RoundTrip(req)
	}
	var sent sentBytes
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: sent.gotConn})
	resp, err := e.transport.RoundTrip(req.WithContext(ctx))
	if err != nil && sent.none() {
		return nil, &notSentError{err}
	}
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

// errNotMade is the error of a zero HTTPEndpoint.
var errNotMade = &poise.FieldError{Field: "Address", Value: "", Err: ErrMissing}

// sentBytes tells whether a request had bytes sent on the connections it got. The
// transport gives it another connection only while none had.
type sentBytes struct {
	last syncx.Pointer[connMark]
}

// connMark is a connection and what it had written when the request got it; a
// nil counter means a connection that does not count.
type connMark struct {
	counter *countingConn
	before  uint64
}

func (s *sentBytes) gotConn(info httptrace.GotConnInfo) {
	mark := &connMark{counter: counterOf(info.Conn)}
	if mark.counter != nil {
		mark.before = mark.counter.written.Load()
	}
	s.last.Store(mark)
}

// none reports whether it is certain that nothing was sent.
func (s *sentBytes) none() bool {
	mark := s.last.Load()
	if mark == nil {
		return true // no connection was ever got
	}
	return mark.counter != nil && mark.counter.written.Load() == mark.before
}

// notSentError is an error before any byte was sent. It matches ErrNotSent and
// unwraps to the cause.
type notSentError struct{ cause error }

func (e *notSentError) Error() string        { return e.cause.Error() }
func (e *notSentError) Unwrap() error        { return e.cause }
func (e *notSentError) Is(target error) bool { return target == ErrNotSent }

// Close closes the idle connections.
func (e *HTTPEndpoint) Close() error {
	e.CloseIdleConnections()
	return nil
}

// CloseIdleConnections closes the idle connections.
func (e *HTTPEndpoint) CloseIdleConnections() {
	if e.transport != nil {
		e.transport.CloseIdleConnections()
	}
}

// countingConn counts the bytes handed to the network, before they are handed
// over: so zero means that nothing can have left.
type countingConn struct {
	net.Conn
	written syncx.Uint64
}

// Write counts, then writes.
func (c *countingConn) Write(b []byte) (int, error) {
	c.written.Add(uint64(len(b)))
	return c.Conn.Write(b)
}

// CloseWrite ends this side's direction of the connection.
func (c *countingConn) CloseWrite() error { return closeWrite(c.Conn) }

// counterOf finds the countingConn below a connection; nil if there is none.
func counterOf(conn net.Conn) *countingConn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	counter, _ := conn.(*countingConn)
	return counter
}
