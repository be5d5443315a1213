package poisehttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// HTTPEndpointConfig are the settings of an HTTPEndpoint.
type HTTPEndpointConfig struct {
	_ struct{}
	// Address is the host:port to connect to, as target.ParseAddress reads it. Required.
	Address string
	// Transport is a template for TLS, timeouts and idle connections; it is cloned.
	// Its Proxy, dial functions, protocols and TLS session cache are replaced,
	// ExpectContinueTimeout is at least a second, and MaxConnsPerHost must be 0. nil is
	// a template with 64 idle connections kept for 90 s.
	Transport *http.Transport
	// Dial connects to the address. nil is a net.Dialer with a timeout of 5 s.
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
//   - An HTTPEndpoint sends a request whose method is not idempotent at most once, whatever headers it has.
//   - A request that expects 100 Continue has its body sent after the backend has agreed, or after a second.
//   - Each HTTPEndpoint resumes its own TLS sessions and nobody else's.
//
// # Cost
//
// A call costs what http.Transport costs, and a httptrace of its connection. The
// transport may send a request whose method is idempotent a second time, on a new
// connection, when a kept one turns out to be closed.
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
	address, err := target.ParseAddress(cfg.Address)
	if err != nil {
		return nil, refuse("Address", cfg.Address, ErrBadAddress)
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
		dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	transport := template.Clone()
	transport.Proxy = nil
	transport.DialTLSContext = nil
	//lint:ignore SA1019 a template that sets it would lead connections elsewhere
	transport.DialTLS = nil
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: conn}, nil
	}
	transport.ExpectContinueTimeout = max(transport.ExpectContinueTimeout, time.Second)
	// HTTP/2 needs accounting of its own: after a GOAWAY the transport can send one
	// request hundreds of times a second.
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = nil
	secure := transport.TLSClientConfig
	if secure == nil {
		secure = new(tls.Config)
		transport.TLSClientConfig = secure
	}
	// A template that was in use offers HTTP/2 here, and would be taken at its word.
	secure.NextProtos = []string{"http/1.1"}
	// Sessions are kept by the name of the server, which all endpoints share; a ticket
	// of one is of no use to another.
	secure.ClientSessionCache = tls.NewLRUClientSessionCache(sessionsKept)
	return &HTTPEndpoint{transport: transport}, nil
}

// sessionsKept is for how many names an endpoint remembers TLS sessions.
const sessionsKept = 32

// RoundTrip makes one call, and watches the connections that it gets, to tell
// ErrNotSent.
func (e *HTTPEndpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	if e.transport == nil {
		if req.Body != nil {
			closeQuietly(req.Body)
		}
		return nil, &notSentError{cause: errNotMade}
	}
	sent := sentBytes{once: !idempotentMethod(req.Method)}
	sent.trace.GotConn = func(info httptrace.GotConnInfo) { sent.got(info.Conn, info.Reused) }
	resp, err := e.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &sent.trace)))
	if err != nil {
		switch {
		case sent.none():
			err = &notSentError{err, sent.kept()}
		case sent.wrongScheme():
			err = fmt.Errorf("%w: %w", errAnsweredTLS, err)
		}
		return nil, err
	}
	resp.Request = req
	return resp, nil
}

// errNotMade is the error of a zero HTTPEndpoint.
var errNotMade = &poise.FieldError{Field: "Address", Value: "", Err: ErrMissing}

// errAnsweredTLS is the error of a plain request to an endpoint that speaks TLS.
var errAnsweredTLS = fmt.Errorf("%w, the other way about", http.ErrSchemeMismatch)

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
