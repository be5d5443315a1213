package target_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

var _ target.Resolver = (*net.Resolver)(nil)

var start = time.Unix(1<<32, 0)

// answers is a resolver in memory.
type answers struct {
	asked     string
	ctx       context.Context
	lookups   int
	addresses []netip.Addr
	records   []*net.SRV
	err       error
}

func (a *answers) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	a.ctx, a.asked = ctx, network+" "+name
	a.lookups++
	return a.addresses, a.err
}

func (a *answers) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error) {
	a.ctx, a.asked = ctx, service+proto+name
	a.lookups++
	return "", a.records, a.err
}

var errNoSuchHost = &net.DNSError{Err: "no such host", Name: "orders", IsNotFound: true}

// follow is a directory that a target fills.
type follow struct {
	t      *testing.T
	d      *discovery.Directory[target.Address]
	poller *discovery.Poller[target.Address]
	now    time.Time
}

func newFollow(t *testing.T, text string, cfg target.Config) *follow {
	t.Helper()
	parsed, err := target.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := discovery.New(discovery.Config[target.Address]{Equal: target.Equal, RemoveImmediately: true})
	if err != nil {
		t.Fatal(err)
	}
	session, err := d.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsed.NewPoller(session, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &follow{t: t, d: d, poller: p, now: start}
}

// poll polls when that is due, and says who is there.
func (f *follow) poll() (string, error) {
	wait, err := f.poller.Poll(f.t.Context(), f.now)
	f.now = f.now.Add(wait)
	var members []string
	for _, m := range f.d.Load().All() {
		text := m.ID
		if m.ID != m.Value.HostPort {
			text = fmt.Sprintf("%s is %s", m.ID, m.Value.HostPort)
		}
		if w := m.Value.Weight.Value(); w != 1 || m.Value.Priority != 0 {
			text += fmt.Sprintf("/%d/%d", m.Value.Priority, w)
		}
		members = append(members, text)
	}
	return strings.Join(members, " "), err
}

func ips(list string) (all []netip.Addr) {
	for _, text := range strings.Fields(list) {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestStaticTarget_ListsItsAddresses(t *testing.T) {
	f := newFollow(t, "static:b:80,a:80", target.Config{})
	if got, err := f.poll(); err != nil || got != "b:80 a:80" {
		t.Errorf("got %s, %v", got, err)
	}
}

// Claim: A Resolver is asked once for each poll, with the context of the poll.
// Code: lookupHost
//
// Cases: B95.
func TestDNSTarget_ListsTheAddressesOfAName(t *testing.T) {
	resolver := &answers{}
	f := newFollow(t, "dns:orders:80", target.Config{Resolver: resolver, NoHold: true})
	down := errors.New("the resolver is down")
	for i, row := range []struct {
		list string
		err  error
		want error
		ids  string
	}{
		{"10.0.0.2 2001:db8::1 10.0.0.1 ::ffff:10.0.0.2", nil, nil, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"2001:db8::1 10.0.0.1 10.0.0.2", nil, nil, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"", down, down, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"", nil, discovery.ErrEmptyList, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"", errNoSuchHost, discovery.ErrNotFound, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"10.0.0.2", nil, nil, "10.0.0.2:80"},
	} {
		resolver.addresses, resolver.err = ips(row.list), row.err
		got, err := f.poll()
		if !errors.Is(err, row.want) || (err != nil) != (row.want != nil) || got != row.ids {
			t.Errorf("row %d: %s, want %s (%v)", i, got, row.ids, err)
		}
		if row.list != "" && resolver.addresses[0] != ips(row.list)[0] {
			t.Errorf("row %d: the resolver's own list has changed: %v", i, resolver.addresses)
		}
		if resolver.asked != "ip orders" || resolver.ctx != t.Context() || resolver.lookups != i+1 {
			t.Errorf("row %d: asked %q, %d times", i, resolver.asked, resolver.lookups)
		}
	}
	if r := f.d.Load().Revision(); r != 2 {
		t.Errorf("revision %d: the order of an answer is no change", r)
	}
}

// Cases: B94.
func TestDNSTarget_KeepsWhoIsMissingFromTwoAnswers(t *testing.T) {
	resolver := &answers{}
	f := newFollow(t, "dns:orders:80", target.Config{Resolver: resolver})
	all := ips("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8")
	chance := poise.NewGenerator(1)
	missing := map[netip.Addr]int{}
	for range 200 {
		resolver.addresses = nil
		for _, a := range all { // three of eight, and none more than twice in a row absent
			if missing[a]++; missing[a] > 2 || chance.Below(8) < 3 {
				resolver.addresses = append(resolver.addresses, a)
				missing[a] = 0
			}
		}
		if _, err := f.poll(); err != nil && len(resolver.addresses) > 0 {
			t.Fatal(err)
		}
	}
	lives := uint64(0)
	for _, m := range f.d.Load().All() {
		lives = max(lives, m.Incarnation)
	}
	if n := f.d.Load().Len(); n != 8 || lives != 8 {
		t.Errorf("%d members have had %d lives", n, lives)
	}
	resolver.addresses = all[:1]
	left := 0
	for f.d.Load().Len() > 1 && left < 10 {
		_, _ = f.poll()
		left++
	}
	if left != 4 {
		t.Errorf("members that are gone leave with answer %d", left)
	}
}

// Cases: B95.
func TestDNSTarget_AnEmptyNameCanBeAllowed(t *testing.T) {
	resolver := &answers{addresses: ips("10.0.0.1")}
	f := newFollow(t, "dns:orders:80", target.Config{Resolver: resolver, NoHold: true, AllowEmpty: true})
	_, _ = f.poll()
	resolver.addresses, resolver.err = nil, errNoSuchHost
	f.now = f.now.Add(time.Hour)
	for range 1000 { // losing all is more than is believed at once
		if got, err := f.poll(); err == nil {
			if got != "" {
				t.Errorf("a name that is gone leaves %s", got)
			}
			return
		} else if !errors.Is(err, discovery.ErrShrunk) {
			t.Fatal(err)
		}
	}
	t.Error("a name that stays gone is never believed")
}

func TestDNSTarget_RefusesTooManyAddresses(t *testing.T) {
	resolver := &answers{addresses: ips("10.0.0.1 10.0.0.2 10.0.0.3")}
	f := newFollow(t, "dns:orders:80", target.Config{Resolver: resolver, MaxMembers: 2})
	_, err := f.poll()
	limit, ok := errors.AsType[*discovery.LimitError](err)
	if !ok || !errors.Is(err, discovery.ErrTooManyMembers) || limit.Found != 3 || limit.Limit != 2 {
		t.Errorf("got %v", err)
	}
}

func TestSRVTarget_ListsTheRecordsOfAName(t *testing.T) {
	resolver := &answers{}
	f := newFollow(t, "dns+srv:_http._tcp.orders", target.Config{Resolver: resolver, NoHold: true})
	for i, row := range []struct {
		records []*net.SRV
		err     error
		want    error
		ids     string
	}{
		{[]*net.SRV{{Target: "b.", Port: 81, Priority: 10, Weight: 5}, {Target: "A.", Port: 80, Priority: 10, Weight: 0}, {Target: "c.", Port: 80, Priority: 20, Weight: 1}, {Target: "a.", Port: 80, Priority: 20, Weight: 9}},
			nil, nil, "a:80/10/1 b:81/10/5 c:80/20/1"},
		{[]*net.SRV{{Target: "a b.", Port: 80}}, nil, target.ErrBadHost, "a:80/10/1 b:81/10/5 c:80/20/1"},
		{[]*net.SRV{{Target: ".", Port: 80}}, nil, discovery.ErrNotFound, "a:80/10/1 b:81/10/5 c:80/20/1"},
		{[]*net.SRV{{Target: "a.", Port: 80}}, errNoSuchHost, discovery.ErrNotFound, "a:80/10/1 b:81/10/5 c:80/20/1"},
		{[]*net.SRV{{Target: "c.", Port: 80}}, nil, nil, "c:80"},
	} {
		resolver.records, resolver.err = row.records, row.err
		got, err := f.poll()
		if !errors.Is(err, row.want) || (err != nil) != (row.want != nil) || got != row.ids {
			t.Errorf("row %d: %s, want %s (%v)", i, got, row.ids, err)
		}
		if resolver.asked != "_http._tcp.orders" {
			t.Errorf("asked %q", resolver.asked)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Cases: B105, B113.
func TestFileTarget_ReadsAFileOfItsFolder(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "inside", "backends.txt")
	if err := os.MkdirAll(filepath.Join(folder, "inside", "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, name, "# orders\n10.0.0.1:80\n\tB:80   3\r\n")
	f := newFollow(t, "file:"+name, target.Config{})
	poll := func(want string, fails error) {
		t.Helper()
		got, err := f.poll()
		if got != want || !errors.Is(err, fails) || (err != nil) != (fails != nil) {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
	poll("10.0.0.1:80 b:80/0/3", nil)
	for text, err := range map[string]error{
		"\ufeff10.0.0.1:80\n": target.ErrBadHost,
		"a,b:80\n":            target.ErrBadHost,
		"a:80 0\n":            target.ErrBadWeight,
		"a:80 3 4\n":          target.ErrBadWeight,
		"a:80 4294967296\n":   target.ErrBadWeight,
		"a:80\nA:80\n":        discovery.ErrDuplicate,
		"# nobody\n":          discovery.ErrEmptyList,
	} {
		write(t, name, text)
		poll("10.0.0.1:80 b:80/0/3", err)
	}
	// A link inside the folder is followed, one that leads out of it is not.
	replace := func(to string) {
		t.Helper()
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(folder, "inside", "data", "backends.txt"), "10.0.0.1:80\n")
	write(t, filepath.Join(folder, "secret.txt"), "10.6.6.6:80\n")
	replace("data/backends.txt")
	poll("10.0.0.1:80", nil)
	replace("../secret.txt")
	if got, err := f.poll(); err == nil || got != "10.0.0.1:80" {
		t.Errorf("a link out of the folder: %s, %v", got, err)
	}
	replace("data")
	if got, err := f.poll(); err == nil || got != "10.0.0.1:80" {
		t.Errorf("a folder: %s, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	poll("10.0.0.1:80", os.ErrNotExist)
}

// A list in which one member has the weight 0 is refused as a whole, with the line and
// the weight; the members that were there serve on, and the next list that is sound is
// taken.
//
// Cases: B06.
func TestFileTarget_RefusesAListWithTheWeightZero(t *testing.T) {
	files := fstest.MapFS{"backends.txt": {Data: []byte("a:80 1\n")}}
	f := newFollow(t, "file:/etc/backends.txt", target.Config{Files: files})
	for _, row := range []struct {
		text, want string
		fails      bool
	}{
		{"a:80 1\n", "a:80", false},
		{"a:80 1\nb:80 0\n", "a:80", true},
		{"a:80 1\nb:80 2\n", "a:80 b:80/0/2", false},
		{"a:80 0\nb:80 2\n", "a:80 b:80/0/2", true},
	} {
		files["backends.txt"] = &fstest.MapFile{Data: []byte(row.text)}
		revision := f.d.Load().Revision()
		got, err := f.poll()
		if got != row.want || (err != nil) != row.fails {
			t.Errorf("%q: got %s, want %s (%v)", row.text, got, row.want, err)
		}
		if !row.fails {
			continue
		}
		if !errors.Is(err, target.ErrBadWeight) || f.d.Load().Revision() != revision {
			t.Errorf("%q: error %v, revision %d after %d", row.text, err, f.d.Load().Revision(), revision)
		}
		for _, part := range []string{"line " + fmt.Sprint(1+strings.Index(row.text, " 0\n")/len("a:80 1\n")), "weight"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error does not say %q: %v", row.text, part, err)
			}
		}
	}
}

func TestFileTarget_RefusesTooManyBytes(t *testing.T) {
	files := fstest.MapFS{"backends.txt": {Data: []byte("10.0.0.1:80\n")}}
	f := newFollow(t, "file:/etc/backends.txt", target.Config{Files: files, MaxBytes: 12})
	if got, err := f.poll(); err != nil || got != "10.0.0.1:80" {
		t.Errorf("got %s, %v", got, err)
	}
	files["backends.txt"] = &fstest.MapFile{Data: []byte("10.0.0.1:80\n\n")}
	got, err := f.poll()
	if limit, ok := errors.AsType[*discovery.LimitError](err); !ok || limit.Err != discovery.ErrTooLarge || limit.Limit != 12 || got != "10.0.0.1:80" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestNewPoller_RefusesBadSettings(t *testing.T) {
	d, _ := discovery.New(discovery.Config[target.Address]{Equal: target.Equal})
	session, _ := d.Open("x")
	for _, row := range []struct {
		text  string
		cfg   target.Config
		field string
	}{
		{"dns:a:80", target.Config{Network: "tcp"}, "Network"},
		{"dns:a:80", target.Config{NoHold: true, Hold: time.Second}, "Hold"},
		{"dns:a:80", target.Config{Hold: -1}, "Hold"},
		{"dns:a:80", target.Config{Interval: -1}, "Interval"},
		{"static:a:80", target.Config{MaxMembers: -1}, "MaxMembers"},
		{"static:a:80", target.Config{MaxShrinkPercent: 101}, "MaxShrinkPercent"},
		{"static:a:80", target.Config{ShrinkHold: -1}, "ShrinkHold"},
		{"file:a", target.Config{MaxBytes: -1}, "MaxBytes"},
	} {
		parsed, err := target.Parse(row.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parsed.NewPoller(session, row.cfg)
		if refused, ok := errors.AsType[*poise.FieldError](err); !ok || refused.Field != row.field {
			t.Errorf("%s: %v, want a refusal of %s", row.text, err, row.field)
		}
	}
	parsed, _ := target.Parse("dns:a:80")
	if _, err := parsed.NewPoller(session, target.Config{Interval: 100 * 365 * 24 * time.Hour}); err != nil {
		t.Errorf("the longest interval: %v", err)
	}
	if _, err := parsed.NewPoller(nil, target.Config{}); err == nil {
		t.Error("no session is needed")
	}
}

// A file may hold four million members in the bytes that are read of it. They are
// refused at the first that is one too many, and not made first.
func TestFileTarget_RefusesTooManyLines(t *testing.T) {
	of, err := target.Parse("file:list")
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{0, 5} {
		fetch, err := of.Fetch(target.Config{
			Files: fstest.MapFS{"list": {Data: bytes.Repeat([]byte("a:1\n"), 4<<20-1)}}, MaxMembers: most,
		})
		if err != nil {
			t.Fatal(err)
		}
		limit := int64(cmp.Or(most, 100_000))
		_, err = fetch(t.Context())
		refused, ok := errors.AsType[*discovery.LimitError](err)
		if !ok || refused.Found != limit+1 || refused.Limit != limit || !errors.Is(err, discovery.ErrTooManyMembers) {
			t.Errorf("got %v", err)
		}
	}
}
