package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Join is the input of a node that takes outputs of others into the fields of a
// struct. Each [Bind] names a field of *in by its address; the other fields keep
// the values that they have now:
//
//	var in Summary
//	workflow.Join(&in, workflow.Bind(&in.Users, users), workflow.Bind(&in.Orders.Open, orders))
//
// A bound field is exported, and lies in *in itself, in an embedded or in a nested
// struct; it is not reached through a pointer, a slice, an array or a map. It is
// stored by the name that it has in the encoded input. Where a node ran although a
// dependency has no output ([RunAnyway]), the field keeps its value.
func Join[T any](in *T, bindings ...Binding) Input[T] {
	j := joined[T]{source{mode: wire.FromJoin, value: *new(T)}}
	if in == nil {
		j.s.err = errors.New("join: the struct is nil")
		return j
	}
	j.s.value = *in
	var bad []error
	for i, b := range bindings {
		path, err := wire.FieldPath(in, b.field)
		if err == nil {
			err = overlap(j.s.refs, path)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("join: binding %d: %w", i+1, err))
			continue
		}
		j.s.refs = append(j.s.refs, reference{node: b.node, path: path})
	}
	j.s.err = errors.Join(bad...)
	return j
}

// Binding is an output and the field that takes it. The zero Binding is a mistake.
type Binding struct {
	field any // a pointer
	node  Node
}

// Bind puts the output of ref into a field of the struct that is given to [Join].
func Bind[T any](field *T, ref Ref[T]) Binding { return Binding{field: field, node: ref.Node} }

type joined[T any] struct{ s source }

func (j joined[T]) source() source { return j.s }
func (joined[T]) is(T)             {}

// overlap returns an error when the field is bound already, or a part of one that
// is, or the other way round.
func overlap(refs []reference, path []string) error {
	for _, ref := range refs {
		n := min(len(ref.path), len(path))
		if slices.Equal(ref.path[:n], path[:n]) {
			return fmt.Errorf("field %s: bound twice", strings.Join(path, "."))
		}
	}
	return nil
}
