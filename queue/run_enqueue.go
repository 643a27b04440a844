package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// EnqueueRun stores a run of many steps, as package workflow has put it together. It
// goes through the middleware as one request, see [cyclone.Request.Workflow].
// Everything is checked and encoded before anything is written, and what is wrong
// comes back together. Concurrent calls share script calls; a run that is too
// large for one is stored in several and begins with the last one.
//
// A run under a unique key lives on the key's partition, one that a handler
// enqueues with its own context on that of the handler's run.
//
// When ctx ends while the run is on its way, the error matches
// [cyclone.ErrUnknownOutcome]; a run under a unique key can safely be enqueued
// again. It returns a [cyclone.DuplicateError] when the key is held and the rule is
// Reject, and the error of [Client.Enqueue] otherwise.
func (c *Client) EnqueueRun(ctx context.Context, spec *wire.RunSpec) (cyclone.Receipt, error) {
	if c.closed.Load() {
		return cyclone.Receipt{}, ErrClosed
	}
	receipts, err := c.enqueue(ctx, cyclone.RunRequest(spec))
	switch {
	case len(receipts) == 1:
		return receipts[0], err
	case err == nil:
		err = fmt.Errorf("%d receipts for 1 request", len(receipts))
	}
	return cyclone.Receipt{}, err
}

// storeRun stores a run inside the middleware.
func (c *Client) storeRun(ctx context.Context, spec *wire.Spec) (cyclone.Receipt, error) {
	if spec.Err != nil {
		return cyclone.Receipt{}, spec.Err
	}
	var it runItem
	if err := c.prepareRun(&it, spec.Run.With(spec.Options)); err != nil {
		return cyclone.Receipt{}, err
	}
	if err := ctx.Err(); err != nil {
		return cyclone.Receipt{}, err
	}
	d, err := c.join(ctx)
	if err != nil {
		return cyclone.Receipt{}, err
	}
	return d.parts[c.placeRun(ctx, d, it.digest)].build(ctx, &it)
}

// build stores a run that was prepared. The receipt has the error too.
func (p *partition) build(ctx context.Context, it *runItem) (cyclone.Receipt, error) {
	p.start(it)
	return p.wait(ctx, it)
}

// start puts a run in line.
func (p *partition) start(it *runItem) {
	it.ticket, it.receipt = &ticket{done: make(chan struct{})}, new(cyclone.Receipt)
	it.ticket.left.Store(1)
	p.builds.add(it)
}

// wait waits for a run that was put in line.
func (p *partition) wait(ctx context.Context, it *runItem) (cyclone.Receipt, error) {
	select {
	case <-it.ticket.done:
	case <-ctx.Done():
		if p.builds.withdraw(it) {
			return cyclone.Receipt{}, ctx.Err()
		}
		err := fmt.Errorf("%w: %w", cyclone.ErrUnknownOutcome, context.Cause(ctx))
		return cyclone.Receipt{Err: err}, err
	}
	return *it.receipt, it.receipt.Err
}

// placeRun chooses the partition of a new run.
func (c *Client) placeRun(ctx context.Context, d *deployment, digest string) int {
	n := len(d.parts)
	if n == 1 {
		return 0
	}
	if digest != "" {
		return home(digest, n)
	}
	if at, ok := handlersPartition(ctx, n); ok {
		return at
	}
	return int(c.rotation.Add(1)/stickiness) & (n - 1)
}

// handlersPartition returns the partition of the run whose handler ctx belongs to:
// what belongs together lives together.
func handlersPartition(ctx context.Context, partitions int) (int, bool) {
	attempt, ok := cyclone.FromContext(ctx)
	if !ok {
		return 0, false
	}
	return int(attempt.RunID()) & (partitions - 1), true
}
