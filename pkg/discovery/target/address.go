package target

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Reasons why a text is no address. They arrive inside a poise.FieldError.
var (
	// ErrBadHost means a host that is neither an IP address nor a name of letters,
	// digits, hyphens, underscores and dots.
	ErrBadHost = errors.New("target: neither an IP address nor a host name")
	// ErrBadPort means a port that is missing or not a number from 1 to 65535.
	ErrBadPort = errors.New("target: the port must be a number from 1 to 65535")
	// ErrBadWeight means a weight that is not a number from 1 to 4294967295.
	ErrBadWeight = errors.New("target: the weight must be a number from 1 to 4294967295")
)

// Address is what a target knows of a member. Its HostPort is the member's identity.
type Address struct {
	// HostPort is what to connect to, as ParseAddress returns it.
	HostPort string
	// Weight is that of the member: 1, or what an SRV record or a file says.
	Weight poise.Weight
	// Priority is that of an SRV record, else 0; lower comes first.
	Priority uint32
}

// Equal reports whether two addresses say the same, for discovery.Config.
func Equal(a, b Address) bool { return a == b }

// ParseAddress returns the canonical form of host:port: IP addresses as package
// net/netip writes them, IPv4 in IPv6 as IPv4, and names in lower case.
//
// # Contract
//
//   - ParseAddress returns a host:port that it returns unchanged when it is given that.
//   - ParseAddress refuses every text with a byte that no host name, IP address or port has.
func ParseAddress(text string) (string, error) {
	if a, err := netip.ParseAddrPort(text); err == nil && cleanZone(a.Addr().Zone()) {
		if a.Port() == 0 {
			return "", refuse("address", text, ErrBadPort)
		}
		return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String(), nil
	}
	host, port, ok := cutLast(text, ':')
	if !ok {
		return "", refuse("address", text, ErrBadPort)
	}
	name, ok := hostName(host)
	if !ok {
		return "", refuse("address", text, ErrBadHost)
	}
	number, ok := portNumber(port)
	if !ok {
		return "", refuse("address", text, ErrBadPort)
	}
	return net.JoinHostPort(name, strconv.Itoa(number)), nil
}

// parseMember reads an address and, after white space, an optional weight.
func parseMember(line string) (Address, error) {
	fields := strings.Fields(line)
	hostPort, err := ParseAddress(fields[0])
	if err != nil || len(fields) == 1 {
		return Address{HostPort: hostPort}, err
	}
	weight := strings.Join(fields[1:], " ")
	number, err := strconv.ParseUint(weight, 10, 32)
	if err != nil || number == 0 {
		return Address{}, refuse("weight", weight, ErrBadWeight)
	}
	w, err := poise.NewWeight(uint32(number))
	return Address{HostPort: hostPort, Weight: w}, err
}

// hostName returns the name in lower case, if it is one. A name whose last label is
// a number would be a mistyped IP address.
func hostName(text string) (string, bool) {
	name := strings.ToLower(text)
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(name) > 254 {
		return "", false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || !all(l, isNameByte) {
			return "", false
		}
	}
	return name, !all(labels[len(labels)-1], isDigit)
}

func portNumber(text string) (int, bool) {
	number, err := strconv.ParseUint(text, 10, 16)
	return int(number), err == nil && number > 0 && all(text, isDigit)
}

// cleanZone reports whether the zone of an IPv6 address looks like the name of an
// interface.
func cleanZone(zone string) bool {
	return all(zone, func(b byte) bool { return isNameByte(b) || b == '.' })
}

func isNameByte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || isDigit(b) || b == '-' || b == '_'
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func all(text string, ok func(byte) bool) bool {
	for i := range len(text) {
		if !ok(text[i]) {
			return false
		}
	}
	return true
}

func cutLast(text string, separator byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// refuse names the field and as much of its value as one can read.
func refuse(field, value string, err error) error {
	const most = 120
	if len(value) > most {
		value = value[:most] + "…"
	}
	return &poise.FieldError{Field: field, Value: value, Err: err}
}
