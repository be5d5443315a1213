package health_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/health"
)

// Cases: B114.
func TestEnumerations_HaveTextAndJSONForms(t *testing.T) {
	for _, row := range []struct {
		last, none any // the last value, and one that does not exist
	}{
		{health.Unhealthy, health.Condition(3)},
		{health.DenyUnknown, health.UnknownPolicy(2)},
		{health.TimeoutCancels, health.TimeoutPolicy(2)},
		{health.ProbeDiscarded, health.ProbeResult(4)},
		{health.HalfOpen, health.CircuitMode(3)},
		{health.CauseTrialsSucceeded, health.CircuitCause(6)},
		{health.LocalFailure, health.FailureKind(3)},
		{health.LocalFailuresInRow | health.GatewayFailuresInRow | health.FailuresInRow | health.FailureShare | health.SuccessRate, health.OutlierCause(32)},
	} {
		kind := reflect.TypeOf(row.last)
		for i := uint64(0); i <= reflect.ValueOf(row.last).Uint(); i++ {
			value := reflect.New(kind)
			value.Elem().SetUint(i)
			text, err := json.Marshal(value.Interface())
			back := reflect.New(kind)
			if err != nil || string(text) != `"`+value.Elem().Interface().(interface{ String() string }).String()+`"` || json.Unmarshal(text, back.Interface()) != nil || back.Elem().Uint() != i {
				t.Errorf("%v %d is %s in JSON, which is read as %v (%v)", kind, i, text, back.Elem(), err)
			}
		}
		if _, err := row.none.(encoding.TextMarshaler).MarshalText(); !errors.Is(err, health.ErrOutOfRange) {
			t.Errorf("%v has a text for %v: %v", kind, row.none, err)
		}
		kept := reflect.New(kind)
		kept.Elem().SetUint(1)
		if err := kept.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte("nonsense")); !errors.Is(err, health.ErrOutOfRange) || kept.Elem().Uint() != 1 {
			t.Errorf("%v reads nonsense as %v: %v", kind, kept.Elem(), err)
		}
	}
}
