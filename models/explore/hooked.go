//go:build interleave

package explore

import poise "github.com/copyleftdev/poise-go/pkg"

// The hooked types, for the state of models and for planted bugs.
type (
	Bool           = poise.HookedBool
	Int32          = poise.HookedInt32
	Int64          = poise.HookedInt64
	Uint32         = poise.HookedUint32
	Uint64         = poise.HookedUint64
	Pointer[T any] = poise.HookedPointer[T]
	Mutex          = poise.HookedMutex
	RWMutex        = poise.HookedRWMutex
	Once           = poise.HookedOnce
	WaitGroup      = poise.HookedWaitGroup
	Cond           = poise.HookedCond
	Event          = poise.HookedEvent
)

// The hooked functions, for the same users.
var (
	NewCond = poise.HookedNewCond
	Go      = poise.HookedGo
)
