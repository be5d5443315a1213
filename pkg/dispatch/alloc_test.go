package dispatch_test

import (
	"context"
	"testing"

	"github.com/copyleftdev/poise-go/pkg/dispatch"
	"github.com/copyleftdev/poise-go/pkg/policy"
)

func TestLoop_AllocatesNothingForACall(t *testing.T) {
	l := newLoop(t, 10, func(c *dispatch.LoopConfig) { c.Policy = newTwoChoices(t) })
	var c dispatch.Call
	a := new(dispatch.Attempts)
	acquire := func(q dispatch.Query) {
		if err := l.Acquire(&c, q); err != nil {
			t.Fatal(err)
		}
		c.Answered(success, epoch)
		c.End(success, epoch)
	}
	if n := testing.AllocsPerRun(1000, func() { acquire(dispatch.Query{Now: epoch}) }); n != 0 {
		t.Errorf("a call of one attempt allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		*a = dispatch.Attempts{}
		acquire(dispatch.Query{Now: epoch, Attempts: a})
	}); n != 0 {
		t.Errorf("a call that may be repeated allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		*a = dispatch.Attempts{}
		for range 2 {
			acquire(dispatch.Query{Now: epoch, Attempts: a})
		}
	}); n > 1 {
		t.Errorf("a call of two attempts allocates %v times", n)
	}
}

func TestLoop_AllocatesNothingToRefuse(t *testing.T) {
	l := newLoop(t, 0, nil)
	list := specs(1)
	list[0].Limit = 1
	if err := l.Update(list, epoch); err != nil {
		t.Fatal(err)
	}
	var held, c dispatch.Call
	if err := l.Acquire(&held, dispatch.Query{Now: epoch}); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(1000, func() {
		if err := l.Acquire(&c, dispatch.Query{Now: epoch}); err == nil {
			t.Fatal("there was room")
		}
	})
	if n > 1 {
		t.Errorf("a refusal allocates %v times", n)
	}
}

func TestBalancer_AllocatesOnceForACall(t *testing.T) {
	b, err := dispatch.New(dispatch.Config[*site]{
		Loop: dispatch.LoopConfig{Policy: new(policy.RoundRobin)}, Members: members("a", "b"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	f := func(context.Context, *site) error { return nil }
	if n := testing.AllocsPerRun(1000, func() {
		if err := b.Do(context.Background(), dispatch.Query{}, f); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("Do allocates %v times", n)
	}
}

func BenchmarkBalancer_Do(b *testing.B) {
	of, err := dispatch.New(dispatch.Config[*site]{
		Loop: dispatch.LoopConfig{Policy: newTwoChoices(b)}, Members: members("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = of.Close() }()
	f := func(context.Context, *site) error { return nil }
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := of.Do(ctx, dispatch.Query{}, f); err != nil {
			b.Fatal(err)
		}
	}
}
