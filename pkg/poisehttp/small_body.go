package poisehttp

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// smallBody is how long a request body in memory may be to be sent together with its
// header.
const smallBody = 8 << 10

// readSmall returns what a short body in memory holds, which can be sent in one write
// with the header and as often as is wanted; nil if the body is not such a one. A body
// that is not as long as its request says is refused.
func readSmall(req *http.Request, body io.ReadCloser) ([]byte, error) {
	if body == nil || req.ContentLength < 1 || req.ContentLength > smallBody || !inMemory(body) {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, req.ContentLength+1))
	if err == nil && int64(len(data)) != req.ContentLength {
		err = malformed("ContentLength", req.ContentLength)
	}
	return data, err
}

// nopClosers are the types that io.NopCloser returns. http.NewRequest makes them.
var nopClosers = [...]reflect.Type{
	reflect.TypeOf(io.NopCloser(nil)),
	reflect.TypeOf(io.NopCloser(struct {
		io.Reader
		io.WriterTo
	}{})),
}

// inMemory reports whether reads of the body neither block nor run code of the
// caller's.
func inMemory(body io.ReadCloser) bool {
	if of := reflect.TypeOf(body); of != nopClosers[0] && of != nopClosers[1] {
		return false
	}
	switch reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	return false
}

// newSmallBody returns a body that net/http knows to be in memory, and so sends in one
// write with the header.
func newSmallBody(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
