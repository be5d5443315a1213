package fuzz

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// Claim: Parse of the String of a Target returns that Target.
//
// Claim: ParseAddress returns a host:port that it returns unchanged when it is given that.
//
// Cases: B105.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{
		"static:a:80,b:80", "file:a/b.txt", "file:///a", "file:////a", "dns:orders:80", "dns:///orders:80", "dns://orders:80",
		"dns+srv:_http._tcp.orders", "static:[::1%eth0]:80,[::ffff:1.2.3.4]:1", "static:\ufeffa:80", "dns:\"a\":80", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := target.Parse(text)
		if err != nil {
			if refused, ok := errors.AsType[*poise.FieldError](err); !ok || !strings.HasPrefix(refused.Field, "target") || parsed != (target.Target{}) {
				t.Fatalf("%q became %v, %v", text, parsed, err)
			}
			if i := strings.IndexFunc(err.Error(), func(r rune) bool { return !strconv.IsPrint(r) }); i >= 0 {
				t.Fatalf("the refusal of %q prints %q", text, err)
			}
			return
		}
		if again, err := target.Parse(parsed.String()); err != nil || again != parsed {
			t.Fatalf("%q became %v and then %v (%v)", text, parsed, again, err)
		}
		for _, host := range parsed.Hosts() {
			if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`",/@\`, r) }) {
				t.Fatalf("%q names the host %q", text, host)
			}
		}
		if parsed.Scheme() == target.Static {
			for _, address := range strings.Split(strings.TrimPrefix(parsed.String(), "static:"), ",") {
				if same, err := target.ParseAddress(address); err != nil || same != address {
					t.Fatalf("%q has the address %q, which becomes %q (%v)", text, address, same, err)
				}
			}
		}
	})
}
