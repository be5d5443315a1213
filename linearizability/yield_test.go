//go:build interleave

package linearizability

import (
	"context"
	"math/rand/v2"
	"runtime"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// In the explorer's build the goroutines are real ones too, but each operation of
// the library lets others go on now and then. So calls meet in the middle, which
// the machine alone rarely makes them do. It is not repeatable.
func init() { poise.SetExplorer(yield{}, false) }

// yields is whether this is that build.
const yields = true

type yield struct{}

func (yield) Step(poise.SyncOp, unsafe.Pointer) { now() }

func (yield) Wait(poise.SyncOp, unsafe.Pointer, poise.SyncGate) { now() }

func (yield) WaitContext(_ poise.SyncOp, _ unsafe.Pointer, gate poise.SyncGate, ctx context.Context) {
	for !gate.Open(poise.SyncForeign) && ctx.Err() == nil {
		runtime.Gosched()
	}
}

func (yield) Err(ctx context.Context) error { return ctx.Err() }
func (yield) Also(unsafe.Pointer)           {}
func (yield) Idle()                         {}
func (yield) Choose(string, int) int        { return 0 }
func (yield) Go(f func())                   { go f() }
func (yield) Tell(string, ...any)           {}

func now() {
	if rand.IntN(3) == 0 {
		runtime.Gosched()
	}
}
