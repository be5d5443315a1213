package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

func TestParse_WithoutFlagsIsTheWholeDemo(t *testing.T) {
	s, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.policy.name != "power-of-two-choices" || s.own() || s.requests < 2000 || s.seed == 0 || s.duration > 15*time.Second {
		t.Errorf("%+v", s)
	}
}

func TestParse_ReadsEveryFlag(t *testing.T) {
	s, err := parse(strings.Fields("-policy rendezvous -backends [::1]:1,b.example:65535 -path /a?b=c -requests 7 -concurrency 3 -duration 2s -seed 9 -json f"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.policy.name != "rendezvous" || s.target.String() != "static:[::1]:1,b.example:65535" || s.path != "/a?b=c" ||
		s.requests != 7 || s.concurrency != 3 || s.duration != 2*time.Second || s.seed != 9 || s.json != "f" {
		t.Errorf("%+v", s)
	}
}

func TestParse_ReadsEverySource(t *testing.T) {
	for text, want := range map[string]string{
		"static:a:1,[::1]:2":            "static:a:1,[::1]:2",
		"file:/etc/backends: new.txt":   "file:/etc/backends: new.txt",
		"dns:Service.example.com:443":   "dns:service.example.com:443",
		"dns:///service.example.com:80": "dns:service.example.com:80",
		"dns:[::1]:65535":               "dns:[::1]:65535",
		"dns+srv:_http._tcp.a.example":  "dns+srv:_http._tcp.a.example",
	} {
		s, err := parse([]string{"-discover", text}, io.Discard)
		if err != nil || s.target.String() != want || !s.own() {
			t.Errorf("%s: %v, %v", text, s.target, err)
		}
	}
}

func TestParse_SeedZeroTakesANewOne(t *testing.T) {
	if s, err := parse([]string{"-seed", "0"}, io.Discard); err != nil || s.seed == 0 {
		t.Errorf("seed %d, error %v", s.seed, err)
	}
}

func TestParse_BadInputIsATypedErrorThatNamesFieldAndValue(t *testing.T) {
	for _, bad := range []struct {
		args, field string
		value       any
		why         error
	}{
		{"-policy fastest", "-policy", "fastest", errUnknownPolicy},
		{"-requests 0", "-requests", 0, errOutOfRange},
		{"-requests -5", "-requests", -5, errOutOfRange},
		{"-requests 1000001", "-requests", 1000001, errOutOfRange},
		{"-concurrency 0", "-concurrency", 0, errOutOfRange},
		{"-concurrency 10001", "-concurrency", 10001, errOutOfRange},
		{"-duration -1s", "-duration", "-1s", errOutOfRange},
		{"-path health", "-path", "health", errBadPath},
		{"-path /%zz", "-path", "/%zz", errBadPath},
		{"-backends localhost", "-backends[0]", "localhost", target.ErrBadPort},
		{"-backends=", "-backends", "", target.ErrEmpty},
		{"-backends me@a:1", "-backends[0]", "me@a:1", target.ErrBadHost},
		{"-backends a:1,:80", "-backends[1]", ":80", target.ErrBadHost},
		{"-backends a:1,", "-backends[1]", "", target.ErrBadPort},
		{"-backends a:http", "-backends[0]", "a:http", target.ErrBadPort},
		{"-backends a:0", "-backends[0]", "a:0", target.ErrBadPort},
		{"-backends a:65536", "-backends[0]", "a:65536", target.ErrBadPort},
		{"-backends a:1,b:1,a:1", "-backends[2]", "a:1", poise.ErrDuplicateIdentity},
		{"-discover static:a:1,b", "-discover[1]", "b", target.ErrBadPort},
		{"-discover static:", "-discover", "static:", target.ErrEmpty},
		{"-discover static", "-discover", "static", target.ErrEmpty},
		{"-discover static:a:1,a:1", "-discover[1]", "a:1", poise.ErrDuplicateIdentity},
		{"-discover file:", "-discover", "file:", target.ErrEmpty},
		{"-discover dns:", "-discover", "dns:", target.ErrEmpty},
		{"-discover dns:a.example", "-discover.dns", "a.example", target.ErrBadPort},
		{"-discover dns::80", "-discover.dns", ":80", target.ErrBadHost},
		{"-discover dns:a.example:0", "-discover.dns", "a.example:0", target.ErrBadPort},
		{"-discover dns:a.example:http", "-discover.dns", "a.example:http", target.ErrBadPort},
		{"-discover dns://a.example:80", "-discover.dns", "//a.example:80", target.ErrNameServer},
		{"-discover=", "-discover", "", target.ErrUnknownScheme},
		{"-discover consul:a:1", "-discover", "consul:a:1", target.ErrUnknownScheme},
		{"-discover a:1", "-discover", "a:1", target.ErrUnknownScheme},
		{"-discover static:a:1 -backends a:1", "-discover", "static:a:1", errTwoSources},
		{"more", "argument", "more", errUnexpected},
		{"-duration soon", "command line", "-duration soon", errUnreadable},
		{"-nonsense", "command line", "-nonsense", errUnreadable},
	} {
		t.Run(bad.args, func(t *testing.T) {
			_, err := parse(strings.Fields(bad.args), io.Discard)
			refused, ok := errors.AsType[*poise.FieldError](err)
			if !ok || refused.Field != bad.field || refused.Value != bad.value || !errors.Is(err, bad.why) {
				t.Errorf("error %#v", err)
			}
			var out, problems strings.Builder
			if code := demo(strings.Fields(bad.args), &out, &problems); code != exitUsage {
				t.Errorf("exit code %d", code)
			}
			if out.Len() > 0 || !strings.Contains(problems.String(), bad.field) {
				t.Errorf("printed %q and %q", out.String(), problems.String())
			}
		})
	}
}

func TestDemo_FailsWhereNoBackendAnswers(t *testing.T) {
	var out, problems strings.Builder
	code := demo(strings.Fields("-backends 127.0.0.1:1 -requests 3 -concurrency 1 -duration 0"), &out, &problems)
	if code != exitBroken || problems.String() != "demo: no backend answered a single request, so the promises show little; are the addresses right?\n" {
		t.Errorf("exit code %d, %q\n%s", code, problems.String(), out.String())
	}
}

func TestParse_AnUnknownPolicyIsToldTheKnownOnes(t *testing.T) {
	_, err := parse([]string{"-policy", "x"}, io.Discard)
	for _, p := range policies {
		if !strings.Contains(err.Error(), p.name) {
			t.Errorf("%q does not name %s", err, p.name)
		}
	}
}

func TestParse_HelpListsEveryFlag(t *testing.T) {
	var out strings.Builder
	if _, err := parse([]string{"-help"}, &out); err != flag.ErrHelp {
		t.Error(err)
	}
	for _, name := range []string{"-policy", "-backends", "-discover", "static:HOST:PORT", "file:PATH", "dns:NAME:PORT", "-path", "-requests", "-concurrency", "-duration", "-seed", "-json", "rendezvous"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("no %s in\n%s", name, out.String())
		}
	}
	if code := demo([]string{"-help"}, io.Discard, io.Discard); code != exitHeld {
		t.Errorf("exit code %d", code)
	}
}
