package queue

import (
	"context"
	"errors"
)

var errPending = errors.New("queue: not written yet")

func (c *Client) Audit(ctx context.Context, o AuditOptions) (AuditReport, error) {
	return AuditReport{}, errPending
}
