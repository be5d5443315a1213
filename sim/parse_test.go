package sim

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const small = `title     one of $n refuses
cases     n: 3 | 5
length    4s
servers   $n cost 5ms
calls     100/s posts 50%
at 1s     first 1 refuse
must      failed <= 1% after 2s
`

func TestParse_RefusesWithLineAndField(t *testing.T) {
	for _, c := range []struct {
		old, new string
		line     int
		field    string
		err      error
	}{
		{"length    4s", "length    4", 3, "length", ErrNotANumber},
		{"length    4s", "", 8, "length", ErrMissing},
		{"length    4s", "length    4s\nlength 5s", 4, "length", ErrTwice},
		{"cost 5ms", "cost 5ms colour red", 4, "servers.colour", ErrUnknownWord},
		{"cost 5ms", "cost -5ms", 4, "servers.cost", ErrOutOfRange},
		{"servers   $n", "servers   many", 4, "servers", ErrNotANumber},
		{"100/s", "100", 5, "calls", ErrNotANumber},
		{"posts 50%", "posts 150%", 5, "calls.posts", ErrOutOfRange},
		{"first 1 refuse", "first 9 refuse", 6, "at", ErrOutOfRange},
		{"first 1 refuse", "server 5 refuse", 6, "at", ErrOutOfRange},
		{"first 1 refuse", "first 1 sulk", 6, "at.sulk", ErrUnknownWord},
		{"first 1 refuse", "first 1 refuse probability much", 6, "at.probability", ErrNotANumber},
		{"failed <=", "failures <=", 7, "must.failures", ErrUnknownWord},
		{"<= 1%", "< 1%", 7, "must.failed", ErrUnknownWord},
		{"<= 1%", "<= 1% of nobody", 7, "must.failed", ErrUnknownWord},
		{"after 2s", "after 2s+calls", 7, "must.after", ErrNotANumber},
		{"n: 3 | 5", "n: 3 | 5 6", 2, "cases", ErrMissing},
		{"title", "titles", 1, "titles", ErrUnknownWord},
	} {
		_, err := Parse("x", strings.Replace(small, c.old, c.new, 1))
		var refused *ParseError
		if !errors.As(err, &refused) || !errors.Is(err, c.err) || refused.Line != c.line || refused.Field != c.field {
			t.Errorf("%q for %q: got %v, want line %d, field %s: %v", c.new, c.old, err, c.line, c.field, c.err)
		}
	}
}

func TestParse_CasesAreScenarios(t *testing.T) {
	all, err := Parse("x", small)
	if err != nil || len(all) != 2 {
		t.Fatalf("got %d scenarios and %v, want 2", len(all), err)
	}
	if all[1].Name != "x/n=5" || len(all[1].Servers) != 5 || all[1].Title != "one of 5 refuses" {
		t.Errorf("the second is %s with %d servers, %q", all[1].Name, len(all[1].Servers), all[1].Title)
	}
	both, err := Parse("x", strings.Replace(small, "at 1s     first 1 refuse", "cases how: refuse | status_503\nat 1s     first 1 $how", 1))
	if err != nil || len(both) != 4 || both[3].Name != "x/n=5,how=status_503" || both[3].Events[0].Fault.Status != 503 {
		t.Errorf("got %d scenarios and %v, want every combination of the cases", len(both), err)
	}
}

func TestScenario_TextIsReadAsItself(t *testing.T) {
	scenarios := committed(t)
	for seed := range uint64(300) {
		scenarios = append(scenarios, Random(seed))
	}
	for _, s := range scenarios {
		again, err := Parse(s.Name, s.String())
		if err != nil || len(again) != 1 {
			t.Fatalf("%s: %v\n%v", s.Name, err, s)
		}
		if got := again[0].String(); got != s.String() {
			t.Errorf("%s is read as\n%v\nwant\n%v", s.Name, got, s)
		}
	}
}

func TestMark_CountsCallsByTheRatesThatEventsSet(t *testing.T) {
	s, err := Parse("x", "title t\nlength 10s\nservers 1\ncalls 100/s\nat 2s rate 50/s\nat 4s rate 0/s\nat 6s rate 200/s\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mark Mark
		want time.Duration
	}{
		{Mark{At: 3 * time.Second}, 3 * time.Second},
		{Mark{Calls: 100}, time.Second},
		{Mark{Calls: 250}, 3 * time.Second},
		{Mark{At: time.Second, Calls: 400}, 7 * time.Second},
		{Mark{At: 3 * time.Second, Calls: 50}, 4 * time.Second},
	} {
		if got := s[0].after(c.mark); got != c.want {
			t.Errorf("%+v is at %v, want %v", c.mark, got, c.want)
		}
	}
}
