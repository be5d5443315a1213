package poisegrpc_test

import (
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/copyleftdev/poise-go/adapters/poisegrpc"
	poise "github.com/copyleftdev/poise-go/pkg"
)

// A service config with a value that cannot be used is refused, and fields that are not known are ignored.
func TestParseConfig_RefusesWhatItCannotUse(t *testing.T) {
	b := poisegrpc.NewBuilder("x", poisegrpc.Config{})
	for text, field := range map[string]string{
		`{"policy": "best"}`:                                 "policy",
		`{"policy": "Round_Robin"}`:                          "policy",
		`{"topology": "zone"}`:                               "topology",
		`{"policy": "maglev"}`:                               "keyMetadata",
		`{"policy": "maglev", "keyMetadata": "User"}`:        "keyMetadata",
		`{"policy": "ring_hash", "topology": "priority"}`:    "keyMetadata",
		`{"policy": "rendezvous", "passiveHealthOff": true}`: "keyMetadata",
	} {
		_, err := b.ParseConfig(json.RawMessage(text))
		var refused *poise.FieldError
		if !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{"limit": -1}`, `{"limit": "many"}`, `{"policy": 3}`, `[]`, `{`} {
		if _, err := b.ParseConfig(json.RawMessage(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	for _, text := range []string{``, `{}`, `{"to come": {"a": 1}}`, `{"topology": "locality", "limit": 7}`, `{"policy": "maglev", "keyMetadata": "user"}`} {
		if _, err := b.ParseConfig(json.RawMessage(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	keyed := poisegrpc.NewBuilder("x", poisegrpc.Config{Key: func(balancer.PickInfo) poise.Key { return poise.StringKey("k") }})
	if _, err := keyed.ParseConfig(json.RawMessage(`{"policy": "maglev"}`)); err != nil {
		t.Errorf("with a key of its own: %v", err)
	}
	if b.Name() != "x" {
		t.Errorf("its name is %s", b.Name())
	}
}

func TestAttributes_AreReadBack(t *testing.T) {
	want := poisegrpc.Attributes{Priority: 3, Locality: "a", Status: poise.Draining, Limit: 4}
	if got := poisegrpc.AttributesOf(poisegrpc.WithAttributes(resolver.Endpoint{}, want)); got != want {
		t.Errorf("they are %+v, want %+v", got, want)
	}
	if got := poisegrpc.AttributesOf(resolver.Endpoint{}); got != (poisegrpc.Attributes{}) {
		t.Errorf("of none they are %+v", got)
	}
}
