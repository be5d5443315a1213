package replay

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Field reads a field of a struct, exported or not, or a field of a field, so that
// a specification can be compared with what a type holds and not only with what it
// tells. An atomic is read as what it holds.
func Field(object any, path ...string) any {
	f := reflect.ValueOf(object).Elem()
	for _, name := range path {
		if f = f.FieldByName(name); !f.IsValid() {
			panic(fmt.Sprintf("replay: %T has no field %s", object, name))
		}
	}
	pointer := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr()))
	if load := pointer.MethodByName("Load"); load.IsValid() && load.Type().NumIn() == 0 && load.Type().NumOut() == 1 {
		return load.Call(nil)[0].Interface()
	}
	return pointer.Elem().Interface()
}
