package workflow

import (
	"errors"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Input is where a node's input of type T comes from: [Value], [All], [Join] or a
// [Ref]. No other type implements it.
type Input[T any] interface {
	source() source
	is(T)
}

// source is an input whose type no longer matters.
type source struct {
	mode  wire.InputMode
	value any
	refs  []reference
	err   error
}

// reference is an output that becomes a part of an input.
type reference struct {
	node Node
	path []string // of the field, in a join
}

func sourceOf[T any](in Input[T]) source {
	if in == nil {
		return source{err: errors.New("its input is nil: take Value, All, Join or what Run has returned")}
	}
	return in.source()
}

func (r Ref[T]) source() source {
	return source{mode: wire.FromNode, refs: []reference{{node: r.Node}}}
}

func (Ref[T]) is(T) {}

// Value is an input that is known already. It is encoded when the run is
// enqueued; leave what it points to as it is until then.
func Value[T any](v T) Input[T] { return value[T]{v} }

type value[T any] struct{ v T }

func (v value[T]) source() source { return source{mode: wire.FromValue, value: v.v} }
func (value[T]) is(T)             {}

// All is the input of a node that takes the outputs of many others as a list, in
// the order of refs. The same Ref may come more than once; without any the list
// is empty. Where a node ran although one of them has no output ([RunAnyway]), the
// zero value stands in its place.
func All[T any](refs ...Ref[T]) Input[[]T] { return all[T](refs) }

type all[T any] []Ref[T]

func (a all[T]) source() source {
	s := source{mode: wire.FromAll, refs: make([]reference, len(a))}
	for i, ref := range a {
		s.refs[i].node = ref.Node
	}
	return s
}

func (all[T]) is([]T) {}
