package target

import (
	"errors"

	"github.com/copyleftdev/poise-go/pkg/internal/enum"
)

// ErrUnknownScheme means a text that begins with none of the schemes.
var ErrUnknownScheme = errors.New("target: none of the schemes static, file, dns and dns+srv")

// Scheme is the kind of a target.
//
// The zero value is Static.
type Scheme uint8

const (
	// Static targets list their addresses.
	Static Scheme = iota
	// File targets name a file of addresses.
	File
	// DNS targets name a host, whose addresses are the members.
	DNS
	// SRV targets name a service, whose SRV records are the members.
	SRV
)

var schemeNames = []string{"static", "file", "dns", "dns+srv"}

// String returns the scheme as it is written in a target, without the colon.
func (s Scheme) String() string { return enum.String(s, schemeNames, "no scheme") }

// MarshalText returns String, or ErrUnknownScheme.
func (s Scheme) MarshalText() ([]byte, error) { return enum.Marshal(s, schemeNames, ErrUnknownScheme) }

// UnmarshalText reads what MarshalText wrote.
func (s *Scheme) UnmarshalText(text []byte) error {
	return enum.Unmarshal(s, text, schemeNames, ErrUnknownScheme)
}
