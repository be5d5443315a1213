//go:build interleave

package walk

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing/synctest"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// balancer is a Balancer in a world whose policy, endpoints, operator and time do
// what the graph says. It is made inside a bubble of testing/synctest, whose clock
// stands still but for passTime.
type balancer struct {
	*poisehttp.Balancer
	run *driver
}

// aside is the longest time aside, and longer than any walk takes.
const aside = time.Hour

// read reads an unexported field of what the Balancer holds, at the path.
func (b *balancer) read(path ...string) any { return dig(b.Balancer, path...) }

// dig reads a field of a field, through pointers.
func dig(object any, path ...string) any {
	for _, name := range path {
		object = replay.Field(object, name)
	}
	return object
}

// each returns the elements of a slice of a type that only its package can name.
func each(slice any) (elements []any) {
	v := reflect.ValueOf(slice)
	for i := range v.Len() {
		elements = append(elements, v.Index(i).Interface())
	}
	return elements
}

// endpoint is an endpoint that stops the call until the graph says what it answers.
type endpoint struct {
	run    *driver
	place  string
	answer func(*http.Request) (*http.Response, error)
	closed int
}

func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	e.run.halt(e.place)
	return e.answer(req)
}

func (e *endpoint) Close() error {
	e.closed++
	return nil
}

var errBroken = errors.New("broken")

// timer returns the timer of the control loop, and whether it is set. It is held
// back: set again, it would not ring before any walk has ended.
func (b *balancer) timer() (timer *time.Timer, set bool) {
	timer = b.read("timer").(*time.Timer)
	if set = timer.Stop(); set {
		timer.Reset(100 * aside)
	}
	return timer, set
}

// passTime lets every time aside come to its end. The timer is held back.
func (b *balancer) passTime() {
	b.timer()
	<-time.After(aside)
}

// ring lets the timer ring.
func (b *balancer) ring() error {
	timer, set := b.timer()
	if !set {
		return errors.New("the timer is not set")
	}
	timer.Reset(1)
	<-time.After(1)
	synctest.Wait()
	return nil
}

// poked reports whether the control loop was told to look.
func (b *balancer) poked() bool { return b.read("kick", "fired").(bool) }

// members returns the published members.
func (b *balancer) members() []any { return each(b.read("current", "members")) }

// isOver reports whether a quarantine would end at a look.
func isOver(quarantine any) bool {
	q := func(name string) any { return replay.Field(quarantine, name) }
	return q("aside").(bool) && time.Since(q("since").(time.Time)) >= q("wait").(time.Duration)
}

// carrier is a policy that carries a table from one Picker to the next.
type carrier struct {
	name   string
	policy func() (poise.Policy, error)
	field  string // of its Pickers, which holds the table
	list   string // of the table, which holds the members
}

// table is the newest table of a carrier, and the identities that it was made of.
func (c carrier) table(picker poise.Picker) (table any, ids []string) {
	table = replay.Field(picker, c.field)
	if reflect.ValueOf(table).IsNil() {
		return table, nil
	}
	for _, member := range each(replay.Field(table, c.list)) {
		if id, ok := member.(string); ok {
			ids = append(ids, id)
			continue
		}
		ids = append(ids, reflect.ValueOf(member).FieldByName("id").String())
	}
	return table, ids
}

// name returns the identity of a member as the specification numbers it.
func name(m int) string { return fmt.Sprint(m) }
