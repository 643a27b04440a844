package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Filter chooses steps for an operation on many. Empty fields match everything.
type Filter struct {
	Queue string
	State cyclone.StepState
	Kind  string
	// ErrorContains matches the text of the last failure, or its code.
	ErrorContains string
	// After and Before bound, After included, the time when a step ended; for one
	// that has not, the time when it was enqueued.
	After, Before time.Time
	// Cursor goes on where an operation stopped: Cursor of its [Progress].
	Cursor string
}

func (f *Filter) matches(s *stored) bool {
	info := s.info()
	at := info.FinishedAt
	if at.IsZero() {
		at = info.EnqueuedAt
	}
	return (f.Kind == "" || f.Kind == info.Kind) &&
		(f.ErrorContains == "" || strings.Contains(info.Error, f.ErrorContains) || info.Code == f.ErrorContains) &&
		(f.After.IsZero() || !at.Before(f.After)) &&
		(f.Before.IsZero() || at.Before(f.Before))
}

// Progress tells how far an operation on many steps has come.
type Progress struct {
	// Seen is the number of steps looked at, Matched of those that the filter
	// chose, Done of those changed.
	Seen, Matched, Done int
	// Cursor is where to go on, "" when there is no more.
	Cursor string
}

var (
	unfinished = visited[:6]
	reopenable = []cyclone.StepState{cyclone.StepExhausted, cyclone.StepCancelled}
)

// RetryMatching is [Client.Retry] for every step that the filter chooses. Its State
// is discarded (if empty too) or cancelled. Steps whose unique key is held by
// another one stay as they are.
//
// progress, if not nil, is called after every hundred steps or so. When ctx ends
// or an error stops the operation, the Progress returned says where to go on.
func (c *Client) RetryMatching(ctx context.Context, f Filter, progress func(Progress), opts ...cyclone.RetryOption) (Progress, error) {
	reopen, err := reopenOf(opts)
	if err != nil {
		return Progress{Cursor: f.Cursor}, fmt.Errorf("queue: retry: %w", err)
	}
	if f.State == "" {
		f.State = cyclone.StepExhausted
	}
	return c.many(ctx, "retry", &f, reopenable, progress, c.reviveAny(reopen))
}

// CancelMatching is [Client.Cancel] for every step that the filter chooses among
// those that have not ended. progress and the result are as for RetryMatching.
func (c *Client) CancelMatching(ctx context.Context, f Filter, progress func(Progress)) (Progress, error) {
	return c.many(ctx, "cancel", &f, unfinished, progress, c.cancelAny())
}

// DeleteMatching is [Client.Delete] for every step that the filter chooses, in any
// state. progress and the result are as for RetryMatching.
func (c *Client) DeleteMatching(ctx context.Context, f Filter, progress func(Progress)) (Progress, error) {
	return c.many(ctx, "delete", &f, visited, progress, c.deleteAny())
}

// many walks over the steps of the allowed states and applies the operation to
// those that the filter chooses.
func (c *Client) many(ctx context.Context, verb string, f *Filter, allowed []cyclone.StepState, progress func(Progress), op operation) (Progress, error) {
	done := Progress{Cursor: f.Cursor}
	err := checkQueueState(f.Queue, f.State)
	if err == nil && f.State != "" {
		if !slices.Contains(allowed, f.State) {
			err = fmt.Errorf("a step that is %s cannot be", f.State)
		}
		allowed = []cyclone.StepState{f.State}
	}
	if err != nil {
		return done, fmt.Errorf("queue: %s: %w", verb, err)
	}
	w, err := c.newWalk(ctx, f.Cursor, f.Queue, allowed...)
	if err != nil {
		return done, fmt.Errorf("queue: %s: %w", verb, err)
	}
	w.fromHead = true
	for {
		steps, end, err := w.next(ctx, operateBatch)
		if err == nil {
			err = done.apply(ctx, f, steps, op)
		}
		if err == nil {
			_, err = w.advance(ctx)
		}
		if err != nil {
			return done, fmt.Errorf("queue: %s: %w", verb, err)
		}
		if done.Cursor = w.cursor(); progress != nil && (len(steps) > 0 || end) {
			progress(done)
		}
		if end {
			return done, nil
		}
	}
}

// apply changes those of the steps that the filter chooses, lane by lane.
func (done *Progress) apply(ctx context.Context, f *Filter, steps []*stored, op operation) error {
	var lanes [laneCount][]*stored
	for _, s := range steps {
		if f.matches(s) {
			lanes[s.env.Priority] = append(lanes[s.env.Priority], s)
			done.Matched++
		}
	}
	done.Seen += len(steps)
	for _, lane := range lanes {
		if len(lane) == 0 {
			continue
		}
		errs, err := op(ctx, lane)
		if err != nil {
			return err
		}
		for _, err := range errs {
			if err == nil {
				done.Done++
			}
		}
	}
	return nil
}
