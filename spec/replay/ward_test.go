package replay_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// ward is a Ward, its Quarantines, and the permits that are out.
type ward struct {
	*poisehttp.Ward
	endpoints map[string]*poisehttp.Quarantine
	permits   map[string]poisehttp.Permit
	epochs    map[string]int // of the permits
	none      int            // the epoch that stands for no permit
	size      int
}

func wardMapping() replay.Mapping[*ward] {
	const over = time.Hour
	set, late := time.Unix(0, 0), time.Unix(0, 0).Add(over)
	onOne := func(f func(w *ward, of string) (any, error)) func(*ward, replay.Record) (any, error) {
		return func(w *ward, args replay.Record) (any, error) { return f(w, args["of"].Str()) }
	}
	return replay.Mapping[*ward]{
		New: func(constants, _ replay.Record) (*ward, error) {
			shared, err := poisehttp.NewWard(poisehttp.QuarantineConfig{
				Failures: constants["Failures"].Int(), MaxAside: constants["MaxAside"].Int(), Backoff: over, MaxBackoff: over,
			})
			if err != nil {
				return nil, err
			}
			w := &ward{
				Ward: shared, endpoints: map[string]*poisehttp.Quarantine{}, permits: map[string]poisehttp.Permit{},
				epochs: map[string]int{}, none: constants["Epochs"].Int() + 1,
			}
			for _, e := range constants["Endpoints"].Elements() {
				w.endpoints[e.Str()], w.epochs[e.Str()] = w.Quarantine(), w.none
			}
			return w, nil
		},
		Apply: map[string]func(*ward, replay.Record) (any, error){
			"(*Ward).Resize": func(w *ward, args replay.Record) (any, error) {
				w.size = args["size"].Int()
				w.Resize(uint32(w.size))
				return "", nil
			},
			"(*Quarantine).Admit": onOne(func(w *ward, of string) (any, error) {
				permit, err := w.endpoints[of].Admit()
				switch {
				case errors.Is(err, poisehttp.ErrSetAside):
					return "set aside", nil
				case err != nil:
					return nil, err
				}
				w.permits[of], w.epochs[of] = permit, int(replay.Field(w.endpoints[of], "epoch").(uint64))
				return "permit", nil
			}),
			"(*Quarantine).Report": onOne(func(w *ward, of string) (any, error) {
				w.epochs[of] = w.none
				if w.endpoints[of].Report(w.permits[of], poise.Failure, set, poise.NewGenerator(1)) {
					return "set aside", nil
				}
				return "goes on", nil
			}),
			"(*Quarantine).Return": onOne(func(w *ward, of string) (any, error) {
				if left := w.endpoints[of].Return(late); left != 0 {
					return nil, errors.New("it stays aside for another " + left.String())
				}
				return "", nil
			}),
			"(*Quarantine).Retire": onOne(func(w *ward, of string) (any, error) {
				w.endpoints[of].Retire()
				return "", nil
			}),
		},
		Project: func(w *ward) map[string]any {
			beds := replay.Field(w.Ward, "beds").(uint64)
			state := map[string]any{"size": w.size, "inside": beds & (1<<32 - 1), "permit": w.epochs}
			for _, name := range []string{"epoch", "failures", "rounds", "aside", "retired"} {
				of := map[string]any{}
				for e, q := range w.endpoints {
					of[e] = replay.Field(q, name)
				}
				state[name] = of
			}
			return state
		},
		May: mayWard,
	}
}

// mayWard says what clients may do: hold one permit for an endpoint and report it
// once, and everything else at any time. The count of failures and the number of
// times aside are bounded, because the graph is.
func mayWard(constants, state replay.Record, name string, args replay.Record) bool {
	of := func(variable string) replay.Value { return state[variable].Fields()[args["of"].Str()] }
	none := constants["Epochs"].Int() + 1
	switch name {
	case "(*Quarantine).Admit":
		return of("permit").Int() == none
	case "(*Quarantine).Report":
	default:
		return true
	}
	switch {
	case of("permit").Int() == none:
		return false
	case of("permit") != of("epoch") || of("retired").Bool():
		return true
	case of("failures").Int() == constants["Failures"].Int()+constants["Epochs"].Int():
		return false
	}
	enough := of("failures").Int()+1 >= constants["Failures"].Int()
	room := state["inside"].Int() < state["size"].Int()*constants["MaxAside"].Int()/100
	return !enough || !room || of("epoch").Int() < constants["Epochs"].Int()
}

func TestWard_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/ward/Ward.graph"), wardMapping())
}
