package target_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery/target"
)

// Claim: Parse of the String of a Target returns that Target.
func TestParse_KnowsItsSchemes(t *testing.T) {
	for _, row := range []struct {
		text, canonical string
		scheme          target.Scheme
		hosts           []string
	}{
		{"static:A:80,b:80", "static:a:80,b:80", target.Static, []string{"a", "b"}},
		{"static:a:80,a:81,[::1]:80", "static:a:80,a:81,[::1]:80", target.Static, []string{"a", "::1"}},
		{"file:backends.txt", "file:backends.txt", target.File, nil},
		{"file:///etc/backends.txt", "file:/etc/backends.txt", target.File, nil},
		{"file:////etc/backends.txt", "file:/etc/backends.txt", target.File, nil},
		{"dns:orders.internal:8080", "dns:orders.internal:8080", target.DNS, []string{"orders.internal"}},
		{"dns:///orders.internal:8080", "dns:orders.internal:8080", target.DNS, []string{"orders.internal"}},
		{"dns+srv:_http._tcp.orders.internal", "dns+srv:_http._tcp.orders.internal", target.SRV, []string{"orders.internal"}},
		{"dns+srv:_http._tcp", "dns+srv:_http._tcp", target.SRV, []string{"_http._tcp"}},
		{"dns+srv:orders", "dns+srv:orders", target.SRV, []string{"orders"}},
	} {
		got, err := target.Parse(row.text)
		if err != nil || got.String() != row.canonical || got.Scheme() != row.scheme || !slices.Equal(got.Hosts(), row.hosts) {
			t.Errorf("%s became %v, %v, %v (%v)", row.text, got, got.Scheme(), got.Hosts(), err)
		}
		if again, err := target.Parse(got.String()); err != nil || again != got {
			t.Errorf("%s became %v (%v)", got, again, err)
		}
		var back struct{ Target target.Target }
		text, err := json.Marshal(struct{ Target target.Target }{got})
		if err != nil || json.Unmarshal(text, &back) != nil || back.Target != got {
			t.Errorf("%v is %s in JSON (%v)", got, text, err)
		}
	}
}

// Claim: Parse refuses dns://host:port, and says why and what to write instead.
// Claim: Parse refuses a static target that names an address twice.
//
// Cases: B42, B105.
func TestParse_RefusesWhatIsNoTarget(t *testing.T) {
	for text, want := range map[string]struct {
		field string
		err   error
	}{
		"":                      {"target", target.ErrUnknownScheme},
		"orders:80":             {"target", target.ErrUnknownScheme},
		"DNS:a:80":              {"target", target.ErrUnknownScheme},
		"static":                {"target", target.ErrEmpty},
		"dns:":                  {"target", target.ErrEmpty},
		"static:a:80,":          {"target.static[1]", target.ErrBadPort},
		"static:a:80,b c:80":    {"target.static[1]", target.ErrBadHost},
		"static:a:80,A:080":     {"target.static[1]", poise.ErrDuplicateIdentity},
		"file://server/a":       {"target.file", target.ErrFileHost},
		"file:a/":               {"target.file", target.ErrEmpty},
		"dns://8.8.8.8/a:80":    {"target.dns", target.ErrNameServer},
		"dns://orders:8080":     {"target.dns", target.ErrNameServer},
		"dns:orders":            {"target.dns", target.ErrBadPort},
		"dns:///":               {"target.dns", target.ErrBadPort},
		"dns+srv:orders:80":     {"target.dns+srv", target.ErrBadHost},
		"dns+srv:_http._tcp.\n": {"target.dns+srv", target.ErrBadHost},
	} {
		got, err := target.Parse(text)
		refused, ok := errors.AsType[*poise.FieldError](err)
		if got != (target.Target{}) || !ok || refused.Field != want.field || !errors.Is(err, want.err) {
			t.Errorf("%q became %v, %v", text, got, err)
		}
	}
	if _, err := target.Parse("dns://orders:8080"); !strings.Contains(err.Error(), "name server") || !strings.Contains(err.Error(), "dns:host:port") {
		t.Errorf("the error explains nothing: %v", err)
	}
	kept := target.Target{}
	if err := kept.UnmarshalText([]byte("nonsense")); err == nil || kept != (target.Target{}) {
		t.Errorf("nonsense became %v", kept)
	}
}

func TestScheme_HasATextForm(t *testing.T) {
	for s := target.Static; s <= target.SRV; s++ {
		var back target.Scheme
		text, err := s.MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != s || string(text) != s.String() {
			t.Errorf("%v is %s (%v)", s, text, err)
		}
	}
	none := target.SRV + 1
	if _, err := none.MarshalText(); !errors.Is(err, target.ErrUnknownScheme) || none.String() != "no scheme" {
		t.Errorf("%v: %v", none, err)
	}
	if err := none.UnmarshalText([]byte("http")); !errors.Is(err, target.ErrUnknownScheme) {
		t.Errorf("http is a scheme: %v", err)
	}
}
