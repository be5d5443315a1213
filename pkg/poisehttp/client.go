package poisehttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/internal/syncx"
)

// ClientConfig are the settings of a Client. NewClient fills in the defaults, and then
// runs the options over it.
type ClientConfig struct {
	_ struct{}
	// Transport are the settings of the Transport. Its Hosts are those that the target
	// names; its Members, Source and Probes are the Client's to set.
	Transport Config
	// Endpoint are the settings of each endpoint. Its Address is the Client's to set.
	Endpoint HTTPEndpointConfig
	// Target says how the target is looked up.
	Target target.Config
	// DrainFor is how long a member that has left the target may go on with its calls
	// before it is forgotten; default 30 s.
	DrainFor time.Duration
	// Probe is the path of a health check, such as /healthz, that is asked for at each
	// endpoint by plain HTTP; or a URL, of which only scheme, host and path count. Empty:
	// endpoints are not probed.
	Probe string
	// Active are the rules of these probes.
	Active health.ActiveHealthConfig
	// Timeout bounds each call, with its retries and the reading of its body, as that of
	// an http.Client does; 0, the default, sets no bound.
	Timeout time.Duration
	// Observe is told how each look-up of the target ended: nil for a good list. nil:
	// nobody is told.
	Observe func(error)
}

// ClientOption changes the settings of a Client.
type ClientOption func(*ClientConfig)

// WithProbe has each endpoint asked for a path, such as /healthz, and left out until
// it has answered, and while it does not answer, with a status from 200 to 299.
func WithProbe(path string) ClientOption {
	return func(c *ClientConfig) {
		c.Probe = path
		c.Active.Unknown, c.Active.UnknownInterval = health.DenyUnknown, 100*time.Millisecond
	}
}

// WithHosts lets requests be for these hosts, too; "*" is every host. A target that is
// a file names none itself.
func WithHosts(hosts ...string) ClientOption {
	return func(c *ClientConfig) { c.Transport.Hosts = append(c.Transport.Hosts, hosts...) }
}

// WithPolicy chooses endpoints by another policy than two choices.
func WithPolicy(p poise.Policy) ClientOption {
	return func(c *ClientConfig) { c.Transport.Loop.Policy = p }
}

// WithAttemptTimeout bounds each attempt of a call, so that an endpoint that hangs is
// left for another one before the call is over.
func WithAttemptTimeout(d time.Duration) ClientOption {
	return func(c *ClientConfig) { c.Transport.AttemptTimeout = d }
}

// WithTimeout bounds each call, with its retries and the reading of its body.
func WithTimeout(d time.Duration) ClientOption { return func(c *ClientConfig) { c.Timeout = d } }

// Client is an http.Client for the endpoints of one target. Redirects that lead to a
// host which the target does not name fail with a HostError.
//
// A Client is made by NewClient, and is to be closed.
//
// # Contract
//
//   - A Client follows its target: who joins gets calls, and who leaves gets no new ones.
//   - A Client sends no request for a host that its target does not name, unless the host is listed.
//   - Close ends the look-ups and probes of a Client; calls in flight go on.
//
// # Cost
//
// A Client has three goroutines beside those of its connections and probes.
//
// # Concurrency
//
// A Client is safe for concurrent use.
type Client struct {
	*http.Client
	transport *Transport
	directory *discovery.Directory[target.Address]
	stop      context.CancelFunc
	ended     syncx.Event
	lookedUp  syncx.Pointer[error] // how the last look-up ended
}

// NewClient returns a Client for a target, as [target.Parse] reads it:
//
//	static:10.0.0.1:80,10.0.0.2:80    a list
//	file:/etc/orders                  a file with an address on each line
//	dns:orders.internal:8080          the addresses of a name
//	dns+srv:_http._tcp.orders.internal
//
// Requests are for the hosts that the target names: the name of DNS, or the addresses
// of a list. A file names none, and WithHosts lists them.
//
// It does not wait for the first answer; WaitReady does. Its errors are
// [poise.FieldError].
func NewClient(of string, options ...ClientOption) (*Client, error) {
	found, err := target.Parse(of)
	if err != nil {
		return nil, err
	}
	cfg := ClientConfig{DrainFor: 30 * time.Second}
	cfg.Transport.Hosts = found.Hosts()
	for _, option := range options {
		option(&cfg)
	}
	if len(cfg.Transport.Hosts) == 0 {
		return nil, refuse("Transport.Hosts", nil, ErrNoHosts)
	}
	c := new(Client)
	if c.directory, err = discovery.New(discovery.Config[target.Address]{Equal: target.Equal, DrainFor: cfg.DrainFor}); err != nil {
		return nil, err
	}
	session, err := c.directory.Open(found.String())
	if err != nil {
		return nil, err
	}
	if cfg.Target.Seed == 0 {
		cfg.Target.Seed = cfg.Transport.Loop.Seed
	}
	poller, err := found.NewPoller(session, cfg.Target)
	if err != nil {
		return nil, err
	}
	lookups, err := discovery.NewPollerRunner(discovery.PollerRunnerConfig[target.Address]{Poller: poller, Observe: c.note(cfg.Observe)})
	if err != nil {
		return nil, err
	}
	if err := c.connect(&cfg, found); err != nil {
		return nil, err
	}
	c.Client = &http.Client{Transport: c.transport, Timeout: cfg.Timeout}
	open, stop := context.WithCancel(context.Background())
	c.stop = stop
	syncx.Go(func() {
		defer c.ended.Fire()
		_ = lookups.Run(open)
	})
	return c, nil
}

// connect makes the Transport, which follows the directory.
func (c *Client) connect(cfg *ClientConfig, of target.Target) (err error) {
	cfg.Endpoint.Address = "unknown.invalid:80"
	if _, err = NewHTTPEndpoint(cfg.Endpoint); err != nil { // before anybody joins
		return err
	}
	cfg.Transport.Source, err = dispatch.DirectorySource(dispatch.DirectoryConfig[target.Address, Endpoint]{
		Directory: c.directory,
		Connect: func(m discovery.Member[target.Address]) (Endpoint, error) {
			endpoint := cfg.Endpoint
			endpoint.Address = m.Value.HostPort
			return NewHTTPEndpoint(endpoint)
		},
		Describe: func(m discovery.Member[target.Address]) (Member, error) {
			return Member{Weight: m.Value.Weight, Priority: m.Value.Priority}, nil
		},
	})
	if err != nil {
		return err
	}
	if cfg.Probe != "" {
		if cfg.Transport.Probes, err = probes(cfg, of); err != nil {
			return err
		}
	}
	c.transport, err = New(cfg.Transport)
	return err
}

// probes returns the probes of a Client. They connect to the address of each endpoint,
// and ask for the first host of the target.
func probes(cfg *ClientConfig, of target.Target) (*dispatch.ProbesConfig[Endpoint], error) {
	probe := func(address string) (*HTTPProbe, error) {
		url := cfg.Probe
		if strings.HasPrefix(url, "/") {
			authority := address
			if hosts := of.Hosts(); of.Scheme() == target.DNS || of.Scheme() == target.SRV {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				authority = net.JoinHostPort(hosts[0], port)
			}
			url = "http://" + authority + url
		}
		return NewHTTPProbe(HTTPProbeConfig{URL: url, Address: address})
	}
	if _, err := probe("unknown.invalid:80"); err != nil {
		return nil, refuse("Probe", cfg.Probe, ErrOutOfRange)
	}
	return &dispatch.ProbesConfig[Endpoint]{
		Active: cfg.Active,
		Probe: func(m Member) (func(context.Context) error, error) {
			p, err := probe(m.ID)
			if err != nil {
				return nil, err
			}
			return p.Probe, nil
		},
	}, nil
}

// RoundTripper returns the Transport of the Client, for its endpoints and their state.
func (c *Client) RoundTripper() *Transport { return c.transport }

// WaitReady waits until a call could be given an endpoint. If the context ends before,
// its error says what is known: of the look-ups, of the endpoints and of their probes.
//
// # Contract
//
//   - The error of WaitReady names what the last look-up of the target failed with.
func (c *Client) WaitReady(ctx context.Context) error {
	err := c.transport.WaitReady(ctx)
	if looked := c.lookedUp.Load(); err != nil && looked != nil && *looked != nil {
		return errors.Join(err, fmt.Errorf("poisehttp: the look-up of the target: %w", *looked))
	}
	return err
}

// note returns an observer of look-ups that remembers how the last one ended. It drops
// a panic of the other observer, which runs where nobody could stop one.
func (c *Client) note(observe func(error)) func(error) {
	return func(err error) {
		defer func() { _ = recover() }()
		c.lookedUp.Store(&err)
		if observe != nil {
			observe(err)
		}
	}
}

// Close refuses new calls, lets those in flight go on, and ends look-ups and probes. A
// second Close does nothing more.
func (c *Client) Close() error {
	c.stop()
	_ = c.ended.Wait(context.Background())
	err := c.transport.Close()
	c.directory.Close()
	return err
}
