//go:build interleave

package explore

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"unsafe"

	poise "github.com/copyleftdev/poise-go/pkg"
)

// A schedule is written as a short string that is safe in a -run pattern: a
// letter for a step of that task, a count behind it for several, and _N for a
// choice that went way N. "a3b_1a" is three steps of the first task, one of the
// second with its choice, and one more of the first.

func encode(path []node) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		if n := path[i]; n.choices > 0 {
			fmt.Fprintf(&b, "_%d", n.value)
			i++
			continue
		}
		run := i
		for run < len(path) && path[run].choices == 0 && path[run].task == path[i].task {
			run++
		}
		b.WriteByte('a' + byte(path[i].task))
		if run > i+1 {
			b.WriteString(strconv.Itoa(run - i))
		}
		i = run
	}
	return b.String()
}

// decode returns the decisions of a schedule.
func decode(schedule string) (decisions []int, err error) {
	number := func(s string) (n, length int) {
		for length < len(s) && '0' <= s[length] && s[length] <= '9' && length < 6 {
			length++
		}
		n, _ = strconv.Atoi(s[:length])
		return n, length
	}
	decisions = []int{}
	for s := schedule; s != ""; {
		c := s[0]
		n, length := number(s[1:])
		s = s[1+length:]
		switch {
		case c == '_' && length > 0:
			decisions = append(decisions, n)
		case 'a' <= c && c < 'a'+maxTasks:
			for range max(n, 1) {
				decisions = append(decisions, int(c-'a'))
			}
		default:
			return nil, fmt.Errorf("explore: %q is not a schedule", schedule)
		}
	}
	return decisions, nil
}

// table is the readable form of one execution.
type table struct {
	names map[unsafe.Pointer]string
	rows  []row
}

type row struct{ task, object, op, what, where string }

func (b *table) row(t *task, n *node) {
	object := ""
	if n.obj != nil && n.op < poise.SyncForeign {
		object = b.name(n.obj)
	}
	b.rows = append(b.rows, row{task: t.name, object: object, op: opName(n.op), where: t.where})
}

func (b *table) tell(format string, args ...any) {
	if len(b.rows) == 0 {
		return
	}
	r := &b.rows[len(b.rows)-1]
	r.what = strings.TrimPrefix(r.what+", "+fmt.Sprintf(format, args...), ", ")
}

// name returns the path of the field that holds the object, or a number.
func (b *table) name(obj unsafe.Pointer) string {
	name, known := b.names[obj]
	if !known {
		name = fmt.Sprintf("object %d", len(b.names)+1)
		b.names[obj] = name
	}
	return name
}

// learn finds the names of the objects in a state.
func (b *table) learn(state any) {
	b.names = make(map[unsafe.Pointer]string)
	b.walk(reflect.ValueOf(state), "", 16)
}

func (b *table) walk(v reflect.Value, path string, depth int) {
	if depth == 0 || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			b.walk(v.Elem(), path, depth-1)
		}
	case reflect.Slice, reflect.Array:
		for i := range min(v.Len(), 16) {
			b.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth-1)
		}
	case reflect.Struct:
		// A hooked type shares its address with its first field; the shorter path wins.
		if v.CanAddr() && path != "" && strings.HasSuffix(v.Type().PkgPath(), "/syncx") {
			at := v.Addr().UnsafePointer()
			if _, known := b.names[at]; !known {
				b.names[at] = path
			}
		}
		for i := range v.NumField() {
			f := v.Type().Field(i).Name
			b.walk(v.Field(i), strings.TrimPrefix(path+"."+f, "."), depth-1)
		}
	}
}

func (b *table) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\ttask\toperation\tobject\tvalue\tat")
	for i, r := range b.rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, r.task, r.op, r.object, r.what, r.where)
	}
	w.Flush()
	return text.String()
}

func opName(op poise.SyncOp) string {
	switch op {
	case opCall:
		return "call"
	case opNow:
		return "Now"
	case opContextErr:
		return "Context.Err"
	case opContextEnd:
		return "end"
	default:
		return op.String()
	}
}

// callSite returns where the model, or the library, makes the operation.
func callSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		inside := strings.Contains(f.Function, "/internal/syncx.") ||
			strings.Contains(f.Function, "explore.(*engine)") || strings.Contains(f.Function, "explore.(*modelContext)") ||
			strings.Contains(f.Function, "explore.callSite") || strings.Contains(f.Function, "explore.(*T)")
		if !inside {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return "?"
		}
	}
}
