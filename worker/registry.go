package worker

import (
	"fmt"

	"github.com/cyclone-queue/cyclone"
)

// TaskHandler is what cyclone.HandlerFunc returns, of any types.
type TaskHandler interface {
	Define(name string, opts ...cyclone.DefinitionOption) cyclone.Definition
}

// Register makes the worker run steps of these definitions, under their names
// and their aliases. It panics when a definition has no handler or when a name is
// taken, and must not be called after Run.
func (w *Worker) Register(defs ...cyclone.Definition) {
	for _, d := range defs {
		def := d.Wire()
		if def.Invoke == nil {
			panic(fmt.Errorf("worker: Register %q: it is only declared: give it a handler with Handle", def.Name))
		}
		k := w.newKind(def)
		w.register(def.Name, k)
		for _, alias := range def.Aliases {
			w.register(alias, k)
		}
	}
}

func (w *Worker) register(name string, k *kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		panic(fmt.Errorf("worker: Register %q: the worker runs already", name))
	}
	if _, taken := w.kinds[name]; taken {
		panic(fmt.Errorf("worker: Register %q: the name is taken", name))
	}
	w.kinds[name] = k
}

// NewTask defines a task with the given name and registers it. It panics when
// the name or an option is bad, or when the name is taken.
func (w *Worker) NewTask(name string, h TaskHandler, opts ...cyclone.DefinitionOption) cyclone.Definition {
	def := h.Define(name, opts...)
	w.Register(def)
	return def
}
