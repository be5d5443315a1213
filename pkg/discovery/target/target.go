package target

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Reasons why a text is no target. They arrive inside a poise.FieldError.
var (
	// ErrNameServer means dns://host:port. In a URL the part after // is who is asked,
	// so that the host would be a name server and the name would be missing.
	ErrNameServer = errors.New("target: what follows dns:// is a name server; for the addresses of a host write dns:host:port or dns:///host:port")
	// ErrFileHost means file://host/path. Files of other machines cannot be read.
	ErrFileHost = errors.New("target: what follows file:// is another machine; write file:path or file:///path")
	// ErrEmpty means a scheme with nothing behind it.
	ErrEmpty = errors.New("target: nothing follows the scheme")
)

// Target says where the members of a service are listed. Targets are equal, with ==,
// if their texts are.
//
// A Target is made by Parse. The zero value lists nobody.
type Target struct {
	scheme Scheme
	rest   string // canonical: addresses, a path, host:port or a name
}

// Parse reads a target, or returns a [poise.FieldError].
//
// # Contract
//
//   - Parse of the String of a Target returns that Target.
//   - Parse refuses dns://host:port, and says why and what to write instead.
//   - Parse refuses a static target that names an address twice.
func Parse(text string) (Target, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	i := slices.Index(schemeNames, scheme)
	switch {
	case i < 0:
		return Target{}, refuse("target", text, ErrUnknownScheme)
	case rest == "":
		return Target{}, refuse("target", text, ErrEmpty)
	}
	rest, err := [...]func(string) (string, error){Static: parseStatic, File: parseFile, DNS: parseDNS, SRV: parseSRV}[i](rest)
	if err != nil {
		return Target{}, err
	}
	return Target{scheme: Scheme(i), rest: rest}, nil
}

func parseStatic(list string) (string, error) {
	addresses := strings.Split(list, ",")
	for i, text := range addresses {
		address, err := ParseAddress(text)
		if err == nil && slices.Contains(addresses[:i], address) {
			err = refuse("address", text, poise.ErrDuplicateIdentity)
		}
		if err != nil {
			return "", in(fmt.Sprintf("target.static[%d]", i), err)
		}
		addresses[i] = address
	}
	return strings.Join(addresses, ","), nil
}

func parseFile(path string) (string, error) {
	if after, found := strings.CutPrefix(path, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", refuse("target.file", path, ErrFileHost)
		}
		path = "/" + strings.TrimLeft(after, "/")
	}
	if strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return "", refuse("target.file", path, ErrEmpty)
	}
	return path, nil
}

func parseDNS(rest string) (string, error) {
	if after, found := strings.CutPrefix(rest, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", refuse("target.dns", rest, ErrNameServer)
		}
		rest = after[1:]
	}
	address, err := ParseAddress(rest)
	return address, in("target.dns", err)
}

func parseSRV(name string) (string, error) {
	canonical, ok := hostName(name)
	if !ok {
		return "", refuse("target.dns+srv", name, ErrBadHost)
	}
	return canonical, nil
}

// in gives the error the name of a field.
func in(field string, err error) error {
	if refused, ok := err.(*poise.FieldError); ok {
		refused.Field = field
	}
	return err
}

// Scheme returns the kind of the target.
func (t Target) Scheme() Scheme { return t.scheme }

// String returns the text of the target in its canonical form.
func (t Target) String() string { return t.scheme.String() + ":" + t.rest }

// MarshalText returns String.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the text.
func (t *Target) UnmarshalText(text []byte) (err error) {
	parsed, err := Parse(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}

// Hosts returns the host names and IP addresses that the target itself names: those
// of the addresses of a static target, the host of DNS, the name of SRV without its
// labels for service and protocol, and none for a file.
func (t Target) Hosts() []string {
	switch t.scheme {
	case File:
		return nil
	case SRV:
		name := t.rest
		for strings.HasPrefix(name, "_") {
			_, rest, found := strings.Cut(name, ".")
			if !found || rest == "" {
				return []string{t.rest} // labels are all it has
			}
			name = rest
		}
		return []string{name}
	}
	var hosts []string
	for _, address := range t.addresses() {
		if host, _, err := net.SplitHostPort(address); err == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// addresses returns those of a static or a DNS target.
func (t Target) addresses() []string {
	if t.rest == "" {
		return nil
	}
	return strings.Split(t.rest, ",")
}
