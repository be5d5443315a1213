package health_test

import (
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// Claim: At most one trial of an endpoint runs at once.
//
// Claim: An ejected endpoint whose trial succeeds is Returning, and Serving after ReturnSuccesses.
func TestPassiveHealth_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a PassiveHealth decides as its slow twin", prop.ForAll(
		func(seed, script uint64, length uint16, odds, n, settings uint8) string {
			cfg := passiveLawConfig(
				seed|1, []float64{10, 1e4, 1e7}[odds%3], int(settings%6)+1, int(settings/6%3)+1, int(settings/18%3)+1,
			)
			return faultOf(func(t failer) { passiveLaw(t, int(n%6)+1, cfg, passiveScript(script, int(length%600))) })
		}, gen.UInt64(), gen.UInt64(), gen.UInt16(), gen.UInt8(), gen.UInt8(), gen.UInt8()))
	laws.TestingRun(t)
}
