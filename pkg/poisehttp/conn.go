package poisehttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"

	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// countingConn counts the bytes handed to the network, before they are handed
// over: so an unchanged count means that nothing can have left.
type countingConn struct {
	net.Conn
	written syncx.Uint64
	// shut refuses to write: the request that got the connection was sent before.
	shut syncx.Bool
	// alert is set if the first byte that came was the beginning of a TLS alert.
	alert, heard syncx.Bool
}

// Write counts, then writes.
func (c *countingConn) Write(b []byte) (int, error) {
	if c.shut.Load() {
		return 0, errSentBefore
	}
	c.written.Add(uint64(len(b)))
	return c.Conn.Write(b)
}

// Read reads, and remembers how the first answer began.
func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
		c.alert.Store(b[0] == recordTypeAlert)
	}
	return n, err
}

// recordTypeAlert begins a TLS alert, RFC 8446, section 5.1. No HTTP message begins
// with it.
const recordTypeAlert = 21

// errSentBefore is the error of a write that would send a request a second time.
var errSentBefore = errors.New("poisehttp: the request was sent before, on a connection that broke")

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

// sentBytes tells whether a request had bytes sent on the connections it got.
type sentBytes struct {
	once  bool // the request is to be sent once
	last  syncx.Pointer[connMark]
	first connMark // what last leads to, for most requests
	trace httptrace.ClientTrace
}

// connMark is a connection and what it had written when the request got it; a nil
// counter means a connection that does not count.
type connMark struct {
	counter *countingConn
	before  uint64
	earlier bool // an earlier connection took bytes of the request
	kept    bool // the connection had served before
}

// got notes a connection that the request is given. A request that is to be sent
// once, and of which an earlier connection took bytes, cannot be written to this one.
func (s *sentBytes) got(conn net.Conn, kept bool) {
	mark := &s.first
	if s.last.Load() != nil {
		mark = new(connMark)
	}
	*mark = connMark{counter: counterOf(conn), earlier: !s.none(), kept: kept}
	if mark.counter != nil {
		mark.before = mark.counter.written.Load()
		if mark.earlier && s.once {
			mark.counter.shut.Store(true)
		}
	}
	s.last.Store(mark)
}

// none reports whether it is certain that nothing was sent.
func (s *sentBytes) none() bool {
	mark := s.last.Load()
	if mark == nil {
		return true // no connection was ever got
	}
	return !mark.earlier && mark.counter != nil && mark.counter.written.Load() == mark.before
}

// kept reports whether the last connection had served before.
func (s *sentBytes) kept() bool {
	mark := s.last.Load()
	return mark != nil && mark.kept
}

// wrongScheme reports whether the request went out in plain text, and the other side
// answered in TLS.
func (s *sentBytes) wrongScheme() bool {
	mark := s.last.Load()
	return mark != nil && mark.counter != nil && mark.counter.alert.Load()
}

// closeWrite ends one direction of a connection. A tunnel needs it of every
// wrapper between its two ends.
func closeWrite(conn any) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("poisehttp: CloseWrite: %w", http.ErrNotSupported)
}
