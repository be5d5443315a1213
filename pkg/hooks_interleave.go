//go:build interleave

package poise

import "github.com/copyleftdev/poise-go/pkg/internal/syncx"

// This file is the door through which an explorer of interleavings looks into
// the library. It exists only under the build tag interleave, so pkg imports
// nothing for it and the normal API does not contain it.

// An Explorer schedules the goroutines of a model; see SetExplorer.
type (
	Explorer   = syncx.Explorer
	SyncOp     = syncx.Op
	SyncEffect = syncx.Effect
	SyncGate   = syncx.Gate
)

// What an Explorer needs to know by name.
const (
	SyncForeign = syncx.Foreign
	SyncStart   = syncx.Start
	SyncRead    = syncx.Read
	SyncShare   = syncx.Share
)

// SetExplorer makes e decide about every synchronising operation of the library.
// Nil removes it. With tell, operations report what they did to Explorer.Tell.
func SetExplorer(e Explorer, tell bool) { syncx.SetExplorer(e, tell) }

// The hooked types, for the models of an explorer and their planted bugs.
type (
	HookedBool           = syncx.Bool
	HookedInt32          = syncx.Int32
	HookedInt64          = syncx.Int64
	HookedUint32         = syncx.Uint32
	HookedUint64         = syncx.Uint64
	HookedPointer[T any] = syncx.Pointer[T]
	HookedMutex          = syncx.Mutex
	HookedRWMutex        = syncx.RWMutex
	HookedOnce           = syncx.Once
	HookedWaitGroup      = syncx.WaitGroup
	HookedCond           = syncx.Cond
	HookedEvent          = syncx.Event
)

// The hooked functions, for the same users.
var (
	HookedNewCond = syncx.NewCond
	HookedGo      = syncx.Go
)
