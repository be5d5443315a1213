package target

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// ErrBadNetwork means a Network that is not ip, ip4 or ip6.
var ErrBadNetwork = errors.New("target: the networks are ip, ip4 and ip6")

// Config are the settings of the poller of a target. The zero value of each field is
// its default.
type Config struct {
	_ struct{}
	// Resolver is asked for names, default net.DefaultResolver.
	Resolver Resolver
	// Network is which addresses of a name are members: ip, ip4 or ip6, default ip.
	Network string
	// Files is where a file target is read, by the name of the file in its folder. The
	// default is the folder of the file; no link leads out of it.
	Files fs.FS
	// MaxBytes is the most that a file may hold; default 16 MiB.
	MaxBytes int64
	// Interval, Floor, Backoff, Hold, AllowEmpty, MaxMembers, MaxShrinkPercent,
	// ShrinkHold and Seed are those of discovery.PollerConfig. Only the default of
	// Hold differs: for DNS and SRV it is three times Interval, since name servers
	// often answer with some of the members.
	Interval, Floor, Backoff, Hold time.Duration
	AllowEmpty                     bool
	MaxMembers, MaxShrinkPercent   int
	ShrinkHold                     time.Duration
	Seed                           uint64
	// NoHold lets a member leave with the first answer without it. Hold must be 0.
	NoHold bool
}

// NewPoller returns a poller that keeps what the session claims equal to the target,
// or a [poise.FieldError].
func (t Target) NewPoller(session *discovery.Session[Address], cfg Config) (*discovery.Poller[Address], error) {
	cfg.Interval = cmp.Or(cfg.Interval, 30*time.Second)
	switch {
	case cfg.NoHold && cfg.Hold != 0:
		return nil, &poise.FieldError{Field: "Hold", Value: cfg.Hold, Err: discovery.ErrOutOfRange}
	case !cfg.NoHold && (t.scheme == DNS || t.scheme == SRV):
		const most = 30 * 365 * 24 * time.Hour // three times that is in the range of Hold
		cfg.Hold = cmp.Or(cfg.Hold, 3*min(cfg.Interval, most))
	}
	fetch, err := t.Fetch(cfg)
	if err != nil {
		return nil, err
	}
	return discovery.NewPoller(discovery.PollerConfig[Address]{
		Session: session, Fetch: fetch, Interval: cfg.Interval, Floor: cfg.Floor, Backoff: cfg.Backoff, Hold: cfg.Hold,
		AllowEmpty: cfg.AllowEmpty, MaxMembers: cfg.MaxMembers, MaxShrinkPercent: cfg.MaxShrinkPercent,
		ShrinkHold: cfg.ShrinkHold, Seed: cfg.Seed,
	})
}

// Fetch returns what asks the target's source once, for a directory of another kind
// of values, or a [poise.FieldError]. Of the settings it reads Resolver, Network,
// Files, MaxBytes and MaxMembers.
func (t Target) Fetch(cfg Config) (discovery.Fetch[Address], error) {
	cfg.MaxMembers = cmp.Or(cfg.MaxMembers, 100_000)
	resolver := cfg.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	switch t.scheme {
	case File:
		files := cfg.Files
		if files == nil {
			files = rooted(filepath.Dir(t.rest))
		}
		return discovery.File(discovery.FileConfig[Address]{
			Files: files, Name: filepath.Base(t.rest), MaxBytes: cfg.MaxBytes, Parse: parseLines(cfg.MaxMembers),
		})
	case DNS:
		switch cfg.Network = cmp.Or(cfg.Network, "ip"); cfg.Network {
		case "ip", "ip4", "ip6":
			return lookupHost(resolver, cfg.Network, t.rest, cfg.MaxMembers), nil
		}
		return nil, &poise.FieldError{Field: "Network", Value: cfg.Network, Err: ErrBadNetwork}
	case SRV:
		return lookupSRV(resolver, t.rest, cfg.MaxMembers), nil
	}
	var entries []discovery.Entry[Address]
	for _, a := range t.addresses() {
		entries = append(entries, entry(Address{HostPort: a}))
	}
	return discovery.Static(entries...), nil
}

// entry returns a member whose identity is its address.
func entry(a Address) discovery.Entry[Address] {
	return discovery.Entry[Address]{ID: a.HostPort, Value: a}
}

// parseLines returns what makes a member of each line of a file, and gives up at the
// first that is one too many: a short line becomes a much larger member.
func parseLines(most int) func([]byte) ([]discovery.Entry[Address], error) {
	return func(data []byte) ([]discovery.Entry[Address], error) {
		n := 0
		return discovery.Lines(func(line string) (discovery.Entry[Address], error) {
			if n++; n > most {
				return discovery.Entry[Address]{}, &discovery.LimitError{Found: int64(n), Limit: int64(most), Err: discovery.ErrTooManyMembers}
			}
			a, err := parseMember(line)
			return entry(a), err
		})(data)
	}
}
