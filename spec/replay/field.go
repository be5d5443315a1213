package replay

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Field reads a field of a struct, exported or not, so that a specification can be
// compared with what a type holds and not only with what it tells. An atomic is
// read as what it holds.
func Field(object any, name string) any {
	f := reflect.ValueOf(object).Elem().FieldByName(name)
	if !f.IsValid() {
		panic(fmt.Sprintf("replay: %T has no field %s", object, name))
	}
	pointer := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr()))
	switch value := pointer.Interface().(type) {
	case interface{ Load() bool }:
		return value.Load()
	case interface{ Load() uint32 }:
		return value.Load()
	case interface{ Load() uint64 }:
		return value.Load()
	}
	return pointer.Elem().Interface()
}
