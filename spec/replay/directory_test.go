package replay_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/discovery"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// directory is a Directory and what its sources have in hand. Its first revision is
// so late that those of the graph are the last ones.
type directory struct {
	*discovery.Directory[int]
	first           uint64
	atOnce          bool // RemoveImmediately, which does not change
	current, former map[string]*discovery.Session[int]
	endings         int
}

var operations = map[string]discovery.Op{
	"upsert": discovery.Upsert, "add": discovery.Add, "replace": discovery.Replace, "remove": discovery.Remove,
}

func directoryMapping() replay.Mapping[*directory] {
	return replay.Mapping[*directory]{
		New: newDirectory,
		Apply: map[string]func(*directory, replay.Record) (any, error){
			"(*Session).Upsert":  (*directory).one,
			"(*Session).Replace": (*directory).one,
			"(*Session).Remove":  (*directory).one,
			"(*Session).Apply": func(d *directory, args replay.Record) (any, error) {
				applied, err := d.session(args).Apply(changes(args)...)
				if err != nil {
					return refused(err)
				}
				return d.answers(applied...)
			},
			"(*Session).Reconcile": func(d *directory, args replay.Record) (any, error) {
				return d.tally(d.session(args).Reconcile(entries(args)))
			},
			"(*Session).ReconcileAt": func(d *directory, args replay.Record) (any, error) {
				return d.tally(d.session(args).ReconcileAt(uint64(args["date"].Int()), entries(args)))
			},
			"(*Directory).FinishDrain": func(d *directory, args replay.Record) (any, error) {
				c := changes(args)[0]
				return d.answer(d.FinishDrain(c.ID, uint64(c.Value)))
			},
			"(*Session).Close": func(d *directory, args replay.Record) (any, error) {
				d.endings--
				d.session(args).Close()
				return refused(nil)
			},
			"(*Directory).Open": func(d *directory, args replay.Record) (any, error) {
				d.endings--
				of := args["of"].Str()
				s, err := d.Open(of)
				if err == nil {
					d.former[of], d.current[of] = d.current[of], s
				}
				return refused(err)
			},
			"(*Directory).Close": func(d *directory, _ replay.Record) (any, error) {
				d.endings--
				d.Close()
				return refused(nil)
			},
		},
		Project: (*directory).project,
		May:     mayDirectory,
	}
}

func newDirectory(constants, initial replay.Record) (*directory, error) {
	d := &directory{
		first:   math.MaxUint64 - uint64(constants["Revisions"].Int()),
		current: map[string]*discovery.Session[int]{}, former: map[string]*discovery.Session[int]{},
		endings: initial["endings"].Int(), atOnce: initial["atOnce"].Bool(),
	}
	var err error
	if d.Directory, err = discovery.New(discovery.Config[int]{
		Equal: func(a, b int) bool { return a == b }, RemoveImmediately: d.atOnce, Revision: d.first,
	}); err != nil {
		return nil, err
	}
	for _, s := range constants["Sources"].Elements() {
		if d.current[s.Str()], err = d.Open(s.Str()); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// session returns the one by which the source makes its call.
func (d *directory) session(args replay.Record) *discovery.Session[int] {
	if args["session"].Str() == "former" {
		return d.former[args["of"].Str()]
	}
	return d.current[args["of"].Str()]
}

func changes(args replay.Record) (all []discovery.Change[int]) {
	for _, c := range args["changes"].Elements() {
		f := c.Fields()
		all = append(all, discovery.Change[int]{Op: operations[f["do"].Str()], ID: f["id"].Str(), Value: f["value"].Int()})
	}
	return all
}

func entries(args replay.Record) (all []discovery.Entry[int]) {
	for _, c := range changes(args) {
		all = append(all, discovery.Entry[int]{ID: c.ID, Value: c.Value})
	}
	return all
}

// one makes a change by the method of its own.
func (d *directory) one(args replay.Record) (any, error) {
	s, c := d.session(args), changes(args)[0]
	switch c.Op {
	case discovery.Upsert:
		return d.answer(s.Upsert(c.ID, c.Value))
	case discovery.Replace:
		return d.answer(s.Replace(c.ID, c.Value))
	default:
		return d.answer(s.Remove(c.ID))
	}
}

func (d *directory) answer(a discovery.ChangeResult, err error) (any, error) {
	if err != nil {
		return refused(err)
	}
	return d.answers(a)
}

// answers is the result of changes that were made.
func (d *directory) answers(applied ...discovery.ChangeResult) (any, error) {
	var effects replay.Tuple
	for _, a := range applied {
		if a.Revision != applied[0].Revision {
			return nil, fmt.Errorf("one batch has the revisions of %v", applied)
		}
		effects = append(effects, a.Effect.String())
	}
	return result(effects, "", applied[0].Revision-d.first), nil
}

func (d *directory) tally(t discovery.ListResult, err error) (any, error) {
	if err != nil {
		return refused(err)
	}
	var effects replay.Tuple
	for e := discovery.Unchanged; e <= discovery.Removed; e++ {
		for range t.Count(e) {
			effects = append(effects, e.String())
		}
	}
	return result(effects, "", t.Revision-d.first), nil
}

// refused is the result of a call that returned an error, or that returns nothing
// else.
func refused(err error) (any, error) {
	var ended *discovery.SessionError
	if errors.As(err, &ended) {
		if ended.Replaced {
			return result(nil, "replaced", 0), nil
		}
		return result(nil, "closed", 0), nil
	}
	if err == nil {
		return result(nil, "", 0), nil
	}
	for is, name := range map[error]string{
		discovery.ErrClosed: "directory closed", discovery.ErrStale: "stale", discovery.ErrExhausted: "exhausted",
		discovery.ErrUnknown: "unknown", discovery.ErrDuplicate: "duplicate",
	} {
		if errors.Is(err, is) {
			return result(nil, name, 0), nil
		}
	}
	return nil, err
}

func result(effects replay.Tuple, err string, revision uint64) replay.Value {
	return replay.Of(map[string]any{"effects": effects, "error": err, "revision": revision})
}

func (d *directory) project() map[string]any {
	is := d.Inspect()
	var members replay.Tuple
	for _, m := range is.Members {
		var claims replay.Tuple
		for _, c := range m.Claims {
			claims = append(claims, map[string]any{"by": c.Source, "value": c.Value})
		}
		members = append(members, map[string]any{
			"id": m.ID, "incarnation": m.Incarnation, "value": m.Value, "draining": m.Draining, "claims": claims,
		})
	}
	current, former, dated := map[string]string{}, map[string]string{}, map[string]uint64{}
	for name, s := range d.current {
		is := s.Inspect()
		current[name], former[name], dated[name] = ended(is.Ended), "none", is.Date
		if old := d.former[name]; old != nil {
			former[name] = ended(old.Inspect().Ended)
		}
	}
	return map[string]any{
		"atOnce": d.atOnce, "members": members,
		"incarnations": is.Incarnations, "revision": is.Revision - d.first, "closed": is.Closed,
		"current": current, "former": former, "dated": dated, "endings": d.endings,
	}
}

// ended names what has ended a session.
func ended(err error) string {
	var why *discovery.SessionError
	switch {
	case !errors.As(err, &why):
		return "open"
	case why.Replaced:
		return "replaced"
	default:
		return "closed"
	}
}

// mayDirectory says what clients may do: everything at any time, with the sessions
// that they have. How often something ends is bounded, because the graph is.
func mayDirectory(_, state replay.Record, name string, args replay.Record) bool {
	switch name {
	case "(*Session).Close", "(*Directory).Open", "(*Directory).Close":
		return state["endings"].Int() > 0
	}
	return args["session"].Str() != "former" || state["former"].Fields()[args["of"].Str()].Str() != "none"
}

func TestDirectory_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/directory/Directory.graph"), directoryMapping())
}
