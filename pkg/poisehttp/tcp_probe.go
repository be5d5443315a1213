package poisehttp

import (
	"cmp"
	"context"
	"net"
)

// TCPProbeConfig are the settings of a TCPProbe. The zero value of each field but
// Address is its default.
type TCPProbeConfig struct {
	_ struct{}
	// Address is what to connect to, as net.Dial takes it. Required.
	Address string
	// Network is tcp, tcp4, tcp6 or unix, default tcp.
	Network string
}

// TCPProbe opens a connection and closes it again.
//
// A TCPProbe is made by NewTCPProbe.
//
// # Contract
//
//   - Probe returns nil exactly if a connection was made within its context.
//   - No connection outlives its Probe.
//
// # Cost
//
// A Probe is one connection.
//
// # Concurrency
//
// Probe may be called by any number of goroutines.
type TCPProbe struct {
	cfg    TCPProbeConfig
	dialer net.Dialer
}

// NewTCPProbe returns a TCPProbe, or a [poise.FieldError] of ErrMissing,
// ErrOutOfRange or what is wrong with the address.
func NewTCPProbe(cfg TCPProbeConfig) (*TCPProbe, error) {
	cfg.Network = cmp.Or(cfg.Network, "tcp")
	if cfg.Address == "" {
		return nil, refuse("Address", nil, ErrMissing)
	}
	switch cfg.Network {
	case "tcp", "tcp4", "tcp6":
		if _, _, err := net.SplitHostPort(cfg.Address); err != nil {
			return nil, refuse("Address", cfg.Address, err)
		}
	case "unix":
	default:
		return nil, outOfRange("Network", cfg.Network)
	}
	return &TCPProbe{cfg: cfg}, nil
}

// Probe connects once. It returns the error of the connection.
func (p *TCPProbe) Probe(ctx context.Context) error {
	connection, err := p.dialer.DialContext(ctx, p.cfg.Network, p.cfg.Address)
	if err != nil {
		return err
	}
	return connection.Close()
}
