package poisehttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

func newTCPProbe(t testing.TB, cfg poisehttp.TCPProbeConfig) *poisehttp.TCPProbe {
	t.Helper()
	p, err := poisehttp.NewTCPProbe(cfg)
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
		p := newTCPProbe(t, poisehttp.TCPProbeConfig{Network: network, Address: l.Addr().String()})
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
	if err := newTCPProbe(t, poisehttp.TCPProbeConfig{Address: l.Addr().String()}).Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("it returns %v", err)
	}
}

func TestNewTCPProbe_RefusesWhatCannotWork(t *testing.T) {
	for _, row := range []struct {
		cfg   poisehttp.TCPProbeConfig
		want  error
		field string
		value any
	}{
		{poisehttp.TCPProbeConfig{}, poisehttp.ErrMissing, "Address", nil},
		{poisehttp.TCPProbeConfig{Address: "127.0.0.1:1", Network: "udp"}, poisehttp.ErrOutOfRange, "Network", "udp"},
	} {
		p, err := poisehttp.NewTCPProbe(row.cfg)
		requireField(t, err, row.field, row.want)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Value != row.value {
			t.Errorf("the value is in none of %v", err)
		}
		if p != nil {
			t.Errorf("%s: an error and a TCPProbe", row.field)
		}
	}
	var address *net.AddrError
	if _, err := poisehttp.NewTCPProbe(poisehttp.TCPProbeConfig{Address: "127.0.0.1"}); !errors.As(err, &address) {
		t.Errorf("an address without a port: %v", err)
	}
}
