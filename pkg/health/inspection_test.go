package health_test

import (
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

func TestCircuit_IsInspectedAsItStands(t *testing.T) {
	c := newCircuit(t, health.CircuitConfig{Failures: 2, OpenFor: 2, MaxHold: 10, Trials: 2, Successes: 2, Chance: poise.NewGenerator(1)})
	call(t, c, poise.Failure, noon)
	if got, want := c.Inspect(), (health.CircuitInspection{Failures: 1}); got != want {
		t.Errorf("closed: %+v, want %+v", got, want)
	}
	call(t, c, poise.Failure, noon)
	got := c.Inspect()
	want := health.CircuitInspection{Mode: health.Open, Epoch: 1, Rounds: 1, Since: noon, OpenFor: got.OpenFor}
	if got != want || got.OpenFor < 1 || got.OpenFor > 2 {
		t.Errorf("open: %+v, want %+v", got, want)
	}
	at := noon.Add(2)
	kept, err := c.Acquire(at)
	if err != nil {
		t.Fatal(err)
	}
	call(t, c, poise.Success, at)
	if got, want := c.Inspect(), (health.CircuitInspection{Mode: health.HalfOpen, Epoch: 2, Rounds: 1, Successes: 1, Trials: 1}); got != want {
		t.Errorf("half-open: %+v, want %+v", got, want)
	}
	if got, want := c.InspectPermit(kept), (health.PermitInspection{Since: at}); got != want {
		t.Errorf("a trial: %+v, want %+v", got, want)
	}
	late := at.Add(20)
	if got := c.InspectPermit(kept); got.Err != nil {
		t.Errorf("a trial that was held for too long, and nobody has noticed: %+v", got)
	}
	call(t, c, poise.Cancelled, late)
	for name, row := range map[string]struct {
		permit health.Permit
		want   error
	}{
		"expired": {kept, health.ErrPermitExpired},
		"foreign": {health.Permit{}, health.ErrPermitForeign},
	} {
		if got := c.InspectPermit(row.permit); got != (health.PermitInspection{Err: row.want}) {
			t.Errorf("%s: %+v", name, got)
		}
		if err := c.End(row.permit, poise.Success, late); err != row.want {
			t.Errorf("%s: End returns %v", name, err)
		}
	}
	stale, err := c.Acquire(late)
	if err != nil {
		t.Fatal(err)
	}
	c.ForceClose(late)
	if got := c.InspectPermit(stale); got.Err != health.ErrPermitStale {
		t.Errorf("a stale permit: %+v", got)
	}
	_ = c.End(stale, poise.Success, late)
	if got := c.InspectPermit(stale); got.Err != health.ErrPermitEnded {
		t.Errorf("an ended permit: %+v", got)
	}
}

func TestActiveHealth_IsInspectedAsItStands(t *testing.T) {
	h, err := health.NewActiveHealth(health.ActiveHealthConfig{Hold: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Inspect(); got != (health.ActiveInspection{}) {
		t.Errorf("at first: %+v", got)
	}
	r, _, err := h.Reserve(noon, poise.NewGenerator(1))
	if err != nil {
		t.Fatal(err)
	}
	draw := poise.NewGenerator(1).Uint64()
	want := health.ActiveInspection{Reservations: 1, Running: true, Reserved: noon, Draw: draw}
	if got := h.Inspect(); got != want {
		t.Errorf("reserved: %+v, want %+v", got, want)
	}
	h.State(noon.Add(time.Hour)) // notes nothing, though the reservation is lost
	if got := h.Inspect(); got != want {
		t.Errorf("lost: %+v, want %+v", got, want)
	}
	end := noon.Add(1)
	h.Complete(r, false, end)
	want = health.ActiveInspection{Reservations: 1, Probed: true, Ended: end, ConsecutiveFailures: 1, Draw: draw}
	if got := h.Inspect(); got != want {
		t.Errorf("completed: %+v, want %+v", got, want)
	}
	if err := h.Force(health.Healthy, end); err != nil {
		t.Fatal(err)
	}
	want.Condition, want.ConsecutiveFailures = health.Healthy, 0
	if got := h.Inspect(); got != want {
		t.Errorf("forced: %+v, want %+v", got, want)
	}
}
