//go:build !interleave

// Package syncx is the only door of pkg to sync and sync/atomic.
//
// In a normal build every name is an alias, so nothing stands between the
// library and the standard types. Under the build tag interleave the same names
// are types whose operations are scheduling points of an explorer.
package syncx

import (
	"sync"
	"sync/atomic"
)

type (
	Bool           = atomic.Bool
	Int32          = atomic.Int32
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Pointer[T any] = atomic.Pointer[T]

	Mutex     = sync.Mutex
	RWMutex   = sync.RWMutex
	Once      = sync.Once
	WaitGroup = sync.WaitGroup
	Cond      = sync.Cond
	Pool      = sync.Pool
)

// NewCond returns a Cond on l. It exists because the hooked twin has no field
// that a composite literal could set.
func NewCond(l sync.Locker) *Cond { return sync.NewCond(l) }

// These lines fail to compile if an alias ever becomes a type of its own.
var (
	_ *atomic.Bool         = (*Bool)(nil)
	_ *atomic.Int32        = (*Int32)(nil)
	_ *atomic.Int64        = (*Int64)(nil)
	_ *atomic.Uint32       = (*Uint32)(nil)
	_ *atomic.Uint64       = (*Uint64)(nil)
	_ *atomic.Pointer[int] = (*Pointer[int])(nil)
	_ *sync.Mutex          = (*Mutex)(nil)
	_ *sync.RWMutex        = (*RWMutex)(nil)
	_ *sync.Once           = (*Once)(nil)
	_ *sync.WaitGroup      = (*WaitGroup)(nil)
	_ *sync.Cond           = (*Cond)(nil)
)
