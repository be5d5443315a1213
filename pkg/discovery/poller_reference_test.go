package discovery_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
	"pgregory.net/rapid"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// paperPoller decides by the Contract's own words who is there after each answer. It
// knows of each member the instants of the answers so far.
type paperPoller struct {
	hold, shrinkHold time.Duration
	most, percent    int
	allowEmpty       bool
	// without are the instants of the answers in a row that left a member out.
	without map[string][]time.Time
	// small are the instants of the answers in a row that were too small.
	small []time.Time
}

// answer takes a good answer and reports whether it counts.
func (p *paperPoller) answer(ids []string, now time.Time) bool {
	if len(ids) > p.most || len(ids) == 0 && !p.allowEmpty {
		return false
	}
	next := map[string][]time.Time{}
	for _, id := range ids {
		if _, twice := next[id]; twice {
			return false
		}
		next[id] = nil
	}
	held := 0
	for _, id := range slices.Sorted(maps.Keys(p.without)) {
		if _, named := next[id]; named {
			continue
		}
		if since := append(slices.Clone(p.without[id]), now); now.Sub(since[0]) < p.hold {
			next[id] = since
			held++
		}
	}
	if len(ids)+held > p.most {
		panic("the law has no room to say who is held")
	}
	if lost := len(p.without) - len(next); 100*lost > p.percent*len(p.without) {
		if p.small = append(p.small, now); now.Sub(p.small[0]) < p.shrinkHold {
			return false
		}
	}
	p.without, p.small = next, nil
	return true
}

// requirePoller plays a script of answers, each a set of the members a to f, and
// failures to a Poller and on paper.
func requirePoller(t failer, hold, shrinkHold uint8, percent int, allowEmpty bool, ops []uint16) {
	t.Helper()
	d, err := discovery.New(discovery.Config[int]{Equal: sameInt, RemoveImmediately: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	session, err := d.Open("x")
	if err != nil {
		t.Fatalf("%v", err)
	}
	paper := &paperPoller{
		hold: time.Duration(hold) * time.Minute, shrinkHold: time.Duration(shrinkHold)*time.Minute + time.Minute,
		most: 6, percent: percent, allowEmpty: allowEmpty, without: map[string][]time.Time{},
	}
	source := &script{}
	p, err := discovery.NewPoller(discovery.PollerConfig[int]{
		Session: session, Fetch: source.fetch, Interval: time.Second, Hold: paper.hold, ShrinkHold: paper.shrinkHold,
		MaxMembers: paper.most, MaxShrinkPercent: percent, AllowEmpty: allowEmpty,
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	now := start
	for step, op := range ops {
		now = now.Add(time.Duration(op>>8%8+1) * time.Minute)
		var names []string
		for i, id := range strings.Fields("a b c d e f") {
			if op>>i&1 > 0 {
				names = append(names, id)
			}
		}
		source.listing.Entries, source.err = entries(names...), nil
		good := false
		switch {
		case op>>6&3 == 3:
			source.err = errDown
		default:
			good = paper.answer(names, now)
		}
		_, err := p.Poll(context.Background(), now)
		want := slices.Sorted(maps.Keys(paper.without))
		got := slices.Sorted(strings.FieldsSeq(ids(d.Load())))
		if (err == nil) != good || !slices.Equal(got, want) {
			t.Fatalf("step %d: the answer %v leaves %v, want %v (%v)", step, names, got, want, err)
		}
		held := 0
		for _, since := range paper.without {
			if since != nil {
				held++
			}
		}
		if s := p.Status(); s.Held != held {
			t.Fatalf("step %d: %d are held, want %d", step, s.Held, held)
		}
	}
}

// Claim: A member that answers leave out stays until Hold after the first answer without it, and an answer with it in between ends that time.
// Claim: A list that leaves fewer members than MaxShrinkPercent permits is a failure, until the source has repeated it for ShrinkHold.
func TestPoller_LawAgreesWithPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requirePoller(t, rapid.Uint8Range(0, 12).Draw(t, "hold"), rapid.Uint8Range(0, 12).Draw(t, "shrink hold"),
			rapid.IntRange(1, 100).Draw(t, "percent"), rapid.Bool().Draw(t, "allow empty"), rapid.SliceOfN(rapid.Uint16(), 1, 40).Draw(t, "script"))
	})
}

// Claim: A list that leaves fewer members than MaxShrinkPercent permits is a failure, until the source has repeated it for ShrinkHold.
func TestPoller_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a Poller is as on paper", prop.ForAll(
		func(hold, shrinkHold uint8, percent int, allowEmpty bool, script []uint16) string {
			return lawfully(func(t failer) { requirePoller(t, hold%13, shrinkHold%13, percent, allowEmpty, script) })
		}, gen.UInt8(), gen.UInt8(), gen.IntRange(1, 100), gen.Bool(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}
