package poisehttp_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/copyleftdev/poise-go/pkg/poisehttp"
)

// gopterParameters reads GOPTER_SEED and GOPTER_CHECKS.
func gopterParameters(t *testing.T) *gopter.TestParameters {
	t.Helper()
	parameters := gopter.DefaultTestParameters()
	for name, set := range map[string]func(int64){
		"GOPTER_SEED":   parameters.SetSeed,
		"GOPTER_CHECKS": func(n int64) { parameters.MinSuccessfulTests = int(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set(n)
		}
	}
	t.Logf("replay with GOPTER_SEED=%d", parameters.Seed())
	return parameters
}

// verdict makes a law of a test answer in text: empty where it held.
type verdict struct{}

func (verdict) Helper() {}

func (verdict) Fatalf(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

type broken string

func lawfully(law func(failer)) (fault string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case broken:
			fault = string(v)
		default:
			panic(v)
		}
	}()
	law(verdict{})
	return ""
}

// Claim: Admit refuses exactly while the endpoint is aside.
//
// Claim: A result of a call that was admitted before the endpoint was last set aside changes nothing.
func TestQuarantine_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("a Quarantine decides as its slow twin", prop.ForAll(
		func(failures uint8, backoff uint32, longest uint8, seed uint64, script []uint16) string {
			first := time.Duration(backoff) + 1
			cfg := poisehttp.QuarantineConfig{
				Failures: int(failures%4) + 1, Backoff: first, MaxBackoff: first * (time.Duration(longest) + 1),
			}
			return lawfully(func(t failer) { requireQuarantine(t, cfg, seed, script) })
		}, gen.UInt8(), gen.UInt32(), gen.UInt8(), gen.UInt64(), gen.SliceOf(gen.UInt16())))
	laws.TestingRun(t)
}

// Claim: After Remove, the idle function runs exactly once, when the last slot has come back.
//
// Claim: Slots held at once never exceed the limit of Slots.
func TestSlots_LawsByGopter(t *testing.T) {
	laws := gopter.NewProperties(gopterParameters(t))
	laws.Property("Slots count as their slow twin", prop.ForAll(
		func(limit uint8, script []uint8) string {
			return lawfully(func(t failer) { requireSlots(t, uint64(limit%5), script) })
		}, gen.UInt8(), gen.SliceOf(gen.UInt8())))
	laws.TestingRun(t)
}
