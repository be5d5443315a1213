package replay_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// lives is a Balancer, the list that it has, and the calls that are held. It is made
// inside a bubble of testing/synctest, where waiting is for its goroutine to rest.
type lives struct {
	*dispatch.Balancer[*servant]
	endpoints []*servant // from 1
	list      map[int]dispatch.Member[*servant]
	ids       int
	wanted    string // whom the policy picks next
	held      map[string]*dispatch.Call
	budget    map[string]int // what is left of updates and changes
}

// servant is an endpoint that counts how often it was closed.
type servant struct{ number, closed int }

func (l *lives) Prepare(v *poise.View) (poise.Picker, error) { return wanting{l, v}, nil }

// wanting is a Picker that tries whom the graph wants.
type wanting struct {
	of   *lives
	view *poise.View
}

func (w wanting) Pick(q poise.Query) (poise.Selection, error) {
	at, found := w.view.Lookup(w.of.wanted)
	if !found || w.view.Reason(at) != poise.NotExcluded || q.Tried != nil && q.Tried.Has(w.of.wanted, 0) {
		return poise.Selection{}, poise.ErrNotEligible
	}
	return w.view.Select(at)
}

// open is the Balancer of the walk before: its goroutine has to end.
var open *lives

func newLives(constants, initial replay.Record) (*lives, error) {
	l := &lives{
		endpoints: []*servant{nil}, list: map[int]dispatch.Member[*servant]{}, ids: constants["N"].Int(),
		held: map[string]*dispatch.Call{},
	}
	l.budget = map[string]int{"updates": constants["Updates"].Int(), "changes": constants["Changes"].Int()}
	for e := range constants["Endpoints"].Int() {
		l.endpoints = append(l.endpoints, &servant{number: e + 1})
	}
	for i, e := range initial["at"].Elements() {
		l.enter(i+1, e.Int(), "ready")
	}
	var err error
	l.Balancer, err = dispatch.New(dispatch.Config[*servant]{
		Loop: dispatch.LoopConfig{Policy: l}, Members: l.members(),
		Close: func(e *servant) error { e.closed++; return nil },
	})
	if err != nil {
		return nil, err
	}
	closeLives()
	open = l
	synctest.Wait()
	return l, nil
}

var statuses = map[string]poise.Status{"ready": poise.Ready, "draining": poise.Draining}

// enter writes the endpoint of an identity into the list; 0 takes it out.
func (l *lives) enter(id, endpoint int, status string) {
	if delete(l.list, id); endpoint != 0 {
		l.list[id] = dispatch.Member[*servant]{ID: strconv.Itoa(id), Endpoint: l.endpoints[endpoint], Status: statuses[status]}
	}
}

func (l *lives) members() (list []dispatch.Member[*servant]) {
	for id := 1; id <= l.ids; id++ {
		if m, listed := l.list[id]; listed {
			list = append(list, m)
		}
	}
	return list
}

func (l *lives) update(args replay.Record) (any, error) {
	id := args["id"].Int()
	before, had := l.list[id]
	l.enter(id, args["endpoint"].Int(), args["status"].Str())
	err := l.Update(l.members())
	synctest.Wait()
	if errors.Is(err, dispatch.ErrSharedEndpoint) {
		if delete(l.list, id); had {
			l.list[id] = before
		}
		return "shared", nil
	}
	l.budget["updates"]--
	return "", err
}

func (l *lives) call(by, id string) (any, error) {
	l.wanted = id
	c := new(dispatch.Call)
	err := l.Acquire(context.Background(), dispatch.Query{}, c)
	switch {
	case errors.Is(err, poise.ErrNotEligible):
		return "not eligible", nil
	case err != nil:
		return nil, err
	}
	l.held[by] = c
	return "admitted", nil
}

func livesMapping() replay.Mapping[*lives] {
	return replay.Mapping[*lives]{
		New: newLives,
		Apply: map[string]func(*lives, replay.Record) (any, error){
			"(*Balancer).Update": func(l *lives, args replay.Record) (any, error) { return l.update(args["args"].Fields()) },
			"(*Balancer).SetStatus": func(l *lives, args replay.Record) (any, error) {
				said := args["args"].Fields()
				l.budget["changes"]--
				err := l.SetStatus(strconv.Itoa(said["id"].Int()), statuses[said["status"].Str()])
				if errors.Is(err, dispatch.ErrUnknownMember) {
					return "unknown", nil
				}
				return "", err
			},
			"(*Balancer).Acquire": func(l *lives, args replay.Record) (any, error) {
				return l.call(args["by"].Str(), strconv.Itoa(args["args"].Fields()["id"].Int()))
			},
			"(*Call).End": func(l *lives, args replay.Record) (any, error) {
				by := args["by"].Str()
				if !l.held[by].End(poise.Result{}, l.held[by].Began()) {
					return nil, errors.New("the call has ended before")
				}
				delete(l.held, by)
				synctest.Wait()
				return "", nil
			},
		},
		Project: (*lives).project,
		May: func(_, state replay.Record, name string, args replay.Record) bool {
			said, left := args["args"].Fields(), state["budget"].Fields()
			holds := func() bool { return state["held"].Fields()[args["by"].Str()].Fields()["life"].Int() != 0 }
			switch name {
			case "(*Balancer).Update":
				return left["updates"].Int() > 0
			case "(*Balancer).SetStatus":
				return left["changes"].Int() > 0
			case "(*Balancer).Acquire":
				return !holds()
			}
			return said["id"].Int() == 0 && holds()
		},
		Hidden: []replay.Exempt{
			{Name: "born", Why: "it shows in the incarnation of who begins next"},
		},
	}
}

func (l *lives) project() map[string]any {
	shown := map[string]dispatch.EndpointState[*servant]{}
	for _, s := range l.Endpoints() {
		shown[s.ID] = s
	}
	var at, life, listed, said, closed replay.Tuple
	held := map[string]any{"a": map[string]int{"life": 0, "endpoint": 0}}
	load := map[uint64]uint64{}
	for by, c := range l.held {
		held[by] = map[string]int{"life": int(c.Incarnation()), "endpoint": c.Value().(*servant).number}
		load[c.Incarnation()]++
	}
	for i := range l.ids {
		m, there := shown[strconv.Itoa(i+1)]
		if !there {
			at, life, listed, said = append(at, 0), append(life, 0), append(listed, "ready"), append(said, "ready")
			continue
		}
		entry := l.list[i+1]
		at, life = append(at, m.Endpoint.number), append(life, m.Incarnation)
		listed, said = append(listed, entry.Status.String()), append(said, m.Status.String())
		drains := entry.Status == poise.Draining || m.Status == poise.Draining
		if drains != (m.Admission != dispatch.Open) || drains != (m.Reason == poise.ExcludedDraining) {
			held["what is admitted of "+m.ID] = m.Admission.String()
		}
		if m.InFlight != load[m.Incarnation] {
			held["the load of "+m.ID] = m.InFlight
		}
	}
	for _, e := range l.endpoints[1:] {
		closed = append(closed, e.closed)
	}
	return map[string]any{"at": at, "life": life, "listed": listed, "said": said, "closed": closed, "held": held, "budget": l.budget}
}

// closeLives ends the goroutine of the Balancer of the last walk.
func closeLives() {
	if open != nil {
		_ = open.Close()
	}
	open = nil
}

// Claim: A member that stays in the list with the same Endpoint keeps its incarnation, and another Endpoint begins a new one.
// Claim: Each Endpoint that was removed is closed once, when its last call and its probes have ended.
func TestLives_WalkTheirStateGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer closeLives()
		replay.Walk(t, replay.Load(t, "../tla/lives/Lives.graph"), livesMapping())
	})
}
