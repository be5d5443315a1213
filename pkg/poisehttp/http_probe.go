package poisehttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// Failures of probes.
var (
	// ErrStatus means that the answer to an HTTP probe had a status that is not
	// expected.
	ErrStatus = errors.New("poisehttp: unexpected status")
	// ErrBody means that the answer to an HTTP probe began with something else than
	// it should.
	ErrBody = errors.New("poisehttp: unexpected body")
)

// StatusRange is the statuses from First to Last, both included.
type StatusRange struct{ First, Last int }

// HTTPProbeConfig are the settings of an HTTPProbe. The zero value of each field
// but URL is its default.
type HTTPProbeConfig struct {
	_ struct{}
	// URL is what to ask for: http or https, with an address. Required.
	URL string
	// Method is how to ask, default GET.
	Method string
	// Host is what to send as Host instead of the address in URL.
	Host string
	// Header is sent with each request; it is copied.
	Header http.Header
	// Expect is which statuses mean healthy, each from 100 to 599; it is copied.
	// Default 200 to 299.
	Expect []StatusRange
	// Body is what the body must begin with, default anything.
	Body string
	// MaxBody is how many bytes of the body are read before the connection is given
	// up; at least as long as Body, default 4096 or the length of Body.
	MaxBody int
	// Redirects is how many redirects are followed; 0 or more, default 0: the
	// redirect itself is judged.
	Redirects int
	// Address, if not empty, is the host:port to connect to, whatever the URL names. It
	// goes with the default Transport.
	Address string
	// MaxHeader is how many bytes of a header are read before the probe fails, 1 or
	// more, default 64 KiB. It goes with the default Transport.
	MaxHeader int
	// Transport sends the requests. Default one that opens a connection for each
	// probe and uses no proxy, so that a probe shows that a connection can be made.
	Transport http.RoundTripper
}

// HTTPProbe asks for a URL and judges the status and, if wanted, how the body
// begins.
//
// An HTTPProbe is made by NewHTTPProbe.
//
// # Contract
//
//   - Probe returns nil exactly if the status is expected, the body begins with Body, and MaxBody bytes of it or all of it arrive.
//   - Probe follows no more redirects than Redirects, and judges the next one by its status.
//   - Probe reads at most MaxBody bytes of the body, and closes it.
//   - Probe returns soon after its context has ended.
//   - Without a Transport of the user a Probe reads at most about MaxHeader bytes of headers.
//   - Without a Transport of the user each Probe opens a connection of its own and keeps none.
//
// # Cost
//
// A Probe is one HTTP request, and one more for each redirect followed.
//
// # Concurrency
//
// Probe may be called by any number of goroutines.
type HTTPProbe struct {
	cfg     HTTPProbeConfig
	request *http.Request
	client  http.Client
}

// NewHTTPProbe returns an HTTPProbe, or a [poise.FieldError] of ErrMissing,
// ErrOutOfRange or what is wrong with the URL or Method.
func NewHTTPProbe(cfg HTTPProbeConfig) (*HTTPProbe, error) {
	cfg.Method = cmp.Or(cfg.Method, http.MethodGet)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, max(4096, len(cfg.Body)))
	cfg.Expect = append([]StatusRange(nil), cfg.Expect...)
	if len(cfg.Expect) == 0 {
		cfg.Expect = []StatusRange{{200, 299}}
	}
	for _, r := range cfg.Expect {
		if r.First < 100 || r.Last > 599 || r.First > r.Last {
			return nil, outOfRange("Expect", r)
		}
	}
	switch {
	case cfg.URL == "":
		return nil, refuse("URL", nil, ErrMissing)
	case cfg.MaxBody < len(cfg.Body):
		return nil, outOfRange("MaxBody", cfg.MaxBody)
	case cfg.Redirects < 0:
		return nil, outOfRange("Redirects", cfg.Redirects)
	case cfg.MaxHeader < 0:
		return nil, outOfRange("MaxHeader", cfg.MaxHeader)
	}
	parsed, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, refuse("URL", cfg.URL, err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, outOfRange("URL", cfg.URL)
	}
	request, err := http.NewRequest(cfg.Method, cfg.URL, nil)
	if err != nil {
		return nil, refuse("Method", cfg.Method, err)
	}
	if cfg.Header != nil {
		request.Header = cfg.Header.Clone()
	}
	request.Host = cmp.Or(cfg.Host, request.Host)
	if cfg.Transport == nil {
		transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: int64(cmp.Or(cfg.MaxHeader, 64<<10))}
		if cfg.Address != "" {
			address, err := target.ParseAddress(cfg.Address)
			if err != nil {
				return nil, refuse("Address", cfg.Address, ErrBadAddress)
			}
			transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		}
		cfg.Transport = transport
	}
	p := &HTTPProbe{cfg: cfg, request: request}
	p.client = http.Client{Transport: cfg.Transport, CheckRedirect: p.mayFollow}
	return p, nil
}

// mayFollow refuses a redirect that is one too many.
func (p *HTTPProbe) mayFollow(_ *http.Request, via []*http.Request) error {
	if len(via) > p.cfg.Redirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Probe asks once. It returns an error that matches ErrStatus or ErrBody if the
// answer is not as it should be, and the transport's error if there was none.
func (p *HTTPProbe) Probe(ctx context.Context) error {
	response, err := p.client.Do(p.request.Clone(ctx))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if !p.expects(response.StatusCode) {
		return fmt.Errorf("%w: %d", ErrStatus, response.StatusCode)
	}
	return p.read(response.Body)
}

func (p *HTTPProbe) expects(status int) bool {
	for _, r := range p.cfg.Expect {
		if r.First <= status && status <= r.Last {
			return true
		}
	}
	return false
}

// read judges how the body begins and reads the rest as far as it may, so that a
// transport which keeps connections can use this one again.
func (p *HTTPProbe) read(body io.Reader) error {
	start := make([]byte, len(p.cfg.Body))
	n, err := io.ReadFull(body, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !bytes.Equal(start[:n], []byte(p.cfg.Body)) {
		return fmt.Errorf("%w: it begins with %q", ErrBody, strings.ToValidUTF8(string(start[:n]), "?"))
	}
	_, err = io.CopyN(io.Discard, body, int64(p.cfg.MaxBody-n))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
