package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Retry opens a discarded or cancelled step of a run again: it is ready at once
// and may fail as many more times as the options say, once without them. The
// retry and its reason are kept in the step's history. In a run of many steps what
// its failure had cancelled comes back, and the run goes on; what has completed
// does not run again, and the run's deadline counts no more.
//
// It returns [cyclone.ErrNotFound] when there is no such run or node,
// [cyclone.ErrNotDiscarded] when the step has not ended so, and a
// [cyclone.DuplicateError] when another step holds its unique key by now.
func (c *Client) Retry(ctx context.Context, id cyclone.RunID, node string, opts ...cyclone.RetryOption) error {
	reopen, err := reopenOf(opts)
	if err != nil {
		return fmt.Errorf("queue: retry run %v: %w", id, err)
	}
	s, _, err := c.lookNode(ctx, id, node)
	if err != nil {
		return err
	}
	if err := one(ctx, s, c.reviveAny(reopen)); err != nil {
		return fmt.Errorf("queue: retry %s of run %v: %w", node, id, err)
	}
	return nil
}

// RetryAll is [Client.Retry] for every discarded or cancelled step of a run. It
// returns [cyclone.ErrNotDiscarded] when there is none.
func (c *Client) RetryAll(ctx context.Context, id cyclone.RunID, opts ...cyclone.RetryOption) error {
	s, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	if !s.many {
		return c.Retry(ctx, id, s.env.Node, opts...)
	}
	reopen, err := reopenOf(opts)
	if err == nil {
		err = c.retryNodes(ctx, s, reopen)
	}
	if err != nil {
		return fmt.Errorf("queue: retry run %v: %w", id, err)
	}
	return nil
}

// retryNodes opens all nodes of a run that can be.
func (c *Client) retryNodes(ctx context.Context, s *stored, reopen *wire.Reopen) error {
	outcome, err := c.reopenNodes(ctx, s.part, s.id, nil, reopen)
	if err == nil && len(outcome) == 0 {
		err = cyclone.ErrNotDiscarded
	}
	return err
}

// reopenOf puts the options of a retry together.
func reopenOf(opts []cyclone.RetryOption) (*wire.Reopen, error) {
	var r wire.Reopen
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("option is nil")
		}
		opt.ApplyRetry(&r)
	}
	return &r, r.Validate()
}

// Cancel ends a run for good, wherever it is. A running attempt is told within a
// second; whatever it returns is dropped. Cancelling a cancelled run is no error.
//
// It returns [cyclone.ErrNotFound] when nothing is kept of the run and
// [ErrFinished] when it has ended otherwise.
func (c *Client) Cancel(ctx context.Context, id cyclone.RunID) error {
	s, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	if s.many {
		err = s.part.stopRun(ctx, id)
	} else {
		err = one(ctx, s, c.cancel)
	}
	var ended *endedError
	if err == nil || errors.As(err, &ended) && ended.state == cyclone.StepCancelled {
		return nil
	}
	return fmt.Errorf("queue: cancel run %v: %w", id, err)
}

// CancelNode is [Client.Cancel] for one node of a run of many steps. It counts as a
// failure of the node: unless all that depends on it says what to do then, the run
// fails. It returns [cyclone.ErrNotFound] when there is no such run or node, and
// [ErrFinished] when the node has ended otherwise.
func (c *Client) CancelNode(ctx context.Context, id cyclone.RunID, node string) error {
	s, _, err := c.lookNode(ctx, id, node)
	if err != nil {
		return err
	}
	err = one(ctx, s, c.cancelAny())
	var ended *endedError
	if err == nil || errors.As(err, &ended) && ended.state == cyclone.StepCancelled {
		return nil
	}
	return fmt.Errorf("queue: cancel %s of run %v: %w", node, id, err)
}

// Delete removes a run with all that is kept of it, in any state; a running
// attempt is told as by [Client.Cancel]. It returns [cyclone.ErrNotFound] when
// nothing is kept of it.
func (c *Client) Delete(ctx context.Context, id cyclone.RunID) error {
	s, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	if s.many {
		err = c.deleteRun(ctx, s)
	} else {
		err = one(ctx, s, c.delete)
	}
	if err != nil {
		return fmt.Errorf("queue: delete run %v: %w", id, err)
	}
	return nil
}
