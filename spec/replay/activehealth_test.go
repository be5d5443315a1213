package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/spec/replay"
)

// tick is the unit of the specifications: the smallest, so that every time that a
// specification knows is one that a jitter can draw, and the other way round.
const tick = time.Nanosecond

// activeHealth is an ActiveHealth, every reservation that it issued, and a clock.
type activeHealth struct {
	*health.ActiveHealth
	reservations []health.Reservation // by number; the first was never issued
	now          time.Time
	back         int
}

func activeHealthMapping() replay.Mapping[*activeHealth] {
	var stepBack time.Duration
	return replay.Mapping[*activeHealth]{
		New: func(constants, initial replay.Record) (*activeHealth, error) {
			ticks := func(name string) time.Duration { return tick * time.Duration(constants[name].Int()) }
			stepBack = ticks("Hold") + max(ticks("Interval"), ticks("UnhealthyInterval"), ticks("UnknownInterval"))
			h, err := health.NewActiveHealth(health.ActiveHealthConfig{
				Interval: ticks("Interval"), UnhealthyInterval: ticks("UnhealthyInterval"), UnknownInterval: ticks("UnknownInterval"),
				Jitter: constants["Jitter"].Int(), Hold: ticks("Hold"),
				HealthyThreshold: constants["HealthyThreshold"].Int(), UnhealthyThreshold: constants["UnhealthyThreshold"].Int(),
			})
			return &activeHealth{
				ActiveHealth: h, now: time.Unix(1_000_000, 0), back: initial["back"].Int(),
				reservations: make([]health.Reservation, 1),
			}, err
		},
		Apply: map[string]func(*activeHealth, replay.Record) (any, error){
			"(*ActiveHealth).Reserve": func(h *activeHealth, args replay.Record) (any, error) {
				r, wait, err := h.Reserve(h.now, firstBit(args["draw"].Int()))
				switch left := int(wait / tick); {
				case errors.Is(err, health.ErrNotDue):
					return left, nil
				case errors.Is(err, health.ErrProbeRunning):
					return -left, nil
				default:
					h.reservations = append(h.reservations, r)
					return left, err
				}
			},
			"(*ActiveHealth).Complete": func(h *activeHealth, args replay.Record) (any, error) {
				s, counts := h.Complete(h.reservations[args["of"].Int()], args["arg"].Str() == "healthy", h.now)
				if s != h.State(h.now) {
					return nil, fmt.Errorf("Complete answers %+v, and the state is %+v", s, h.State(h.now))
				}
				return oneIf(counts), nil
			},
			"(*ActiveHealth).Cancel": func(h *activeHealth, args replay.Record) (any, error) {
				return oneIf(h.Cancel(h.reservations[args["of"].Int()], h.now)), nil
			},
			"(*ActiveHealth).Force": func(h *activeHealth, args replay.Record) (any, error) {
				for k := health.Unknown; k <= health.Unhealthy; k++ {
					if k.String() == args["arg"].Str() {
						return 0, h.Force(k, h.now)
					}
				}
				return nil, fmt.Errorf("no condition is called %s", args["arg"])
			},
			"(*ActiveHealth).Due": func(h *activeHealth, _ replay.Record) (any, error) {
				return int(h.Due(h.now) / tick), nil
			},
			"Tick": func(h *activeHealth, _ replay.Record) (any, error) {
				h.now = h.now.Add(tick)
				return 0, nil
			},
			"StepBack": func(h *activeHealth, _ replay.Record) (any, error) {
				h.now = h.now.Add(-stepBack)
				h.back--
				return 0, nil
			},
		},
		Project: projectActiveHealth,
		May:     mayActiveHealth,
	}
}

func projectActiveHealth(h *activeHealth) map[string]any {
	is := h.Inspect()
	age := func(has bool, since time.Time) int {
		if !has {
			return 0
		}
		return int(h.now.Sub(since) / tick)
	}
	return map[string]any{
		"condition": is.Condition.String(), "good": is.ConsecutiveSuccesses, "bad": is.ConsecutiveFailures,
		"number": is.Reservations, "running": is.Running, "probed": is.Probed,
		"held": age(is.Running, is.Reserved), "idle": age(is.Probed, is.Ended),
		"draw": is.Draw >> 63, "back": h.back,
	}
}

// firstBit returns a generator whose next draw begins with the bit: where the jitter
// may take off one tick at most, the first bit says whether it does.
func firstBit(bit int) *poise.Generator {
	for seed := uint64(1); ; seed++ {
		if int(poise.NewGenerator(seed).Uint64()>>63) == bit {
			return poise.NewGenerator(seed)
		}
	}
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// mayActiveHealth says what clients may do: everything at any time, but that the
// draw is 0 where there is none, and that the number of reservations is bounded,
// because the graph is.
func mayActiveHealth(constants, state replay.Record, name string, args replay.Record) bool {
	interval := func(condition string) int {
		return constants[map[string]string{"unknown": "UnknownInterval", "healthy": "Interval", "unhealthy": "UnhealthyInterval"}[condition]].Int()
	}
	longest := max(interval("unknown"), interval("healthy"), interval("unhealthy"))
	hold, held, idle := constants["Hold"].Int(), state["held"].Int(), state["idle"].Int()
	running, probed := state["running"].Bool(), state["probed"].Bool()
	matters := running && held < hold+longest || !running && probed && idle < longest
	switch name {
	case "(*ActiveHealth).Complete", "(*ActiveHealth).Cancel":
		return args["of"].Int() <= state["number"].Int()
	case "Tick":
		return matters
	case "StepBack":
		return matters && state["back"].Int() > 0
	case "(*ActiveHealth).Reserve":
	default:
		return true
	}
	wait := interval(state["condition"].Str())
	if state["draw"].Int() == 1 {
		wait -= wait * constants["Jitter"].Int() / 100
	}
	since := max(idle, 0)
	if running {
		since = max(held, 0) - hold
	}
	if (running || probed) && since < wait {
		return args["draw"].Int() == 0
	}
	return state["number"].Int() < constants["Probes"].Int()
}

func TestActiveHealth_WalksItsStateGraph(t *testing.T) {
	replay.Walk(t, replay.Load(t, "../tla/activehealth/ActiveHealth.graph"), activeHealthMapping())
}
