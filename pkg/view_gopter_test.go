package poise_test

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// gopterSeed replays the laws that gopter checks.
var gopterSeed = flag.Int64("gopter.seed", 1592614637, "seed of the laws checked by gopter")

// gopterLaws returns properties to which a test adds its laws; gopterRun checks
// them and says how to replay a failure.
func gopterLaws() *gopter.Properties {
	parameters := gopter.DefaultTestParametersWithSeed(*gopterSeed)
	parameters.MinSuccessfulTests = 200
	parameters.MaxSize = 40
	return gopter.NewProperties(parameters)
}

func gopterRun(t *testing.T, laws *gopter.Properties) {
	t.Helper()
	laws.TestingRun(t)
	if t.Failed() {
		t.Logf("replay: go test ./pkg -run '^%s$' -gopter.seed=%d", t.Name(), *gopterSeed)
	}
}

// complaint lets a check for tests answer a gopter law: it panics with the
// complaint, and lawfully turns that into what gopter takes for a failure, a text.
type complaint string

type complainer struct{}

func (complainer) Helper() {}

func (complainer) Fatalf(format string, args ...any) { panic(complaint(fmt.Sprintf(format, args...))) }

func lawfully(check func(t failer)) (verdict string) {
	defer func() {
		if c, ok := recover().(complaint); ok {
			verdict = string(c)
		}
	}()
	check(complainer{})
	return ""
}

// plainSample is what gopter generates a Sample from; a byte decides several
// fields, so that the generators share nothing with rapid's.
type plainSample struct {
	Kind        uint8
	Incarnation uint64
	Locality    string
}

func (p plainSample) sample(i int) poise.Sample {
	s := poise.Sample{
		ID:          fmt.Sprintf("%s/%d", p.Locality, i),
		Incarnation: p.Incarnation,
		Locality:    p.Locality,
		PanicOptOut: p.Kind&1 != 0,
		Priority:    uint32(p.Kind >> 7),
	}
	switch p.Kind >> 1 & 7 {
	case 0:
		s.Status = poise.Draining
	case 1:
		s.Status = poise.Unavailable
	case 2:
		s.Excluded = poise.Reason(p.Kind >> 4 & 7)
	}
	return s
}

func genPlainSamples() gopter.Gen {
	return gen.SliceOf(gen.Struct(reflect.TypeFor[plainSample](), map[string]gopter.Gen{
		"Kind":        gen.UInt8(),
		"Incarnation": gen.UInt64(),
		"Locality":    gen.AlphaString(),
	}))
}

func samplesFrom(plain []plainSample) []poise.Sample {
	samples := make([]poise.Sample, len(plain))
	for i, p := range plain {
		samples[i] = p.sample(i)
	}
	return samples
}

func TestView_LawsByGopter(t *testing.T) {
	laws := gopterLaws()
	laws.Property("a View answers as its slow twin", prop.ForAll(
		func(plain []plainSample) string {
			samples := samplesFrom(plain)
			return lawfully(func(t failer) { requireTwin(t, view(t, samples...), slowView{samples: samples}) })
		}, genPlainSamples()))

	laws.Property("a scope answers as its slow twin", prop.ForAll(
		func(plain []plainSample, mask uint64) string {
			samples := samplesFrom(plain)
			twin := slowView{samples: samples}
			var members []int
			for i := range samples {
				if mask>>(i%64)&1 != 0 && twin.mayJoin(i) {
					members = append(members, i)
				}
			}
			return lawfully(func(t failer) {
				requireTwin(t, scope(t, view(t, samples...), members...), twin.scope(members))
			})
		}, genPlainSamples(), gen.UInt64()))

	laws.Property("With answers as NewView of the same samples", prop.ForAll(
		func(plain []plainSample, cuts []uint8) string {
			list, changes := []poise.Sample(nil), samplesFrom(plain)
			for i := range changes { // identities that come again
				changes[i].ID = fmt.Sprint(changes[i].Incarnation % 13)
				changes[i].Locality = changes[i].Locality[:min(1, len(changes[i].Locality))]
			}
			return lawfully(func(t failer) {
				v := view(t)
				for _, cut := range append(cuts, 255) {
					n := min(1+int(cut)%7, len(changes))
					v, list = requireWith(t, v, list, changes[:n])
					changes = changes[n:]
				}
			})
		}, genPlainSamples(), gen.SliceOf(gen.UInt8())))

	laws.Property("an identity given twice is refused by name wherever it stands", prop.ForAll(
		func(plain []plainSample, from, to int) string {
			samples := samplesFrom(plain)
			if len(samples) < 2 {
				return ""
			}
			from, to = from%len(samples), to%len(samples)
			if from == to {
				return ""
			}
			samples[to].ID = samples[from].ID
			v, err := poise.NewView(candidatesOf(samples))
			var fieldError *poise.FieldError
			if v != nil || !errors.As(err, &fieldError) || fieldError.Err != poise.ErrDuplicateIdentity {
				return fmt.Sprintf("NewView: %v, %v", v, err)
			}
			if want := fmt.Sprintf("candidates[%d].ID", max(from, to)); fieldError.Field != want {
				return fmt.Sprintf("the error names %s, want %s", fieldError.Field, want)
			}
			return ""
		}, genPlainSamples(), gen.IntRange(0, 1000), gen.IntRange(0, 1000)))

	laws.Property("what is untried is the slow twin's", prop.ForAll(
		func(plain []plainSample, mask uint64) string {
			samples := samplesFrom(plain)
			tried := new(poise.Tried)
			var lives []life
			for i, s := range samples {
				if mask>>(i%64)&1 != 0 {
					tried.Add(s.ID, s.Incarnation)
					lives = append(lives, life{s.ID, s.Incarnation})
				}
			}
			return lawfully(func(t failer) {
				u := view(t, samples...).Untried(tried)
				requireUntried(t, &u, slowView{samples: samples}.untried(lives), len(samples))
			})
		}, genPlainSamples(), gen.UInt64()))
	gopterRun(t, laws)
}
