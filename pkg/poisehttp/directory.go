package poisehttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// Membership is a Directory together with how its members become endpoints, for a
// Balancer to follow: Config.Membership. It keeps nothing, so several Balancers may
// have one; each connects for itself.
//
// A Membership is made by NewMembership.
type Membership struct{ directory directory }

// MembershipConfig are the settings of a Membership. Values of V are plain, such as
// an address: sources fetch them anew each time, and Equal of the Directory tells
// whether they say the same.
type MembershipConfig[V any] struct {
	_ struct{}
	// Directory says who exists. Required.
	Directory *discovery.Directory[V]
	// Connect makes the Endpoint of an incarnation: a new one each time. Required.
	// What depends on a value that may change belongs to Describe.
	//
	// It runs in New and on the Balancer's goroutine, under no lock. Changes wait for
	// it, so it should leave the dialing to the calls.
	Connect func(discovery.Member[V]) (Endpoint, error)
	// Describe says what else there is to say of a member: weight, status, priority,
	// locality. It is asked about every member of each snapshot, and what it says
	// takes effect without a new Endpoint; only its Limit is that of the
	// incarnation's first description. ID and Endpoint are ignored. It runs where
	// Connect does. nil: every member has the defaults.
	Describe func(discovery.Member[V]) (Member, error)
	// FailClosed has the Balancer refuse every call and change with
	// ErrDirectoryClosed from when the Directory is closed. The default is to go on
	// with its last snapshot.
	FailClosed bool
}

// NewMembership returns a Membership, or a [poise.FieldError].
func NewMembership[V any](cfg MembershipConfig[V]) (*Membership, error) {
	switch {
	case cfg.Directory == nil:
		return nil, &poise.FieldError{Field: "Directory", Err: ErrMissing}
	case cfg.Connect == nil:
		return nil, &poise.FieldError{Field: "Connect", Err: ErrMissing}
	}
	return &Membership{directoryOf[V]{cfg}}, nil
}

// MemberError is why the Balancer cannot take a member of a directory, and so the
// whole snapshot.
type MemberError struct {
	// ID and Incarnation are those of the member.
	ID          string
	Incarnation uint64
	// Err is the error of Connect or Describe, or what is wrong with the Endpoint.
	Err error
}

// Error names the member and the cause.
func (e *MemberError) Error() string {
	return fmt.Sprintf("poisehttp: member %q, incarnation %d: %v", e.ID, e.Incarnation, e.Err)
}

// Unwrap returns the cause.
func (e *MemberError) Unwrap() error { return e.Err }

// directory is a Directory as a Balancer sees it, whatever its values are.
type directory interface {
	// newest returns the newest snapshot.
	newest() roster
	// watch runs the function after each change, until ctx has ended or no more
	// changes come.
	watch(ctx context.Context, changed func())
	// failed reports whether nothing may be called any more.
	failed() bool
	// finishDrains ends the drains that are over, and returns the time until the next
	// one must be; 0 for none.
	finishDrains(now time.Time, outstanding func(incarnation uint64) uint64) (time.Duration, error)
}

// roster is a snapshot as a Balancer sees it.
type roster interface {
	Revision() uint64
	// incarnations returns those of the members, in order.
	incarnations() []uint64
	// describe returns member i without an Endpoint, and whether it drains.
	describe(i int) (m Member, drains bool, err error)
	// connect makes the Endpoint of member i.
	connect(i int) (Endpoint, error)
}

type directoryOf[V any] struct{ cfg MembershipConfig[V] }

func (d directoryOf[V]) newest() roster { return rosterOf[V]{d.cfg.Directory.Load(), d} }

func (d directoryOf[V]) watch(ctx context.Context, changed func()) {
	for range d.cfg.Directory.Cursor().All(ctx) {
		changed()
	}
}

func (d directoryOf[V]) failed() bool { return d.cfg.FailClosed && d.cfg.Directory.Closed() }

func (d directoryOf[V]) finishDrains(now time.Time, outstanding func(uint64) uint64) (time.Duration, error) {
	drains, err := d.cfg.Directory.FinishDrains(now, func(m discovery.Member[V]) uint64 { return outstanding(m.Incarnation) })
	if errors.Is(err, discovery.ErrClosed) {
		err = nil // the last snapshot stays as it is
	}
	return drains.Wait, err
}

type rosterOf[V any] struct {
	*discovery.Snapshot[V]
	from directoryOf[V]
}

func (r rosterOf[V]) incarnations() []uint64 {
	all := make([]uint64, r.Len())
	for i, m := range r.All() {
		all[i] = m.Incarnation
	}
	return all
}

func (r rosterOf[V]) describe(i int) (spec Member, drains bool, err error) {
	m, _ := r.At(i)
	if describe := r.from.cfg.Describe; describe != nil {
		err = r.ask(m, func() (err error) { spec, err = describe(m); return err })
	}
	spec.ID, spec.Endpoint = m.ID, nil
	return spec, m.Draining, err
}

func (r rosterOf[V]) connect(i int) (endpoint Endpoint, err error) {
	m, _ := r.At(i)
	err = r.ask(m, func() (err error) { endpoint, err = r.from.cfg.Connect(m); return err })
	return endpoint, err
}

// ask runs a function of the caller about a member. A panic of it becomes an error,
// and must end neither the process nor the following of changes.
func (r rosterOf[V]) ask(m discovery.Member[V], f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrMemberPanic, v)
		}
		if err != nil {
			err = &MemberError{ID: m.ID, Incarnation: m.Incarnation, Err: err}
		}
	}()
	return f()
}
