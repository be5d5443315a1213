package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

var _ discovery.Resolver = (*net.Resolver)(nil)

var errDown = errors.New("the source is down")

// script is a source that answers as it is told.
type script struct {
	asked   int
	listing discovery.Listing[int]
	err     error
}

func (s *script) fetch(context.Context) (discovery.Listing[int], error) {
	s.asked++
	return s.listing, s.err
}

func newPoller(t testing.TB, cfg discovery.PollerConfig[int]) *discovery.Poller[int] {
	t.Helper()
	p, err := discovery.NewPoller(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewPoller_RefusesBadSettings(t *testing.T) {
	s := open(t, newDirectory(t, discovery.Config[int]{}), "x")
	fetch := discovery.Static[int]()
	for _, row := range []struct {
		cfg   discovery.PollerConfig[int]
		field string
		err   error
	}{
		{discovery.PollerConfig[int]{Fetch: fetch}, "Session", discovery.ErrMissing},
		{discovery.PollerConfig[int]{Session: s}, "Fetch", discovery.ErrMissing},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Interval: -1}, "Interval", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Interval: math.MaxInt64}, "Interval", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Floor: -1}, "Floor", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Floor: time.Minute}, "Floor", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Backoff: -1}, "Backoff", discovery.ErrOutOfRange},
		{discovery.PollerConfig[int]{Session: s, Fetch: fetch, Backoff: time.Minute}, "Backoff", discovery.ErrOutOfRange},
	} {
		_, err := discovery.NewPoller(row.cfg)
		requireField(t, row.field, err, row.field, row.err)
	}
}

// Claim: A failure to fetch leaves the members of the last good list in place, and is returned and counted.
// Claim: A list without members is a failure unless AllowEmpty is set.
// Claim: A list that the Session refuses is a failure.
//
// Cases: B42, B48.
func TestPoller_KeepsTheLastGoodList(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	source := &script{}
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: source.fetch})
	now := start
	for i, row := range []struct {
		entries []discovery.Entry[int]
		fails   error
		want    error
		ids     string
		inARow  uint64
	}{
		{nil, errDown, errDown, "", 1},
		{entries("a", "b"), nil, nil, "a b", 0},
		{nil, errDown, errDown, "a b", 1},
		{nil, nil, discovery.ErrEmptyList, "a b", 2},
		{entries("c", "c"), nil, discovery.ErrDuplicate, "a b", 3},
		{entries("a"), nil, nil, "a (b)", 0},
	} {
		source.listing.Entries, source.err = row.entries, row.fails
		now = now.Add(time.Hour)
		_, err := p.Poll(t.Context(), now)
		failure, failed := errors.AsType[*discovery.PollError](err)
		if !errors.Is(err, row.want) || failed != (row.want != nil) || failed && (failure.Source != "x" || failure.InARow != row.inARow) {
			t.Errorf("row %d: %v", i, err)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Errorf("row %d: %s, want %s", i, got, row.ids)
		}
		s := p.Status()
		if s.Polls != uint64(i)+1 || s.InARow != row.inARow || !errors.Is(s.Err, row.want) || row.want == nil && s.Good != now {
			t.Errorf("row %d: %+v", i, s)
		}
	}
	if s := p.Status(); s.Failures != 4 {
		t.Errorf("%d failures are counted", s.Failures)
	}
	empty := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: discovery.Static[int](), AllowEmpty: true})
	if _, err := empty.Poll(t.Context(), now); err != nil || ids(d.Load()) != "(a) (b)" {
		t.Errorf("an empty list that is allowed: %v, %s", err, ids(d.Load()))
	}
	if _, err := p.Poll(t.Context(), now.Add(time.Hour)); !errors.Is(err, discovery.ErrSessionEnded) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a session that was replaced: %v", err)
	}
}

// Claim: A Poll before its time asks nobody, and returns the time that is left.
// Claim: The next Poll is due after at least Floor, and after at most nine eighths of Interval.
// Claim: Failures in a row double the time to the next question, up to Interval; a good list forgets them.
// Claim: A clock that steps back makes the next Poll due at once.
func TestPoller_LawOfItsTimes(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	session := open(t, d, "x")
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "interval"))
		floor := time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "floor"))
		backoff := time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "backoff"))
		source := &script{}
		p, err := discovery.NewPoller(discovery.PollerConfig[int]{
			Session: session, Fetch: source.fetch, Interval: interval, Floor: floor, Backoff: backoff,
			Seed: rapid.Uint64().Draw(t, "seed"),
		})
		if err != nil {
			t.Fatal(err)
		}
		now, due, failures := start, start, 0
		for range 20 {
			step := time.Duration(rapid.Int64Range(-int64(interval)/4, 2*int64(interval)).Draw(t, "step"))
			last := now
			now = now.Add(step)
			source.err = rapid.SampledFrom([]error{nil, errDown}).Draw(t, "error")
			source.listing = discovery.Listing[int]{Entries: entries("a"), ValidFor: time.Duration(rapid.Int64Range(0, 2*int64(interval)).Draw(t, "valid for"))}
			asked := source.asked
			wait, err := p.Poll(context.Background(), now)
			if source.asked == asked {
				if err != nil || !now.Before(due) || wait != due.Sub(now) {
					t.Fatalf("nobody is asked, %v are left, want %v (%v)", wait, due.Sub(now), err)
				}
				continue
			}
			if now.Before(due) && !now.Before(last) {
				t.Fatalf("the source is asked %v too soon", due.Sub(now))
			}
			base := interval
			if source.err != nil {
				base = backoff
				for range failures {
					base = min(2*base, interval)
				}
				failures++
			} else {
				failures = 0
				if v := source.listing.ValidFor; v > 0 {
					base = min(v, interval)
				}
			}
			base = max(base, floor)
			if wait < base || wait > base+base/8 || (err != nil) != (source.err != nil) {
				t.Fatalf("after %d failures the wait is %v, want %v and up to an eighth more", failures, wait, base)
			}
			due = now.Add(wait)
		}
	})
}

func TestPoller_ADefaultAsksEveryHalfMinute(t *testing.T) {
	d := newDirectory(t, discovery.Config[int]{})
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "x"), Fetch: discovery.Static(entries("a")...)})
	wait, err := p.Poll(t.Context(), start)
	if err != nil || wait < 30*time.Second || wait > 34*time.Second || ids(d.Load()) != "a" {
		t.Fatalf("wait %v, %v", wait, err)
	}
	if left, err := p.Poll(t.Context(), start.Add(time.Second)); err != nil || left != wait-time.Second {
		t.Errorf("left %v, %v", left, err)
	}
	if again, err := p.Poll(t.Context(), start.Add(-time.Hour)); err != nil || again < 30*time.Second || p.Status().Polls != 2 {
		t.Errorf("after the clock stepped back: %v, %v", again, err)
	}
}

func TestStatic_KeepsItsOwnList(t *testing.T) {
	list := entries("a", "b")
	fetch := discovery.Static(list...)
	list[0].ID = "z"
	if got, err := fetch(t.Context()); err != nil || got.Entries[0].ID != "a" {
		t.Errorf("got %v, %v", got, err)
	}
}

func line(text string) (e discovery.Entry[int], err error) {
	_, err = fmt.Sscanf(text, "%s %d", &e.ID, &e.Value)
	return e, err
}

func TestFile_IsReadAgain(t *testing.T) {
	files := fstest.MapFS{}
	d := newDirectory(t, discovery.Config[int]{})
	p := newPoller(t, discovery.PollerConfig[int]{Session: open(t, d, "file"), Fetch: discovery.File(files, "members", discovery.Lines(line))})
	for i, row := range []struct {
		text string
		fail string
		ids  string
	}{
		{"", "does not exist", ""},
		{"# who is there\n a 1\n\n\tb 2\r\n", "", "a b"},
		{"b 2\na 1", "", "a b"},
		{"a 1\n\nb two\n", "line 3", "a b"},
		{"# nobody\n", "no members", "a b"},
		{"c 3\nb 2\n", "", "(a) b c"},
	} {
		if row.text != "" {
			files["members"] = &fstest.MapFile{Data: []byte(row.text)}
		}
		_, err := p.Poll(t.Context(), start.Add(time.Duration(i)*time.Hour))
		if (err != nil) != (row.fail != "") || err != nil && !strings.Contains(err.Error(), row.fail) {
			t.Errorf("row %d: %v, want %q", i, err, row.fail)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Errorf("row %d: %s, want %s", i, got, row.ids)
		}
	}
	if r := d.Load().Revision(); r != 2 {
		t.Errorf("revision %d: a file in another order is no change", r)
	}
}

// answers is a resolver in memory.
type answers struct {
	asked   string
	ctx     context.Context
	lookups int
	list    []netip.Addr
	err     error
}

func (a *answers) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	a.ctx, a.asked = ctx, network+" "+name
	a.lookups++
	return a.list, a.err
}

// Claim: A Resolver is asked once per Fetch, with the context of the Poll.
func TestDNS_MakesMembersOfAddresses(t *testing.T) {
	resolver := &answers{}
	d := newDirectory(t, discovery.Config[int]{})
	p := newPoller(t, discovery.PollerConfig[int]{
		Session: open(t, d, "dns"),
		Fetch: discovery.DNS(resolver, "ip", "service.test", func(a netip.Addr) discovery.Entry[int] {
			return discovery.Entry[int]{ID: netip.AddrPortFrom(a, 80).String(), Value: a.BitLen()}
		}),
	})
	for i, row := range []struct {
		list string
		err  error
		want error
		ids  string
	}{
		{"10.0.0.2 2001:db8::1 10.0.0.1 ::ffff:10.0.0.2", nil, nil, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"2001:db8::1 10.0.0.1 10.0.0.2", nil, nil, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"", errDown, errDown, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"", nil, discovery.ErrEmptyList, "10.0.0.1:80 10.0.0.2:80 [2001:db8::1]:80"},
		{"10.0.0.2", nil, nil, "(10.0.0.1:80) 10.0.0.2:80 ([2001:db8::1]:80)"},
	} {
		resolver.list, resolver.err = nil, row.err
		for _, text := range strings.Fields(row.list) {
			resolver.list = append(resolver.list, netip.MustParseAddr(text))
		}
		if _, err := p.Poll(t.Context(), start.Add(time.Duration(i)*time.Hour)); !errors.Is(err, row.want) || (err != nil) != (row.want != nil) {
			t.Errorf("row %d: %v", i, err)
		}
		if got := ids(d.Load()); got != row.ids {
			t.Errorf("row %d: %s, want %s", i, got, row.ids)
		}
		if resolver.asked != "ip service.test" || resolver.ctx != t.Context() || resolver.lookups != i+1 {
			t.Errorf("row %d: asked %q, %d times", i, resolver.asked, resolver.lookups)
		}
	}
	if r := d.Load().Revision(); r != 2 {
		t.Errorf("revision %d: the order of an answer is no change", r)
	}
}
