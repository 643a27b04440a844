package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
)

// MaxPage is the most steps that one page of [Client.List] holds.
const MaxPage = 200

// listTries bounds the round trips of one page: a queue may hold a million entries
// that are void.
const listTries = 20

// ListQuery says which steps to list.
type ListQuery struct {
	// Queue and State narrow the list; empty means all.
	Queue string
	State cyclone.StepState
	// Cursor is where to go on: Next of the page before.
	Cursor string
	// Limit is the most steps of the page, default and at most [MaxPage].
	Limit int
}

// StepPage is one page of a list.
type StepPage struct {
	Steps []cyclone.StepInfo
	// Next is the cursor of the next page, "" after the last one.
	Next string
}

// List returns a page of steps: by queue, by state, and within a state and a
// partition those that are due or next in line first, of those that have ended the
// latest first. A page may hold fewer steps than asked for, or none, and still
// have a next one. Steps that change their state between two pages can be missed
// or come twice.
func (c *Client) List(ctx context.Context, q ListQuery) (StepPage, error) {
	if err := checkQueueState(q.Queue, q.State); err != nil {
		return StepPage{}, err
	}
	limit := q.Limit
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	states := visited
	if q.State != "" {
		states = []cyclone.StepState{q.State}
	}
	w, err := c.newWalk(ctx, q.Cursor, q.Queue, states...)
	if err != nil {
		return StepPage{}, listError(err)
	}
	var page StepPage
	for range listTries {
		steps, done, err := w.next(ctx, limit-len(page.Steps))
		if err != nil {
			return StepPage{}, listError(err)
		}
		for _, s := range steps {
			page.Steps = append(page.Steps, s.info())
		}
		if done || len(page.Steps) == limit {
			break
		}
	}
	if _, err := w.advance(ctx); err != nil {
		return StepPage{}, listError(err)
	}
	page.Next = w.cursor()
	return page, nil
}

func listError(err error) error { return fmt.Errorf("queue: list: %w", err) }
