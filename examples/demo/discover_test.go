package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// names is a resolver whose answers a test gives.
type names struct {
	mu    sync.Mutex
	asked []string // guarded by mu
	addrs []netip.Addr
	err   error
}

func (n *names) LookupNetIP(_ context.Context, network, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, network+" "+name)
	return n.addrs, n.err
}

func (n *names) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, errors.New("nobody asks for services")
}

// serving starts a server and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// noted reports whether a note of the run ends so.
func noted(r report, text string) bool {
	return slices.ContainsFunc(r.picture.notes, func(n note) bool { return strings.HasSuffix(n.text, text) })
}

// write replaces the file in one step, as the library asks those who write it.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o644), os.Rename(file+".new", file)); err != nil {
		t.Error(err)
	}
}

// A file that changes under traffic, that cannot be read for a while, and that
// then lists somebody else.
//
// Cases: B44, B52.
func TestRun_FollowsAFile(t *testing.T) {
	a, b, c := serving(t), serving(t), serving(t)
	file := filepath.Join(t.TempDir(), "backends.txt")
	write(t, file, "# two\n"+a+"\n"+b+"\n")
	s, err := parse([]string{"-discover", "file:" + file, "-policy", "round-robin", "-requests", "300", "-duration", "0", "-concurrency", "1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	run, err := newCheck(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The traffic waits where something has to happen first.
	status := func(failing bool) func() bool {
		return func() bool { return (run.finder.poller.Status().Err != nil) == failing }
	}
	await := func(ask func() bool) {
		if !settled(run.settings.patience.whole, ask) {
			t.Error("waited in vain")
		}
	}
	afterwards := 0
	run.traffic.client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		switch numberOf(r.Header) {
		case 100:
			write(t, file, b+"\nnonsense\n")
			await(status(true))
			await(func() bool { return len(run.memberList.names) == 2 }) // nobody has moved
		case 200:
			write(t, file, b+"\n"+c+"\n")
			await(status(false))
			await(func() bool { return !member(run.transport, a) && member(run.transport, c) })
			run.tally.mu.Lock()
			afterwards = len(run.tally.of(a).attempts)
			run.tally.mu.Unlock()
		}
		return run.transport.RoundTrip(r)
	})
	r, err := run.perform(t.Context(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range r.broken() {
		t.Errorf("%s: %s", broken.Name, broken.Detail)
	}
	for _, text := range []string{"the source fails, the members stay: target: the port must be a number from 1 to 65535",
		"the source answers again", a + " has left", c + " joins"} {
		if !noted(r, text) {
			t.Errorf("no note %q in %v", text, r.picture.notes)
		}
	}
	got := map[string]row{}
	for _, b := range r.Backends {
		got[b.Name] = b
	}
	if len(got) != 3 || got[a].State != left || got[b].State != ready || got[c].State != ready {
		t.Errorf("rows %+v", r.Backends)
	}
	if got[a].Attempts != afterwards || afterwards < 98 || got[c].Attempts < 49 || r.Responses != 300 {
		t.Errorf("%d requests went to who left, %d of them before; %d to who joined; %d answered", got[a].Attempts, afterwards, got[c].Attempts, r.Responses)
	}
	if run.traffic.origin != "http://"+a {
		t.Errorf("requests name %s", run.traffic.origin)
	}
}

func TestRun_FollowsAName(t *testing.T) {
	address := netip.MustParseAddrPort(serving(t))
	resolver := &names{addrs: []netip.Addr{address.Addr(), address.Addr()}}
	s, err := parse([]string{"-discover", "dns:service.example.com:" + address.String()[len(address.Addr().String())+1:], "-requests", "20", "-duration", "0"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	run, err := newCheck(s, resolver)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.perform(t.Context(), quiet())
	if err != nil || r.Responses != 20 || len(r.broken()) > 0 || len(r.Backends) != 1 || r.Backends[0].Name != address.String() {
		t.Errorf("%d answered, broken %v, %+v, %v", r.Responses, r.broken(), r.Backends, err)
	}
	if !strings.HasPrefix(run.traffic.origin, "http://service.example.com:") || len(resolver.asked) == 0 || resolver.asked[0] != "ip service.example.com" {
		t.Errorf("requests name %s, asked was %q", run.traffic.origin, resolver.asked)
	}
}

func TestDemo_FollowsAStaticList(t *testing.T) {
	var out, problems strings.Builder
	code := demo([]string{"-discover", "static:" + serving(t) + "," + serving(t), "-requests", "20", "-duration", "0"}, &out, &problems)
	if code != exitHeld || problems.Len() > 0 {
		t.Errorf("exit code %d: %s\n%s", code, problems.String(), out.String())
	}
}

func TestDemo_ASourceThatFailsAtOnceIsSaid(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, "# nobody\n")
	wrong := filepath.Join(t.TempDir(), "wrong")
	write(t, wrong, "a:1\n\nb\n")
	for source, want := range map[string]string{
		"file:" + filepath.Join(t.TempDir(), "none"): "no such file",
		"file:" + empty: "source has no members",
		"file:" + wrong: `line 3: target: the port must be a number from 1 to 65535: address is "b"`,
	} {
		var problems strings.Builder
		code := demo([]string{"-discover", source}, io.Discard, &problems)
		if code != exitBroken || !strings.HasPrefix(problems.String(), "demo: -discover: ") || !strings.Contains(problems.String(), want) {
			t.Errorf("%s: exit code %d, %q", source, code, problems.String())
		}
	}
	s, err := parse([]string{"-discover", "dns:service.example.com:80"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	planted := errors.New("no such host")
	if _, err := newCheck(s, &names{err: planted}); !errors.Is(err, planted) {
		t.Error(err)
	}
}

func TestHostOf_NamesTheService(t *testing.T) {
	for text, want := range map[string]string{
		"dns:service.example.com:8080":             "service.example.com:8080",
		"dns+srv:_http._tcp.service.example.com":   "service.example.com",
		"static:127.0.0.1:8081,b.example.com:8082": "127.0.0.1:8081",
	} {
		of, err := target.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		directory, err := newDirectory()
		if err != nil {
			t.Fatal(err)
		}
		session, err := directory.Open("test")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Upsert("127.0.0.1:8081", target.Address{HostPort: "127.0.0.1:8081"}); err != nil {
			t.Fatal(err)
		}
		if got := hostOf(of, directory.Load()); got != want {
			t.Errorf("requests to %s name %s", text, got)
		}
	}
}
