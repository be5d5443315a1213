package enum_test

import (
	"errors"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/internal/enum"
)

type colour uint8

var (
	names  = []string{"red", "green"}
	errBad = errors.New("bad")
)

func TestEnum_WritesAndReadsNames(t *testing.T) {
	for i, name := range names {
		text, err := enum.Marshal(colour(i), names, errBad)
		back := colour(9)
		if err != nil || string(text) != name || enum.Unmarshal(&back, text, names, errBad) != nil || back != colour(i) {
			t.Errorf("%s became %s and then %d (%v)", name, text, back, err)
		}
		if got := enum.String(colour(i), names, "none"); got != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
	if got := enum.String(colour(2), names, "none"); got != "none" {
		t.Errorf("a value without a name is %s", got)
	}
	if _, err := enum.Marshal(colour(2), names, errBad); !errors.Is(err, errBad) {
		t.Errorf("a value without a name is written: %v", err)
	}
	value := colour(1)
	if err := enum.Unmarshal(&value, []byte("Red"), names, errBad); !errors.Is(err, errBad) || value != 1 {
		t.Errorf("another text is read: %v, %d", err, value)
	}
}
