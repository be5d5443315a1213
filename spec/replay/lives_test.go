package replay_test

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// lives is a Balancer, the list that it has, and the calls that are held.
type lives struct {
	*poisehttp.Balancer
	endpoints []*servant // from 1
	list      map[int]poisehttp.Member
	ids       int
	wanted    string   // whom the policy picks next
	served    *servant // who served last
	held      map[string]*holding
	budget    map[string]int // what is left of updates and changes
}

// holding is a call of a caller.
type holding struct {
	life, endpoint int
	body           io.Closer
}

// servant is an endpoint whose responses have a body that somebody has to end.
type servant struct {
	of             *lives
	number, closed int
}

func (e *servant) RoundTrip(*http.Request) (*http.Response, error) {
	e.of.served = e
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("served"))}, nil
}

func (e *servant) Close() error {
	e.closed++
	return nil
}

func (l *lives) Prepare(v *poise.View) (poise.Picker, error) { return wanting{l, v}, nil }

// wanting is a Picker that tries whom the graph wants.
type wanting struct {
	of   *lives
	view *poise.View
}

func (w wanting) Pick(poise.Query) (poise.Selection, error) {
	if at, found := w.view.Lookup(w.of.wanted); found {
		return w.view.Select(at)
	}
	return poise.Selection{}, poise.ErrNotEligible
}

func newLives(t testing.TB, constants, initial replay.Record) (*lives, error) {
	l := &lives{endpoints: []*servant{nil}, list: map[int]poisehttp.Member{}, ids: constants["N"].Int(), held: map[string]*holding{}}
	l.budget = map[string]int{"updates": constants["Updates"].Int(), "changes": constants["Changes"].Int()}
	for e := range constants["Endpoints"].Int() {
		l.endpoints = append(l.endpoints, &servant{of: l, number: e + 1})
	}
	for i, e := range initial["at"].Elements() {
		l.enter(i+1, e.Int(), "ready")
	}
	var err error
	l.Balancer, err = poisehttp.New(poisehttp.Config{Policy: l, Members: l.members(), Attempts: 1})
	if err == nil {
		t.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}

var statuses = map[string]poise.Status{"ready": poise.Ready, "draining": poise.Draining}

// enter writes the endpoint of an identity into the list; 0 takes it out.
func (l *lives) enter(id, endpoint int, status string) {
	if delete(l.list, id); endpoint != 0 {
		l.list[id] = poisehttp.Member{ID: strconv.Itoa(id), Endpoint: l.endpoints[endpoint], Status: statuses[status]}
	}
}

func (l *lives) members() (list []poisehttp.Member) {
	for id := 1; id <= l.ids; id++ {
		if m, listed := l.list[id]; listed {
			list = append(list, m)
		}
	}
	return list
}

func (l *lives) update(args replay.Record) (any, error) {
	before, had := l.list[args["id"].Int()]
	l.enter(args["id"].Int(), args["endpoint"].Int(), args["status"].Str())
	err := l.Update(l.members())
	if errors.Is(err, poisehttp.ErrSharedEndpoint) {
		if delete(l.list, args["id"].Int()); had {
			l.list[args["id"].Int()] = before
		}
		return "shared", nil
	}
	l.budget["updates"]--
	return "", err
}

// state returns the endpoint as it stands; none if it is not in the list.
func (l *lives) state(id string) (state poisehttp.EndpointState) {
	for _, s := range l.Endpoints() {
		if s.ID == id {
			return s
		}
	}
	return state
}

func (l *lives) call(by, id string) (any, error) {
	req, err := http.NewRequest(http.MethodGet, "http://service.example.com/", nil)
	if err != nil {
		return nil, err
	}
	l.wanted = id
	resp, err := l.RoundTrip(req)
	switch {
	case errors.Is(err, poise.ErrNotEligible):
		return "not eligible", nil
	case err != nil:
		return nil, err
	}
	l.held[by] = &holding{life: int(l.state(id).Incarnation), endpoint: l.served.number, body: resp.Body}
	return "admitted", nil
}

func livesMapping(t testing.TB) replay.Mapping[*lives] {
	return replay.Mapping[*lives]{
		New: func(constants, initial replay.Record) (*lives, error) { return newLives(t, constants, initial) },
		Apply: map[string]func(*lives, replay.Record) (any, error){
			"(*Balancer).Update": func(l *lives, args replay.Record) (any, error) { return l.update(args["args"].Fields()) },
			"(*Balancer).SetStatus": func(l *lives, args replay.Record) (any, error) {
				said := args["args"].Fields()
				l.budget["changes"]--
				err := l.SetStatus(strconv.Itoa(said["id"].Int()), statuses[said["status"].Str()])
				if errors.Is(err, poisehttp.ErrUnknownEndpoint) {
					return "unknown", nil
				}
				return "", err
			},
			"(*Balancer).RoundTrip": func(l *lives, args replay.Record) (any, error) {
				return l.call(args["by"].Str(), strconv.Itoa(args["args"].Fields()["id"].Int()))
			},
			"(*attempt).release": func(l *lives, args replay.Record) (any, error) {
				by := args["by"].Str()
				defer delete(l.held, by)
				return "", l.held[by].body.Close()
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
			case "(*Balancer).RoundTrip":
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
	published := map[string]any{}
	members := reflect.ValueOf(replay.Field(replay.Field(l.Balancer, "current"), "members"))
	for i := range members.Len() {
		m := members.Index(i).Interface()
		published[replay.Field(m, "ID").(string)] = m
	}
	var at, life, listed, said, closed replay.Tuple
	word := func(of any) string { return of.(poise.Status).String() }
	held := map[string]any{"a": map[string]int{"life": 0, "endpoint": 0}}
	load := map[int]int{}
	for by, h := range l.held {
		held[by] = map[string]int{"life": h.life, "endpoint": h.endpoint}
		load[h.life]++
	}
	for i := range l.ids {
		id := strconv.Itoa(i + 1)
		state, m := l.state(id), published[id]
		if m == nil {
			at, life, listed, said = append(at, 0), append(life, 0), append(listed, "ready"), append(said, "ready")
			continue
		}
		at = append(at, replay.Field(m, "Endpoint").(*servant).number)
		life = append(life, state.Incarnation)
		listed, said = append(listed, word(replay.Field(m, "Status"))), append(said, word(replay.Field(m, "said")))
		drains := replay.Of(listed[i]) == `"draining"` || replay.Of(said[i]) == `"draining"`
		slots := replay.Field(replay.Field(replay.Field(m, "life"), "slots"), "state")
		if (slots != uint32(0)) != drains {
			held["the slots of "+id] = slots
		}
		if int(state.InFlight) != load[int(state.Incarnation)] {
			held["the load of "+id] = state.InFlight
		}
	}
	for _, e := range l.endpoints[1:] {
		closed = append(closed, e.closed)
	}
	return map[string]any{"at": at, "life": life, "listed": listed, "said": said, "closed": closed, "held": held, "budget": l.budget}
}

// Claim: Draining and Unavailable of SetStatus hold for the incarnation until SetStatus of Ready, whatever Update says; then the list's status applies.
// Claim: Update refuses an Endpoint that was removed until its last call has ended.
func TestLives_WalkTheirStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/lives/Lives.graph"), livesMapping(t))
}
