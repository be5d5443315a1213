package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/discovery"
)

// DirectoryConfig are the settings of a DirectorySource. Values of V are plain, such
// as an address: Equal of the Directory tells whether two say the same.
type DirectoryConfig[V any, E comparable] struct {
	_ struct{}
	// Directory says who exists. Required.
	Directory *discovery.Directory[V]
	// Connect makes the endpoint of an incarnation: a new one each time. Required.
	// What depends on a value that may change belongs to Describe.
	//
	// It runs in New and on the Balancer's goroutine, under no lock. Changes wait for
	// it, so it should leave the dialing to the calls.
	Connect func(discovery.Member[V]) (E, error)
	// Describe says what else there is to say of a member: weight, status, priority,
	// locality, limit. It is asked about every member of each list, and what it says
	// takes effect without a new endpoint. ID and Endpoint are ignored. It runs where
	// Connect does. nil: every member has the defaults.
	Describe func(discovery.Member[V]) (Member[E], error)
	// FailClosed has the Balancer refuse every call with ErrSourceClosed from when the
	// Directory is closed. The default is to go on with its last list.
	FailClosed bool
}

// DirectorySource returns a Source that has the members of a Directory, or a
// [poise.FieldError]. A member for which Connect or Describe fails is left out, and
// the others are served.
//
// # Contract
//
//   - A Balancer has the members and incarnations of the newest snapshot of its Directory, and one endpoint for each incarnation.
//   - A member that drains in the Directory gets no new call, whatever SetStatus and Describe say of it.
//   - A draining member leaves the Directory when its last call has ended or DrainFor is over, and no call is cut short.
func DirectorySource[V any, E comparable](cfg DirectoryConfig[V, E]) (Source[E], error) {
	switch {
	case cfg.Directory == nil:
		return nil, refuse("Directory", nil, ErrMissing)
	case cfg.Connect == nil:
		return nil, refuse("Connect", nil, ErrMissing)
	}
	return &directorySource[V, E]{cfg}, nil
}

type directorySource[V any, E comparable] struct{ cfg DirectoryConfig[V, E] }

func (d *directorySource[V, E]) Watch(ctx context.Context, changed func()) {
	for range d.cfg.Directory.Cursor().All(ctx) {
		changed()
	}
}

func (d *directorySource[V, E]) Revision() uint64 { return d.cfg.Directory.Load().Revision() }

func (d *directorySource[V, E]) Failed() bool {
	return d.cfg.FailClosed && d.cfg.Directory.Closed()
}

func (d *directorySource[V, E]) FinishDrains(now time.Time, outstanding func(uint64) uint64) (time.Duration, error) {
	drains, err := d.cfg.Directory.FinishDrains(now, func(m discovery.Member[V]) uint64 { return outstanding(m.Incarnation) })
	if errors.Is(err, discovery.ErrClosed) {
		err = nil // the last list stays as it is
	}
	return drains.Wait, err
}

func (d *directorySource[V, E]) Take(known func(uint64) (E, bool)) SourceList[E] {
	snapshot := d.cfg.Directory.Load()
	list := SourceList[E]{Revision: snapshot.Revision()}
	for _, m := range snapshot.All() {
		member, connected, err := d.take(m, known)
		if err != nil {
			list.Left = append(list.Left, &MemberError{ID: m.ID, Incarnation: m.Incarnation, Err: err})
			continue
		}
		list.Members = append(list.Members, member)
		list.Incarnations = append(list.Incarnations, m.Incarnation)
		list.Connected = append(list.Connected, connected)
	}
	return list
}

// take returns one member. A panic of a function of the caller becomes an error, and
// must end neither the process nor the following of changes.
func (d *directorySource[V, E]) take(m discovery.Member[V], known func(uint64) (E, bool)) (member Member[E], connected bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrMemberPanic, v)
		}
	}()
	if d.cfg.Describe != nil {
		if member, err = d.cfg.Describe(m); err != nil {
			return member, false, err
		}
	}
	member.ID = m.ID
	if m.Draining {
		member.Status = poise.Draining
	}
	endpoint, has := known(m.Incarnation)
	if !has {
		endpoint, err = d.cfg.Connect(m)
	}
	member.Endpoint = endpoint
	return member, !has, err
}
