package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// ChildRun is a run that a claimed step is about to start, checked and encoded: of one
// step, or of many. Its end comes to the claimed step as a signal.
type ChildRun struct {
	partition int
	item      *item    // of one step
	run       *runItem // of many
}

// PrepareChild returns a run of one step that the claimed step starts and waits for under a
// signal. The error is a mistake in the spec, which no other try mends.
func (s *Store) PrepareChild(c *Claimed, signal string, spec *wire.Spec) (*ChildRun, error) {
	child := *spec
	o := child.Effective()
	if err := childKey(c, signal, spec.Kind, &child.Options, o.Set); err != nil {
		return nil, err
	}
	it := &item{parent: &Parent{Step: c.id(), Signal: signal}}
	if err := s.client.prepare(it, &child); err != nil {
		return nil, err
	}
	return &ChildRun{partition: c.partition, item: it}, nil
}

// PrepareChildRun is [Store.PrepareChild] for a run of many steps.
func (s *Store) PrepareChildRun(c *Claimed, signal string, spec *wire.RunSpec) (*ChildRun, error) {
	child := spec.Clone()
	if err := childKey(c, signal, "workflow "+spec.Name, &child.Options, spec.Options.Set); err != nil {
		return nil, err
	}
	it := &runItem{parent: &Parent{Step: c.id(), Signal: signal}}
	if err := s.client.prepareRun(it, child); err != nil {
		return nil, err
	}
	return &ChildRun{partition: c.partition, run: it}, nil
}

// childKey gives a child the request key by which it is started once.
func childKey(c *Claimed, signal, what string, o *wire.Options, set wire.Field) error {
	if set.Has(wire.FieldUnique) || set.Has(wire.FieldRequestKey) {
		return fmt.Errorf("%s: a child run has no unique key and no request key: it is started once in any case", what)
	}
	o.Set |= wire.FieldRequestKey
	o.RequestKey = "child " + c.id() + " " + signal
	return nil
}

// StartChild enqueues the child on the claim's partition. However often it is called for
// one signal of one step within 24 hours, one run is made. The outcome of one that existed
// may have come when nothing could be told, see [Store.AskChild].
func (s *Store) StartChild(ctx context.Context, child *ChildRun) (cyclone.Receipt, error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return cyclone.Receipt{}, err
	}
	p := d.parts[child.partition]
	if child.run != nil {
		it := *child.run
		return p.build(ctx, &it)
	}
	var receipt cyclone.Receipt
	items := []item{*child.item}
	t := &ticket{done: make(chan struct{})}
	t.left.Store(1)
	items[0].ticket, items[0].receipt = t, &receipt
	p.enqueues.add(items, false)
	select {
	case <-t.done:
		return receipt, receipt.Err
	case <-ctx.Done():
		return cyclone.Receipt{}, context.Cause(ctx)
	}
}
