package health_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/leanovate/gopter"
)

// failer is what a law needs of a test, so that rapid and gopter can run it.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// verdict has a law answer in text, as gopter wants it.
type verdict struct{}

func (verdict) Helper() {}

func (verdict) Fatalf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

type fault string

// faultOf returns how a law is broken, or nothing.
func faultOf(law func(failer)) (text string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case fault:
			text = string(v)
		default:
			panic(v)
		}
	}()
	law(verdict{})
	return ""
}

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
