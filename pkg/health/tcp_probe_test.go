package health_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/health"
)

func newTCPProbe(t testing.TB, cfg health.TCPProbeConfig) *health.TCPProbe {
	t.Helper()
	p, err := health.NewTCPProbe(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Claim: Probe returns nil exactly if a connection was made within its context.
//
// Claim: No connection outlives its Probe.
func TestTCPProbe_ConnectsAndCloses(t *testing.T) {
	for _, network := range []string{"tcp", "tcp4", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		p := newTCPProbe(t, health.TCPProbeConfig{Network: network, Address: l.Addr().String()})
		for range 2 {
			if err := p.Probe(t.Context()); err != nil {
				t.Fatalf("%s: %v", network, err)
			}
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Fatalf("%s: the connection reads %d bytes and %v, want its end", network, n, err)
			}
			_ = c.Close()
		}
		_ = l.Close()
		if err := p.Probe(t.Context()); err == nil {
			t.Fatalf("%s: it connects with nobody there", network)
		}
	}
}

func TestTCPProbe_EndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newTCPProbe(t, health.TCPProbeConfig{Address: l.Addr().String()}).Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("it returns %v", err)
	}
}

func TestNewTCPProbe_RefusesWhatCannotWork(t *testing.T) {
	for _, row := range []struct {
		cfg   health.TCPProbeConfig
		want  error
		field string
		value any
	}{
		{health.TCPProbeConfig{}, health.ErrMissing, "Address", nil},
		{health.TCPProbeConfig{Address: "127.0.0.1:1", Network: "udp"}, health.ErrOutOfRange, "Network", "udp"},
	} {
		p, err := health.NewTCPProbe(row.cfg)
		requireField(t, err, row.want, row.field, row.value)
		if p != nil {
			t.Errorf("%s: an error and a TCPProbe", row.field)
		}
	}
	var address *net.AddrError
	if _, err := health.NewTCPProbe(health.TCPProbeConfig{Address: "127.0.0.1"}); !errors.As(err, &address) {
		t.Errorf("an address without a port: %v", err)
	}
}
