package poisehttp

import (
	"fmt"
	"io"
	"net/http"
)

// responseBody gives the attempt's slot back at the end of the body: when a read
// ends it, or when it is closed.
type responseBody struct{ *attempt }

// Read reads the response; its end ends the attempt.
func (r responseBody) Read(p []byte) (int, error) {
	r.reading.Store(r.transport.watchdog.now())
	n, err := r.body.Read(p)
	r.reading.Store(0)
	if err != nil {
		err = r.bodyEnded(err)
	}
	return n, err
}

// Close closes the response and ends the attempt.
func (r responseBody) Close() error {
	r.closing.Store(true)
	defer r.closed()
	return r.body.Close()
}

// upgradedBody is the connection of a 101 response. It holds the slot until it is
// closed: the end of one direction is not the end of the work.
type upgradedBody struct{ *attempt }

// Read reads from the connection.
func (u upgradedBody) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	return n, u.why(err)
}

// Write writes to the connection.
func (u upgradedBody) Write(p []byte) (int, error) {
	n, err := u.body.(io.Writer).Write(p)
	return n, u.why(err)
}

// CloseWrite ends this side's direction of the connection.
func (u upgradedBody) CloseWrite() error { return closeWrite(u.body) }

// Close closes the connection and ends the attempt.
func (u upgradedBody) Close() error {
	u.closing.Store(true)
	defer u.closed()
	return u.body.Close()
}

func isWriter(body io.Reader) bool {
	_, ok := body.(io.Writer)
	return ok
}

// closeWrite ends one direction of a connection. A tunnel needs it of every
// wrapper between its two ends.
func closeWrite(conn any) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("poisehttp: CloseWrite: %w", http.ErrNotSupported)
}
