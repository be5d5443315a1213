package observe_test

import (
	"slices"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/observe"
)

// diary is an Observer that writes down what it is told, and panics if it is to.
type diary struct {
	name   string
	into   *[]string
	panics bool
}

func (d diary) write(what string) {
	*d.into = append(*d.into, d.name+" "+what)
	if d.panics {
		panic(d.name)
	}
}

func (d diary) Refused(observe.Refusal)     { d.write("refused") }
func (d diary) Ended(observe.Ended)         { d.write("ended") }
func (d diary) Published(observe.Published) { d.write("published") }

// Claim: A Fanout tells its Observers in their order.
//
// Claim: A panic of an Observer of a Fanout keeps none of the others from being told.
func TestFanout_TellsEverybodyInOrder(t *testing.T) {
	var told []string
	var f observe.Observer = observe.Fanout{diary{"a", &told, true}, nil, diary{"b", &told, false}}
	f.Refused(observe.Refusal{})
	f.Ended(observe.Ended{})
	f.Published(observe.Published{})
	if want := []string{"a refused", "b refused", "a ended", "b ended", "a published", "b published"}; !slices.Equal(told, want) {
		t.Errorf("told were %q, want %q", told, want)
	}
	observe.Fanout(nil).Ended(observe.Ended{})
}

func TestFanout_AllocatesNothing(t *testing.T) {
	f := observe.Fanout{new(observe.Metrics), new(observe.Metrics)}
	if n := testing.AllocsPerRun(100, func() { f.Ended(observe.Ended{}) }); n != 0 {
		t.Errorf("to tell two allocates %v times", n)
	}
}
