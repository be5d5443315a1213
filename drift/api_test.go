package drift

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write drift/api.txt from the source")

func TestAPI(t *testing.T) {
	if *update {
		var text strings.Builder
		if err := WriteAPI(&text, repository(t)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("api.txt", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log("wrote drift/api.txt; read the difference and commit it on its own")
		return
	}
	judge(t, API)
}

const soundAPI = `
-- pkg/poise.go --
package poise

import (
	"errors"
	"time"
)

// Status is an enumeration.
type Status uint8

const (
	Ready Status = iota
	Draining
	hidden
)

// Limits of several kinds.
const (
	Limit   = 1 << 10
	Name    = "poise"
	Timeout = 10 * time.Second
)

var (
	ErrEmpty       = errors.New("empty")
	Default  *View
	private  int
)

type View struct {
	*Base
	base
	sync.Mutex
	List[int]
	*Map[string, int]
	ID, Zone string
	Pick     func(now time.Time) (index int, err error)
	secret   int
}

func (v *View) Select(index, other int) (s Selection, err error) { return }
func (v View) Len() int                                        { return 0 }
func (v *View) hide()                                          {}
func (b *base) Hide()                                          {}

type Policy interface {
	Base
	Prepare(v *View, more ...[]byte) error
	sealed()
}

type Map[K comparable, V any] map[K][]V

func (m Map[K, V]) Keys() [4]K { return nil }

type Alias = View

type Base struct{}

type base struct{}

func New[T any](f func(a, b T) bool, c map[string]chan<- int) *View { return nil }
-- pkg/interleave.go --
//go:build interleave

package poise

func Door() {}
-- pkg/only_windows.go --
package poise

func Window() {}
-- pkg/poise_test.go --
package poise

func Tested() {}
-- pkg/internal/x/x.go --
package x

func X() {}
-- models/a.go --
package models

func Model() {}
-- drift/api.txt --
# A comment.
pkg, const Draining Status = 1
pkg, const Limit = 1024
pkg, const Name = "poise"
pkg, const Ready Status = 0
pkg, const Timeout = 10 * time.Second
pkg, func New[T any](func(T, T) bool, map[string]chan<- int) *View
pkg, method (*View) Select(int, int) (Selection, error)
pkg, method (Map) Keys() [4]K
pkg, method (View) Len() int
pkg, type Alias = View
pkg, type Base struct
pkg, type Map[K comparable, V any] map[K][]V
pkg, type Policy interface
pkg, type Policy interface, Prepare(*View, ...[]byte) error
pkg, type Policy interface, embedded Base
pkg, type Policy interface, unexported method sealed
pkg, type Status uint8
pkg, type View struct
pkg, type View struct, ID string
pkg, type View struct, Pick func(time.Time) (int, error)
pkg, type View struct, Zone string
pkg, type View struct, embedded *Base
pkg, type View struct, embedded *Map[string, int]
pkg, type View struct, embedded List[int]
pkg, type View struct, embedded sync.Mutex
pkg, var Default *View
pkg, var ErrEmpty
`

func TestAPI_ReportsEveryFault(t *testing.T) {
	plant(t, API, soundAPI, []fault{
		{"something new", `
-- pkg/policy/more.go --
package policy

type More struct{}
`, []string{`pkg/policy/more.go:3 the API has "pkg/policy, type More struct"`}},
		{"something gone, and a changed enumeration", `
-- pkg/poise.go --
package poise

type Status uint8

const (
	Draining Status = iota
	Ready
)
-- drift/api.txt --
pkg, const Draining Status = 1
pkg, const Ready Status = 0
pkg, type Status uint8
pkg, type View struct
`, []string{
			`drift/api.txt:1 no longer has "pkg, const Draining Status = 1"`, `drift/api.txt:2 no longer has "pkg, const Ready Status = 0"`,
			`drift/api.txt:4 no longer has "pkg, type View struct"; undo it, or run go test ./drift -run TestAPI -update`,
			`pkg/poise.go:6 the API has "pkg, const Draining Status = 0"`, `pkg/poise.go:7 the API has "pkg, const Ready Status = 1"`,
		}},
	})
}

func TestWriteAPI_WritesWhatAPIAccepts(t *testing.T) {
	var text strings.Builder
	if err := WriteAPI(&text, grow(t, soundAPI)); err != nil {
		t.Fatal(err)
	}
	expect(t, API, grow(t, soundAPI, "-- drift/api.txt --\n"+text.String()), nil)
}
