package queue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/retry"
)

// A waiting call looks again by itself, in case that an event was missed.
const (
	lookFirst = time.Second
	lookMost  = 10 * time.Second
)

var _ cyclone.Enqueuer = (*Client)(nil)

// waiter is a call of Await.
type waiter struct {
	again     chan struct{} // has room for one: look again
	completed atomic.Bool   // the event was heard
}

// look makes the call look again.
func (w *waiter) look() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// heard is told every event of the run.
func (w *waiter) heard(e cyclone.EventType) {
	switch e {
	case cyclone.EventCompleted:
		w.completed.Store(true)
		w.look()
	case cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventDeleted, cyclone.EventFinished:
		w.look()
	}
}

// Await blocks until the run has ended; see [cyclone.Enqueuer]. It listens first
// and looks then, so it costs two round trips and then nothing but a look every
// ten seconds; any number of calls share one connection. Without events, for
// instance at maxmemory, it goes on by looking.
//
// A completed run of which nothing is kept is a success when out is nil and the
// run was not over yet when Await was called; else it is [cyclone.ErrNotFound].
func (c *Client) Await(ctx context.Context, id cyclone.RunID, out any) error {
	if _, err := c.open(ctx); err != nil {
		return err
	}
	w := &waiter{again: make(chan struct{}, 1)}
	text := id.String()
	l := &c.listen
	l.use()
	l.addWaiter(text, w)
	defer l.leave(func() {
		if delete(l.waits[text], w); len(l.waits[text]) == 0 {
			delete(l.waits, text)
		}
	})
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		// A hearing that has failed is tried again with every look.
		h, _ := l.hear(ctx)
		if over, err := c.ended(ctx, id, out, w, h); over {
			return err
		}
		if err := c.rest(ctx, w, pause); err != nil {
			return err
		}
	}
}

// rest waits until there is a reason to look again.
func (c *Client) rest(ctx context.Context, w *waiter, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-w.again:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return ErrClosed
	}
}

// ended tells whether the run is over, and how.
func (c *Client) ended(ctx context.Context, id cyclone.RunID, out any, w *waiter, h *hearing) (bool, error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	if out == nil && w.completed.Load() {
		return true, nil
	}
	s, err := c.look(ctx, id)
	switch {
	case errors.Is(err, cyclone.ErrNotFound):
		if h != nil {
			h.barrier(ctx) // its completion may be on its way
		}
		if out == nil && w.completed.Load() {
			return true, nil
		}
		return true, err
	case err != nil:
		again, _ := classify(err)
		return !again, err
	case s.many:
		return c.runEnded(ctx, s, out)
	case s.state == cyclone.StepCompleted:
		return true, c.output(s, out)
	case s.state == cyclone.StepExhausted || s.state == cyclone.StepCancelled:
		return true, s.runError()
	}
	return false, nil
}

// runEnded is ended for a run of many steps.
func (c *Client) runEnded(ctx context.Context, s *stored, out any) (bool, error) {
	e, err := c.ending(ctx, s)
	switch {
	case errors.Is(err, cyclone.ErrNotFound):
		return true, fmt.Errorf("queue: run %v: %w", s.id, err)
	case err != nil:
		again, _ := classify(err)
		return !again, err
	case e.state == cyclone.RunCompleted:
		s.result = e.output
		return true, c.output(s, out)
	case e.state.Finished():
		return true, e.failure()
	}
	return false, nil
}

// output decodes the output of a completed step.
func (c *Client) output(s *stored, out any) error {
	if out == nil {
		return nil
	}
	if s.result == nil {
		return fmt.Errorf("queue: output of run %v: %w", s.id, cyclone.ErrNotFound)
	}
	if err := c.codecs.decode(s.result.Codec, s.result.Output, out); err != nil {
		return fmt.Errorf("queue: output of run %v: %w", s.id, err)
	}
	return nil
}

// runError is how the run of a discarded or cancelled step ended.
func (s *stored) runError() *cyclone.RunError {
	info := s.info()
	e := &cyclone.RunError{
		RunID: s.id, State: runState(s.state), Node: info.Node, Attempts: info.Attempts, Code: info.Code, Message: info.Error,
	}
	if e.State == cyclone.RunCancelled {
		e.Code, e.Message = retry.CodeCancelled, ""
	}
	return e
}
