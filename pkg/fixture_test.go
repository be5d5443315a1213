package poise_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// failer is what a test and a property check have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// view returns the View of the samples.
func view(t failer, samples ...poise.Sample) *poise.View {
	t.Helper()
	v, err := poise.NewView(candidatesOf(samples))
	if err != nil {
		t.Fatalf("NewView: %v", err)
	}
	return v
}

func candidatesOf(samples []poise.Sample) []poise.Candidate {
	candidates := make([]poise.Candidate, len(samples))
	for i, s := range samples {
		candidates[i] = s
	}
	return candidates
}

// scope returns the scope of the members.
func scope(t failer, v *poise.View, members ...int) *poise.View {
	t.Helper()
	s, err := v.Scope(members)
	if err != nil {
		t.Fatalf("Scope: %v", err)
	}
	return s
}

// named returns n ready samples.
func named(n int) []poise.Sample {
	samples := make([]poise.Sample, n)
	for i := range samples {
		samples[i].ID = fmt.Sprintf("backend-%04d", i)
	}
	return samples
}

// eligibleOf lists the eligible indices.
func eligibleOf(v *poise.View) []int {
	list := []int{}
	for position := range v.EligibleLen() {
		list = append(list, v.Eligible(position))
	}
	return list
}

// requireFieldError requires that err names the field and value and matches the
// sentinel.
func requireFieldError(t *testing.T, err error, field string, value any, sentinel error) {
	t.Helper()
	var fieldError *poise.FieldError
	if !errors.As(err, &fieldError) {
		t.Fatalf("the error is %v, want a FieldError", err)
	}
	if fieldError.Field != field || !reflect.DeepEqual(fieldError.Value, value) {
		t.Errorf("it names %s = %#v, want %s = %#v", fieldError.Field, fieldError.Value, field, value)
	}
	if !errors.Is(err, sentinel) {
		t.Errorf("it is %v, want %v", err, sentinel)
	}
}

// cost is a load tracker of CostNanoseconds.
type cost uint64

func (c cost) Load(time.Time) (uint64, error) { return uint64(c), nil }
func (cost) Unit() poise.LoadUnit             { return poise.CostNanoseconds }

// meter is a load tracker that counts how often it is read and can fail.
type meter struct {
	load  uint64
	err   error
	reads int
	now   time.Time
}

func (m *meter) Load(now time.Time) (uint64, error) {
	m.reads++
	m.now = now
	return m.load, m.err
}

func (m *meter) Unit() poise.LoadUnit { return poise.RequestsInFlight }

// moody is a candidate whose answer changes at every read.
type moody struct {
	id    string
	reads int
}

func (m *moody) Sample() poise.Sample {
	m.reads++
	s := poise.Sample{ID: m.id}
	if m.reads%2 == 0 {
		s = poise.Sample{Status: poise.Draining}
	}
	return s
}
