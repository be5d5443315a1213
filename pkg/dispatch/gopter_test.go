package dispatch_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	poise "github.com/copyleftdev/poise-go/pkg"
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

func (verdict) Fatalf(format string, args ...any) { panic(verdictText(fmt.Sprintf(format, args...))) }

type verdictText string

// verdictOf returns what a law said, empty where it held.
func verdictOf(law func(failer)) (text string) {
	defer func() {
		if v := recover(); v != nil {
			said, ok := v.(verdictText)
			if !ok {
				panic(v)
			}
			text = string(said)
		}
	}()
	law(verdict{})
	return ""
}

// scriptOf returns the script of a seed.
func scriptOf(seed uint64, length int) []byte {
	chance := poise.NewGenerator(seed)
	script := make([]byte, length)
	for i := range script {
		script[i] = byte(chance.Uint64())
	}
	return script
}

// Claim: A call is refused only while no eligible member that it may go to has room.
//
// Claim: Each value of a member that was removed is released once, when its last call has ended.
func TestLoop_GopterLawAgreesWithItsSlowTwin(t *testing.T) {
	properties := gopter.NewProperties(gopterParameters(t))
	properties.Property("a loop agrees with its slow twin", prop.ForAll(func(seed uint64, length int) string {
		return verdictOf(func(t failer) { playLoop(t, scriptOf(seed, length)) })
	}, gen.UInt64(), gen.IntRange(0, 2000)))
	properties.TestingRun(t)
}
