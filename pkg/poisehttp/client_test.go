package poisehttp_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// newClient returns a client that is ready, and is closed at the end of the test.
func newClient(t *testing.T, of string, options ...poisehttp.ClientOption) *poisehttp.Client {
	t.Helper()
	c, err := poisehttp.NewClient(of, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func backend(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func statusOf(t *testing.T, c *poisehttp.Client, url string) (int, error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// Claim: A Client sends no request for a host that its target does not name, unless the host is listed.
func TestClient_SpeaksForTheHostsOfItsTarget(t *testing.T) {
	address := backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		}
	})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	files := func(c *poisehttp.ClientConfig) {
		c.Target.Files = fstest.MapFS{"orders": {Data: []byte(address + "\n")}}
	}
	for _, row := range []struct {
		target  string
		options []poisehttp.ClientOption
		url     string
		sound   bool
	}{
		{"static:" + address, nil, "http://127.0.0.1/", true},
		{"static:" + address, nil, "http://orders.example/", false},
		{"static:" + address, []poisehttp.ClientOption{poisehttp.WithHosts("orders.example")}, "http://orders.example/", true},
		{"static:" + address, []poisehttp.ClientOption{poisehttp.WithHosts("orders.example")}, "http://orders.example/away", false},
		{"static:" + address, []poisehttp.ClientOption{poisehttp.WithHosts("*")}, "http://orders.example/away", true},
		{"dns:localhost:" + port, nil, "http://localhost:81/", true},
		{"dns:///localhost:" + port, nil, "http://127.0.0.1/", false},
		{"file:orders", []poisehttp.ClientOption{files, poisehttp.WithHosts("orders.example")}, "http://orders.example/", true},
	} {
		c := newClient(t, row.target, row.options...)
		status, err := statusOf(t, c, row.url)
		if _, is := errors.AsType[*poisehttp.HostError](err); is == row.sound || row.sound != (status == 200) {
			t.Errorf("%s, %s: got %d, %v", row.target, row.url, status, err)
		}
	}
}

// resolver answers with the addresses of the moment.
type resolver struct{ addresses atomic.Pointer[[]netip.Addr] }

func (r *resolver) set(addresses ...string) {
	list := make([]netip.Addr, len(addresses))
	for i, text := range addresses {
		list[i] = netip.MustParseAddr(text)
	}
	r.addresses.Store(&list)
}

func (r *resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return *r.addresses.Load(), nil
}

func (r *resolver) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, fs.ErrNotExist
}

// Claim: A Client follows its target: who joins gets calls, and who leaves gets no new ones.
func TestClient_FollowsItsTarget(t *testing.T) {
	_, port, err := net.SplitHostPort(backend(t, func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	names := new(resolver)
	names.set("127.0.0.1")
	c := newClient(t, "dns:orders.example:"+port, func(c *poisehttp.ClientConfig) {
		c.Target = target.Config{Resolver: names, Interval: time.Millisecond, Floor: time.Millisecond, Hold: time.Millisecond}
		c.Transport.Loop.Policy = new(policy.RoundRobin)
	})
	if status, err := statusOf(t, c, "http://orders.example/"); status != 200 {
		t.Fatalf("got %d, %v", status, err)
	}
	names.set("127.0.0.2")
	eventually(t, func() bool {
		states := c.RoundTripper().Endpoints()
		return len(states) == 1 && strings.HasPrefix(states[0].ID, "127.0.0.2:")
	})
}

func TestClient_AsksForHealth(t *testing.T) {
	var sick atomic.Bool
	asked := make(chan string, 1000)
	address := backend(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Host + r.URL.Path:
		default:
		}
		if sick.Load() {
			w.WriteHeader(500)
		}
	})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, "dns:localhost:"+port, poisehttp.WithProbe("/healthz"), func(c *poisehttp.ClientConfig) {
		c.Active.Interval = time.Millisecond
	})
	if path := <-asked; path != "localhost:"+port+"/healthz" {
		t.Errorf("the backend was asked for %s", path)
	}
	sick.Store(true)
	eventually(t, func() bool { return c.RoundTripper().Endpoints()[0].Reason == poise.ExcludedUnhealthy })
}

// Claim: Close ends the look-ups and probes of a Client; calls in flight go on.
func TestClient_ClosesWithACallUnderWay(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	address := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		close(began)
		<-end
		_, _ = w.Write([]byte("served"))
	})
	c := newClient(t, "static:"+address)
	resp, err := c.Get("http://127.0.0.1/")
	if err != nil {
		t.Fatal(err)
	}
	<-began
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	close(end)
	body := make([]byte, 10)
	if n, _ := resp.Body.Read(body); string(body[:n]) != "served" {
		t.Errorf("read %q", body[:n])
	}
	_ = resp.Body.Close()
	if _, err := statusOf(t, c, "http://127.0.0.1/"); err == nil {
		t.Error("a closed client makes a call")
	}
}

func TestNewClient_RefusesWhatCannotWork(t *testing.T) {
	for _, row := range []struct {
		target  string
		options []poisehttp.ClientOption
		field   string
		cause   error
	}{
		{"orders.internal:80", nil, "target", target.ErrUnknownScheme},
		{"dns://orders.internal:80", nil, "target.dns", target.ErrNameServer},
		{"file:/etc/orders", nil, "Transport.Hosts", poisehttp.ErrNoHosts},
		{"static:a:80", []poisehttp.ClientOption{poisehttp.WithHosts("a b")}, "Hosts", poisehttp.ErrBadHost},
		{"static:a:80", []poisehttp.ClientOption{func(c *poisehttp.ClientConfig) { c.Transport.AttemptTimeout = -1 }}, "AttemptTimeout", poisehttp.ErrOutOfRange},
		{"static:a:80", []poisehttp.ClientOption{poisehttp.WithProbe("ftp://a/")}, "Probe", poisehttp.ErrOutOfRange},
		{"static:a:80", []poisehttp.ClientOption{func(c *poisehttp.ClientConfig) { c.Endpoint.Transport = &http.Transport{MaxConnsPerHost: 1} }}, "Transport.MaxConnsPerHost", poisehttp.ErrHiddenQueue},
	} {
		c, err := poisehttp.NewClient(row.target, row.options...)
		requireField(t, err, row.field, row.cause)
		if c != nil {
			t.Errorf("%s: an error and a Client", row.target)
		}
	}
}

// Claim: The error of WaitReady names what the last look-up of the target failed with.
func TestClient_WaitReadySaysWhatItKnows(t *testing.T) {
	looked := make(chan struct{}, 1)
	client, err := poisehttp.NewClient("file:"+filepath.Join(t.TempDir(), "missing"), poisehttp.WithHosts("*"), poisehttp.WithAttemptTimeout(time.Second),
		func(c *poisehttp.ClientConfig) {
			c.Observe = func(error) {
				select {
				case looked <- struct{}{}:
				default:
				}
				panic("boom")
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	<-looked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.WaitReady(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

func TestNewClient_NamesTheProbeThatIsNone(t *testing.T) {
	_, err := poisehttp.NewClient("static:127.0.0.1:1", poisehttp.WithProbe("healthz"))
	requireField(t, err, "Probe", poisehttp.ErrOutOfRange)
}
