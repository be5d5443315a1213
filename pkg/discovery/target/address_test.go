package target_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

func TestParseAddress_ReturnsOneFormOfEach(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1:80":             "10.0.0.1:80",
		"[2001:DB8::1]:80":        "[2001:db8::1]:80",
		"[::ffff:10.0.0.1]:80":    "10.0.0.1:80",
		"[fe80::1%eth0.2]:80":     "[fe80::1%eth0.2]:80",
		"Orders.Internal:08080":   "orders.internal:8080",
		"orders.internal.:80":     "orders.internal.:80",
		"my_service:65535":        "my_service:65535",
		"xn--bcher-kva.example:1": "xn--bcher-kva.example:1",
		"a-b.c2:9":                "a-b.c2:9",
	} {
		if got, err := target.ParseAddress(text); err != nil || got != want {
			t.Errorf("%q became %q, want %q (%v)", text, got, want, err)
		}
	}
}

// Claim: ParseAddress refuses every text with a byte that no host name, IP address or port has.
//
// Cases: B105.
func TestParseAddress_RefusesWhatIsNone(t *testing.T) {
	for text, want := range map[string]error{
		"\ufeff10.0.0.1:80":                target.ErrBadHost,
		"a,b:80":                           target.ErrBadHost,
		`"a":80`:                           target.ErrBadHost,
		"a b:80":                           target.ErrBadHost,
		"a\r\nHost: x:80":                  target.ErrBadHost,
		"bücher:80":                        target.ErrBadHost,
		"user@a:80":                        target.ErrBadHost,
		"a/b:80":                           target.ErrBadHost,
		":80":                              target.ErrBadHost,
		"a..b:80":                          target.ErrBadHost,
		".:80":                             target.ErrBadHost,
		"-a:80":                            target.ErrBadHost,
		"a-:80":                            target.ErrBadHost,
		"10.0.0.256:80":                    target.ErrBadHost,
		"10.0.1:80":                        target.ErrBadHost,
		"2001:db8::1:80":                   target.ErrBadHost,
		"[2001:db8::1]":                    target.ErrBadHost,
		"[fe80::1%a\nb]:80":                target.ErrBadHost,
		"[a]:80":                           target.ErrBadHost,
		strings.Repeat("a", 64) + ":80":    target.ErrBadHost,
		strings.Repeat("a.", 128) + "b:80": target.ErrBadHost,
		"a":                                target.ErrBadPort,
		"":                                 target.ErrBadPort,
		"a:":                               target.ErrBadPort,
		"a:0":                              target.ErrBadPort,
		"10.0.0.1:0":                       target.ErrBadPort,
		"a:65536":                          target.ErrBadPort,
		"a:+80":                            target.ErrBadPort,
		"a:http":                           target.ErrBadPort,
		"a:80 ":                            target.ErrBadPort,
	} {
		got, err := target.ParseAddress(text)
		refused, ok := errors.AsType[*poise.FieldError](err)
		if got != "" || !errors.Is(err, want) || !ok || refused.Field != "address" {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		if strings.ContainsAny(err.Error(), "\r\n\ufeff") || len(err.Error()) > 300 {
			t.Errorf("the error is not to be printed: %q", err.Error())
		}
	}
}

// Claim: ParseAddress returns a host:port that it returns unchanged when it is given that.
func TestParseAddress_LawOfTheCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9._-]{1,20}:[0-9]{1,6}`),
			rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3}){3}:[0-9]{1,5}`),
			rapid.StringMatching(`\[[0-9A-F:]{2,12}(%[a-z0-9"]{1,3})?\]:[0-9]{1,5}`),
			rapid.String(),
		).Draw(t, "text")
		got, err := target.ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := target.ParseAddress(got); err != nil || again != got {
			t.Fatalf("%q became %q and then %q (%v)", text, got, again, err)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]%ABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
		}); i >= 0 {
			t.Fatalf("%q has the byte %q", got, got[i])
		}
	})
}
