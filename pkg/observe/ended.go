package observe

import (
	"encoding/json"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// Ended is one attempt that has ended.
type Ended struct {
	_ struct{}
	// ID and Incarnation name the member.
	ID          string
	Incarnation uint64
	// Attempt is the number of the attempt in its call, from 1.
	Attempt int
	// Choice is how the attempt came to the member.
	Choice Choice
	// Result is what became of it: as judged when the answer began, if it did, and
	// else at its end.
	Result poise.Result
	// Late is what became of an answer that had begun, as told at the end.
	Late poise.Result
	// Began and At are the instants of admission and of the end. Answered is when the
	// answer began; the zero time if it never did.
	Began, Answered, At time.Time
}

// MarshalJSON writes the event with its results as words. Errors are their texts.
func (e Ended) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID          string
		Incarnation uint64
		Attempt     int
		Choice      Choice
		Outcome     poise.Outcome
		Err         string        `json:",omitempty"`
		RetryAfter  time.Duration `json:",omitempty"`
		Late        poise.Outcome
		LateErr     string `json:",omitempty"`
		Began       time.Time
		Answered    time.Time
		At          time.Time
	}{
		e.ID, e.Incarnation, e.Attempt, e.Choice, e.Result.Outcome, text(e.Result.Err), e.Result.RetryAfter,
		e.Late.Outcome, text(e.Late.Err), e.Began, e.Answered, e.At,
	})
}

// Choice is how an attempt came to its member. It is a fixed enumeration, so it can
// label a metric.
//
// The zero value is Picked.
type Choice uint8

const (
	// Picked: the policy picked it.
	Picked Choice = iota
	// Trial: the member was ejected, and the attempt found out whether it still has
	// to be.
	Trial
	// Diverted: the policy picked a suspect, and the attempt shows whether its calls are
	// at fault.
	Diverted
	// Room: the picks of the policy found nobody with room, and the member had some.
	Room
	// Again: all others were tried, and of those tried it was tried least recently.
	Again
	// LastResort: nobody else was left, and of the ejected it was tried least
	// recently.
	LastResort
	choices
)

var choiceNames = [choices]string{"picked", "trial", "diverted", "room", "again", "last resort"}

// String returns the choice in lower case.
func (c Choice) String() string { return name(choiceNames[:], c, "unknown choice") }

// MarshalText returns String, or ErrUnknownName for a number outside the enumeration.
func (c Choice) MarshalText() ([]byte, error) { return marshal(choiceNames[:], c) }

// UnmarshalText reads what MarshalText wrote.
func (c *Choice) UnmarshalText(text []byte) error { return unmarshal(choiceNames[:], c, text) }
