package discovery_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// Cases: B114.
func TestEnumerations_HaveTextAndJSONForms(t *testing.T) {
	for e := discovery.Unchanged; e <= discovery.Removed; e++ {
		var back discovery.Effect
		if text, err := json.Marshal(e); err != nil || string(text) != `"`+e.String()+`"` || json.Unmarshal(text, &back) != nil || back != e {
			t.Errorf("%v is %s in JSON, which is read as %v (%v)", e, text, back, err)
		}
	}
	for o := discovery.Upsert; o <= discovery.Remove; o++ {
		var back discovery.Op
		if text, err := json.Marshal(o); err != nil || string(text) != `"`+o.String()+`"` || json.Unmarshal(text, &back) != nil || back != o {
			t.Errorf("%v is %s in JSON, which is read as %v (%v)", o, text, back, err)
		}
	}
	for _, none := range []interface{ MarshalText() ([]byte, error) }{discovery.Removed + 1, discovery.Remove + 1} {
		if _, err := none.MarshalText(); !errors.Is(err, discovery.ErrOutOfRange) {
			t.Errorf("%v has a text: %v", none, err)
		}
	}
	effect, op := discovery.Kept, discovery.Add
	if err := effect.UnmarshalText([]byte("gone")); !errors.Is(err, discovery.ErrOutOfRange) || effect != discovery.Kept {
		t.Errorf("nonsense is read as %v: %v", effect, err)
	}
	if err := op.UnmarshalText([]byte("gone")); !errors.Is(err, discovery.ErrOutOfRange) || op != discovery.Add {
		t.Errorf("nonsense is read as %v: %v", op, err)
	}
}
