package queue

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/cyclone-queue/cyclone"
)

var errPending = errors.New("queue: not written yet")

func (c *Client) Retry(ctx context.Context, id cyclone.RunID, node string, opts ...cyclone.RetryOption) error {
	return errPending
}
func (c *Client) RetryAll(ctx context.Context, id cyclone.RunID, opts ...cyclone.RetryOption) error {
	return errPending
}
func (c *Client) RetryMatching(ctx context.Context, f Filter, progress func(Progress), opts ...cyclone.RetryOption) (Progress, error) {
	return Progress{}, errPending
}
func (c *Client) CancelMatching(ctx context.Context, f Filter, progress func(Progress)) (Progress, error) {
	return Progress{}, errPending
}
func (c *Client) DeleteMatching(ctx context.Context, f Filter, progress func(Progress)) (Progress, error) {
	return Progress{}, errPending
}
func (c *Client) Cancel(ctx context.Context, id cyclone.RunID) error { return errPending }
func (c *Client) Delete(ctx context.Context, id cyclone.RunID) error { return errPending }
func (c *Client) Reschedule(ctx context.Context, id cyclone.RunID, at time.Time) error {
	return errPending
}
func (c *Client) RunNow(ctx context.Context, id cyclone.RunID) error { return errPending }
func (c *Client) Pause(ctx context.Context, queue string) error      { return errPending }
func (c *Client) Resume(ctx context.Context, queue string) error     { return errPending }
func (c *Client) Purge(ctx context.Context, queue string, progress func(Progress)) (Progress, error) {
	return Progress{}, errPending
}
func (c *Client) Drain(ctx context.Context, queue string) error { return errPending }
func (c *Client) Subscribe(ctx context.Context, f EventFilter) (*Subscription, error) {
	return nil, errPending
}
func (s *Subscription) Events(ctx context.Context) iter.Seq2[cyclone.StepEvent, error] {
	return func(func(cyclone.StepEvent, error) bool) {}
}
func (s *Subscription) Close() error                                         { return nil }
func (c *Client) Await(ctx context.Context, id cyclone.RunID, out any) error { return errPending }
func (s *Store) Maintain(ctx context.Context, queues []string, lease time.Duration) error {
	return errPending
}
func (c *Client) Audit(ctx context.Context, o AuditOptions) (AuditReport, error) {
	return AuditReport{}, errPending
}
func (c *Client) Health(ctx context.Context) (Health, error) { return Health{}, errPending }

var _ cyclone.Enqueuer = (*Client)(nil)
