package replay_test

import (
	"errors"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/poisehttp"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// tick is the unit of the specification: the smallest, so that every time aside
// the specification knows is one that the jitter can draw, and the other way round.
const tick = time.Nanosecond

// quarantine is a Quarantine, the permits that are out, and a clock.
type quarantine struct {
	*poisehttp.Quarantine
	permits map[string]poisehttp.Permit
	epochs  map[string]int // of the permits; -1 for none
	now     time.Time
	back    int
}

func quarantineMapping() replay.Mapping[*quarantine] {
	outcomes := map[string]poise.Outcome{
		"success": poise.Success, "failure": poise.Failure,
		"overloaded": poise.Overloaded, "cancelled": poise.Cancelled,
	}
	longest := func(constants replay.Record) time.Duration {
		return tick * time.Duration(constants["MaxBackoff"].Int())
	}
	var stepBack time.Duration
	return replay.Mapping[*quarantine]{
		New: func(constants, initial replay.Record) (*quarantine, error) {
			stepBack = longest(constants)
			q, err := poisehttp.NewQuarantine(poisehttp.QuarantineConfig{
				Failures: constants["Failures"].Int(),
				Backoff:  tick * time.Duration(constants["Backoff"].Int()), MaxBackoff: longest(constants),
			})
			return &quarantine{
				Quarantine: q, now: time.Unix(1_000_000, 0), back: initial["back"].Int(),
				permits: map[string]poisehttp.Permit{}, epochs: map[string]int{"a": -1, "b": -1},
			}, err
		},
		Apply: map[string]func(*quarantine, replay.Record) (any, error){
			"(*Quarantine).Admit": func(q *quarantine, args replay.Record) (any, error) {
				permit, err := q.Admit()
				if err != nil {
					if !errors.Is(err, poisehttp.ErrSetAside) {
						return nil, err
					}
					return 0, nil
				}
				call := args["call"].Str()
				q.permits[call], q.epochs[call] = permit, int(replay.Field(q.Quarantine, "epoch").(uint64))
				return 1, nil
			},
			"(*Quarantine).Report": func(q *quarantine, args replay.Record) (any, error) {
				call := args["call"].Str()
				chance := drawing(args["draw"].Int(), replay.Field(q.Quarantine, "rounds").(uint), q)
				set := q.Report(q.permits[call], outcomes[args["outcome"].Str()], q.now, chance)
				q.epochs[call] = -1
				if set {
					return 1, nil
				}
				return 0, nil
			},
			"(*Quarantine).Return": func(q *quarantine, _ replay.Record) (any, error) {
				return int(q.Return(q.now) / tick), nil
			},
			"Tick": func(q *quarantine, _ replay.Record) (any, error) {
				q.now = q.now.Add(tick)
				return 0, nil
			},
			"StepBack": func(q *quarantine, _ replay.Record) (any, error) {
				q.now = q.now.Add(-stepBack)
				q.back--
				return 0, nil
			},
		},
		Project: func(q *quarantine) map[string]any {
			state := map[string]any{"permit": q.epochs, "back": q.back, "age": 0, "wait": 0}
			for _, name := range []string{"epoch", "failures", "rounds", "aside"} {
				state[name] = replay.Field(q.Quarantine, name)
			}
			if q.Aside() {
				state["age"] = int(q.now.Sub(replay.Field(q.Quarantine, "since").(time.Time)) / tick)
				state["wait"] = replay.Field(q.Quarantine, "wait")
			}
			return state
		},
		May: mayQuarantine,
	}
}

// drawing returns a generator whose next draw takes the given time off a backoff.
func drawing(draw int, rounds uint, q *quarantine) *poise.Generator {
	backoff := q.backoff(rounds)
	for seed := uint64(1); ; seed++ {
		if int(poise.NewGenerator(seed).Below(uint64(backoff/2)+1)) == draw || draw > backoff/2 {
			return poise.NewGenerator(seed)
		}
	}
}

// backoff returns the time aside of a round before jitter, by the words of the
// Contract: twice the time up to the longest.
func (q *quarantine) backoff(rounds uint) int {
	cfg := replay.Field(q.Quarantine, "cfg").(poisehttp.QuarantineConfig)
	return int(min(cfg.Backoff<<rounds, cfg.MaxBackoff) / tick)
}

// mayQuarantine says what clients may do: hold one permit per call, report it
// once, and ask for the return at any time. A draw is possible if it takes at most
// half of the backoff off; without a backoff there is none.
func mayQuarantine(constants, state replay.Record, name string, args replay.Record) bool {
	permit := state["permit"].Fields()[args["call"].Str()]
	age := state["age"].Int()
	switch name {
	case "(*Quarantine).Admit":
		return permit.Int() == -1
	case "(*Quarantine).Return":
		return true
	case "Tick":
		return state["aside"].Bool() && age < state["wait"].Int()
	case "StepBack":
		return state["aside"].Bool() && age >= 0 && state["back"].Int() > 0
	}
	if permit.Int() == -1 {
		return false
	}
	outcome, draw, rounds := args["outcome"].Str(), args["draw"].Int(), state["rounds"].Int()
	failed := outcome == "failure" || outcome == "overloaded"
	enough := rounds > 0 || state["failures"].Int()+1 >= constants["Failures"].Int()
	if !failed || !enough || permit != state["epoch"] {
		return draw == 0
	}
	backoff := min(constants["Backoff"].Int()<<rounds, constants["MaxBackoff"].Int())
	return state["epoch"].Int() < constants["Epochs"].Int() && draw <= backoff/2
}

func TestQuarantine_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/quarantine/Quarantine.graph"), quarantineMapping())
}
