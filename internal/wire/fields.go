package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// FieldPath returns how the field that the pointer field points to is reached
// inside the struct that the pointer base points to: the fields' names from the
// outside in, each as [FieldByPath] finds it again in another process. The
// address alone tells; embedded and nested structs are looked into, but nothing
// that lies elsewhere: pointers, slices, arrays and maps are fields as a whole.
func FieldPath(base, field any) ([]string, error) {
	outer, inner := reflect.ValueOf(base), reflect.ValueOf(field)
	if outer.Kind() != reflect.Pointer || outer.IsNil() || outer.Elem().Kind() != reflect.Struct {
		return nil, errors.New("must be a pointer to a struct")
	}
	if inner.Kind() != reflect.Pointer || inner.IsNil() {
		return nil, errors.New("field: must be a pointer to a field")
	}
	want := inner.Type().Elem()
	search := fieldSearch{offset: inner.Pointer() - outer.Pointer(), want: want}
	if inner.Pointer() < outer.Pointer() || search.offset >= max(outer.Type().Elem().Size(), 1) {
		return nil, fmt.Errorf("field of type %v: it is not inside the struct", want)
	}
	if want == outer.Type().Elem() {
		return nil, errors.New("field: it is the whole struct")
	}
	search.in(outer.Type().Elem(), 0, nil)
	switch {
	case len(search.found) == 0:
		return nil, fmt.Errorf("field of type %v: it is inside the struct, but not a field that can be set by its name", want)
	case len(search.found) > 1:
		return nil, fmt.Errorf("field of type %v: %s have the same address", want, strings.Join(search.found, " and "))
	}
	return search.path, nil
}

// fieldSearch looks for the field of one type at one offset.
type fieldSearch struct {
	offset uintptr
	want   reflect.Type
	path   []string
	found  []string // the same as text, once per match: empty fields can share an address
}

func (s *fieldSearch) in(outer reflect.Type, base uintptr, path []string) {
	for i := range outer.NumField() {
		f := outer.Field(i)
		at := base + f.Offset
		if !f.IsExported() || s.offset < at || s.offset-at >= max(f.Type.Size(), 1) {
			continue
		}
		here := append(path[:len(path):len(path)], fieldName(&f))
		if f.Type == s.want && at == s.offset {
			s.path = here
			s.found = append(s.found, strings.Join(here, "."))
		} else if f.Type.Kind() == reflect.Struct {
			s.in(f.Type, at, here)
		}
	}
}

// FieldByPath returns the field of the struct that a path of [FieldPath] leads
// to; ok is false when there is none that can be set.
func FieldByPath(outer reflect.Value, path []string) (field reflect.Value, ok bool) {
	for _, name := range path {
		if outer.Kind() != reflect.Struct {
			return reflect.Value{}, false
		}
		at := fieldNamed(outer.Type(), name)
		if at < 0 {
			return reflect.Value{}, false
		}
		outer = outer.Field(at)
	}
	return outer, len(path) > 0 && outer.CanSet()
}

// fieldNamed returns the index of the exported field with the name, or -1.
func fieldNamed(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && fieldName(&f) == name {
			return i
		}
	}
	return -1
}

// fieldName is the name under which a codec stores the field, so that a program
// that renames the field and keeps its tag still finds it; the Go name when there
// is no such name.
func fieldName(f *reflect.StructField) string {
	for _, tag := range []string{"msgpack", "json"} {
		if name, _, _ := strings.Cut(f.Tag.Get(tag), ","); name != "" && name != "-" {
			return name
		}
	}
	return f.Name
}
