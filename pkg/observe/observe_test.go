package observe_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/observe"
)

// Cases: B114.
func TestEnumerations_HaveTextsThatCanBeReadBack(t *testing.T) {
	for c := observe.RefusedByPolicy; c <= observe.RefusedClosed; c++ {
		var back observe.RefusalCause
		text, err := c.MarshalText()
		if err != nil || string(text) != c.String() || back.UnmarshalText(text) != nil || back != c {
			t.Errorf("%d is %q and read back %d: %v", c, text, back, err)
		}
	}
	for c := observe.Picked; c <= observe.LastResort; c++ {
		var back observe.Choice
		text, err := c.MarshalText()
		if err != nil || string(text) != c.String() || back.UnmarshalText(text) != nil || back != c {
			t.Errorf("%d is %q and read back %d: %v", c, text, back, err)
		}
	}
	var c observe.Choice
	if err := c.UnmarshalText([]byte("nonsense")); !errors.Is(err, observe.ErrUnknownName) {
		t.Errorf("nonsense is read: %v", err)
	}
	var cause observe.RefusalCause
	if err := cause.UnmarshalText([]byte("nonsense")); !errors.Is(err, observe.ErrUnknownName) {
		t.Errorf("nonsense is read: %v", err)
	}
	for _, unknown := range []uint8{uint8(observe.RefusedClosed) + 1, 99} {
		if _, err := observe.RefusalCause(unknown).MarshalText(); !errors.Is(err, observe.ErrUnknownName) {
			t.Errorf("%d is written: %v", unknown, err)
		}
		if text := observe.RefusalCause(unknown).String(); text != "unknown cause" {
			t.Errorf("%d is %q", unknown, text)
		}
	}
	if observe.Choice(99).String() != "unknown choice" {
		t.Error("99 has a name")
	}
}

func TestRefusalCauseOf_KnowsTheErrorsOfAPick(t *testing.T) {
	for err, want := range map[error]observe.RefusalCause{
		poise.ErrEmpty:                   observe.RefusedEmpty,
		poise.ErrNoEligible:              observe.RefusedNoEligible,
		poise.ErrPanicRejected:           observe.RefusedNoEligible,
		poise.ErrAllTried:                observe.RefusedAllTried,
		&poise.CapacityError{Limit: 3}:   observe.RefusedAtCapacity,
		errors.New("a policy's own"):     observe.RefusedByPolicy,
		errors.Join(poise.ErrAtCapacity): observe.RefusedAtCapacity,
	} {
		if got := observe.RefusalCauseOf(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

// Cases: B114.
func TestEvents_AreReadableInJSON(t *testing.T) {
	e := observe.Ended{ID: "a", Incarnation: 3, Attempt: 1, Choice: observe.Trial, Began: time.Unix(1, 0).UTC(), At: time.Unix(2, 0).UTC()}
	text, err := json.Marshal(e)
	want := `{"ID":"a","Incarnation":3,"Attempt":1,"Choice":"trial","Outcome":"success","Late":"success",` +
		`"Began":"1970-01-01T00:00:01Z","Answered":"0001-01-01T00:00:00Z","At":"1970-01-01T00:00:02Z"}`
	if err != nil || string(text) != want {
		t.Errorf("it is %s: %v", text, err)
	}
	r := observe.Refusal{At: time.Unix(1, 0).UTC(), Attempt: 1, Cause: observe.RefusedAtCapacity, Err: poise.ErrAtCapacity, Members: 2, Eligible: 1}
	text, err = json.Marshal(r)
	want = `{"At":"1970-01-01T00:00:01Z","Attempt":1,"Cause":"at capacity","Err":"poise: at capacity","Members":2,"Eligible":1}`
	if err != nil || string(text) != want {
		t.Errorf("it is %s: %v", text, err)
	}
}

func TestNobody_DoesNothing(t *testing.T) {
	var o observe.Observer = observe.Nobody{}
	o.Refused(observe.Refusal{})
	o.Ended(observe.Ended{})
	o.Published(observe.Published{})
}
