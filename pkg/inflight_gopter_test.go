package poise_test

import (
	"testing"

	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// Claim: Leases held at once never exceed the limit.
//
// Cases: B15, IF2.
func TestInFlight_LawsByGopter(t *testing.T) {
	laws := gopterLaws()
	// Runs of acquires and of releases, from the bits of one word per run.
	laws.Property("an InFlight counts as its slow twin", prop.ForAll(
		func(limit uint8, runs []uint16) string {
			var script []uint8
			for _, run := range runs {
				op := uint8(0)
				if run&1 != 0 {
					op = uint8(run >> 8)
				}
				for range run >> 1 & 7 {
					script = append(script, op)
					if op != 0 {
						op++
					}
				}
			}
			return lawfully(func(t failer) { requireInFlight(t, uint64(limit%6), script) })
		}, gen.UInt8(), gen.SliceOf(gen.UInt16())))
	gopterRun(t, laws)
}
