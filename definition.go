package cyclone

import (
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Definition is an [Action], a [Step] or a [Task] of any types, for the places
// that take all of them. No other type implements it.
type Definition interface {
	// Name is the kind under which steps are stored.
	Name() string
	// Wire is for the packages of this module.
	Wire() *wire.Definition
}

// define builds a definition of which only the handler is missing. It panics
// when the name or an option is bad; constructor names the caller in that case.
func define(constructor, name string, class wire.Class, opts []DefinitionOption) wire.Definition {
	def := wire.Definition{Name: name, Class: class}
	for _, opt := range opts {
		if opt == nil {
			def.Reject(errNilOption)
			continue
		}
		opt.ApplyDefinition(&def)
	}
	if err := def.Validate(); err != nil {
		refuse(constructor, name, err)
	}
	return def
}

// handle gives the definition its handler; it panics when there is one already
// or when err says that fn cannot be one.
func handle[In, Out any](caller string, def *wire.Definition, fn call[In, Out], err error) {
	if err != nil {
		refuse(caller, def.Name, err)
	}
	if def.Invoke != nil {
		refuse(caller, def.Name, errHandled)
	}
	def.Invoke = fn.invoker(def.Name, def.Class != wire.ClassAction)
}

// refuse panics: a bad definition is a mistake in the program, found when it starts.
func refuse(caller, name string, err error) {
	panic(fmt.Errorf("cyclone: %s %q: %w", caller, name, err))
}
