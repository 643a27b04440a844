package workflow

import (
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Builder collects the nodes of a run. Nodes are added by one goroutine at a time.
// When it has them all, it may be enqueued as often as wanted and from any number
// of goroutines, and each time makes another run.
type Builder struct {
	spec  wire.RunSpec
	names map[string]struct{}
	count int // nodes added, also those beyond the limit
	edges int
}

// New returns a builder for a workflow. The name is what its runs are listed
// under, and follows the rules of all names. Options are WithUnique, WithMeta and
// WithRetention of package cyclone, and [WithDeadline]. A bad name or option is
// reported when the run is enqueued.
func New(name string, opts ...RunOption) *Builder {
	b := &Builder{spec: wire.RunSpec{Name: name}, names: make(map[string]struct{})}
	b.reject(wire.CheckName("name", name))
	for _, opt := range opts {
		if opt == nil {
			b.reject(errors.New("option is nil"))
			continue
		}
		opt.ApplyRun(&b.spec.Options)
		if s, ok := opt.(runSetting); ok {
			b.reject(s.applySpec(&b.spec))
		}
	}
	b.reject(b.spec.Options.Validate())
	return b
}

// Err returns nil, or the mistakes found so far as a *[BuilderError]. Whether the
// inputs can be encoded only shows when the run is enqueued.
func (b *Builder) Err() error { return builderError(b.request(-1).Err()) }

// reject notes what is wrong with the run as a whole.
func (b *Builder) reject(err error) {
	if err != nil {
		b.spec.Reject(-1, err)
	}
}

// request returns what is handed over to be stored.
func (b *Builder) request(result int) *wire.RunSpec {
	spec := b.spec.Clone()
	spec.Result = result
	if result >= len(spec.Nodes) {
		spec.Result = -1 // beyond the limit, which is reported below
	}
	if b.count == 0 {
		spec.Reject(-1, errors.New("it has no nodes"))
	}
	if b.count > wire.MaxNodes {
		spec.Reject(-1, fmt.Errorf("%d nodes: must be at most %d", b.count, wire.MaxNodes))
	}
	if b.edges > wire.MaxEdges {
		spec.Reject(-1, fmt.Errorf("%d dependencies: must be at most %d", b.edges, wire.MaxEdges))
	}
	placeWaits(spec.Nodes)
	return spec
}
