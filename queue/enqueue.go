package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cyclone-queue/cyclone"
)

// stickiness is how many steps in a row go to one partition when nothing says
// where they belong: batches need company.
const stickiness = 64

// Enqueue stores the requests; see [cyclone.Enqueuer]. Concurrent calls share
// script calls. A bad request is found before anything is written.
//
// A ctx that cannot end, such as [context.Background], makes a call that comes alone
// faster: it is then sent by the caller's own goroutine.
//
// When ctx ends while the requests are on their way, the error matches
// [cyclone.ErrUnknownOutcome]; a request under a unique or request key can
// safely be made again.
func (c *Client) Enqueue(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	return c.enqueue(ctx, requests...)
}

// ticket is one call of Enqueue that waits for its items.
type ticket struct {
	left     atomic.Int32
	done     chan struct{}
	items    []item
	receipts []cyclone.Receipt
}

// newTicket returns a ticket for n items. One for a single item is one allocation.
func newTicket(n int) *ticket {
	if n != 1 {
		return &ticket{items: make([]item, n), receipts: make([]cyclone.Receipt, n)}
	}
	one := new(struct {
		ticket
		item    [1]item
		receipt [1]cyclone.Receipt
	})
	one.items, one.receipts = one.item[:], one.receipt[:]
	return &one.ticket
}

func (t *ticket) settle(n int) {
	if t.left.Add(int32(-n)) == 0 {
		close(t.done)
	}
}

// store is Enqueue inside the middleware.
func (c *Client) store(ctx context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(requests, cyclone.Request.Workflow) {
		return c.storeAlone(ctx, requests)
	}
	t := newTicket(len(requests))
	if err := c.prepareAll(t.items, requests); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := c.join(ctx)
	if err != nil {
		return nil, err
	}
	t.done = make(chan struct{})
	t.left.Store(int32(len(t.items)))
	for i := range t.items {
		t.items[i].ticket, t.items[i].receipt = t, &t.receipts[i]
	}
	c.place(ctx, d, t.items)
	select {
	case <-t.done:
		return t.receipts, batchError(t.receipts)
	case <-ctx.Done():
		return c.abandon(ctx, d, t)
	}
}

// storeAlone stores a run of many steps, which comes alone.
func (c *Client) storeAlone(ctx context.Context, requests []cyclone.Request) ([]cyclone.Receipt, error) {
	if len(requests) > 1 {
		return nil, errTogether
	}
	receipt, err := c.storeRun(ctx, requests[0].Spec())
	if receipt.ID == 0 && receipt.Err == nil {
		return nil, err
	}
	return []cyclone.Receipt{receipt}, err
}

var errTogether = errors.New("queue: middleware has put a run of many steps and other requests into one call: pass it on alone")

func (c *Client) prepareAll(items []item, requests []cyclone.Request) error {
	var failed []error
	for i := range requests {
		if err := c.prepare(&items[i], requests[i].Spec()); err != nil {
			if failed == nil {
				failed = make([]error, len(requests))
			}
			failed[i] = err
		}
	}
	if failed != nil {
		return &cyclone.BatchError{Errors: failed}
	}
	return nil
}

// place hands the items to their partitions' batchers.
func (c *Client) place(ctx context.Context, d *deployment, items []item) {
	n, patient := len(d.parts), ctx.Done() == nil
	if n == 1 {
		d.parts[0].enqueues.add(items, patient)
		return
	}
	here, own := handlersPartition(ctx, n)
	for i := range items {
		p := here
		if !own {
			p = int(c.rotation.Add(1)/stickiness) & (n - 1)
		}
		if digest := items[i].digest; digest != "" {
			p = home(digest, n)
		}
		d.parts[p].enqueues.add(items[i:i+1], patient && len(items) == 1)
	}
}

// abandon takes back what has not been sent. The receipts of a call that is under
// way belong to it, so the caller gets others.
func (c *Client) abandon(ctx context.Context, d *deployment, t *ticket) ([]cyclone.Receipt, error) {
	withdrawn := 0
	for _, part := range d.parts {
		withdrawn += part.enqueues.withdraw(t)
	}
	if withdrawn == len(t.items) {
		return nil, ctx.Err()
	}
	select {
	case <-t.done: // answered in the meantime
		return t.receipts, batchError(t.receipts)
	default:
	}
	err := fmt.Errorf("%w: %w", cyclone.ErrUnknownOutcome, context.Cause(ctx))
	receipts := make([]cyclone.Receipt, len(t.items))
	for i := range receipts {
		receipts[i].Err = err
	}
	return receipts, err
}

func batchError(receipts []cyclone.Receipt) error {
	failed := 0
	for i := range receipts {
		if receipts[i].Err != nil {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	all := make([]error, len(receipts))
	for i := range receipts {
		all[i] = receipts[i].Err
	}
	if failed == len(all) && allSame(all) {
		return all[0]
	}
	return &cyclone.BatchError{Errors: all}
}

// allSame reports whether one error hit a whole batch: then it says more by itself.
func allSame(all []error) bool {
	for _, err := range all[1:] {
		if !errors.Is(err, all[0]) {
			return false
		}
	}
	return true
}
