package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/health"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

// Claim: The error of WaitReady names what the last probe of a member failed with.
func TestBalancer_WaitReadySaysWhatItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := dispatch.New(dispatch.Config[string]{
			Loop:    dispatch.LoopConfig{Policy: new(policy.RoundRobin)},
			Members: []dispatch.Member[string]{{ID: "a\r\n", Endpoint: "a"}},
			Probes: &dispatch.ProbesConfig[string]{
				Active: health.ActiveHealthConfig{Unknown: health.DenyUnknown},
				Probe: func(dispatch.Member[string]) (func(context.Context) error, error) {
					return func(context.Context) error { return errors.New("unexpected status: 404") }, nil
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = b.WaitReady(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `the probe of a\r\n: unexpected status: 404`) {
			t.Errorf("the error is %v", err)
		}
	})
}
