package dag

import (
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// New returns the graph of a run that is to be built. The spec has no faults; the
// dependencies of its nodes are shared and not copied.
func New(spec *wire.RunSpec) *Graph {
	g := &Graph{
		Nodes:       make([]Node, len(spec.Nodes)),
		DeadlineMS:  milliseconds(spec.Deadline),
		RetentionMS: milliseconds(spec.Retention()),
		Result:      spec.Result,
	}
	for i := range spec.Nodes {
		n, o := &spec.Nodes[i], spec.Effective(i)
		g.Nodes[i] = Node{
			Name: n.Name, Kind: n.Kind, Class: n.Class(), Queue: o.QueueName(), Lane: o.Lane(),
			Deps: n.Deps, OnDepFailure: n.Policy,
		}
		if o.Set.Has(wire.FieldDelay) {
			g.Nodes[i].DelayMS = milliseconds(o.Delay)
		}
		if o.Set.Has(wire.FieldStartAt) {
			g.Nodes[i].StartMS = startMS(o.StartAt)
		}
		if n.Options.Set.Has(wire.FieldMaxAttempts) {
			g.Nodes[i].MaxAttempts = n.Options.MaxAttempts
		}
	}
	return g
}

// milliseconds rounds up, so that nothing above zero becomes zero.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// startMS rounds up, so that nothing starts too early.
func startMS(t time.Time) int64 {
	at := t.UnixMilli()
	if t.After(time.UnixMilli(at)) {
		at++
	}
	return max(at, 0)
}
