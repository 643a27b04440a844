package main

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// Invite is a task of its own: it asks somebody to join, by mail if that can be had.
var Invite = cyclone.DeclareTask[account, string]("invite")

// invite falls back to a letter when the mail has failed for good. Both are recorded
// steps, and so is that the mail has failed.
func (o *onboarding) invite(ctx cyclone.Context, to account) (string, error) {
	messageID, err := step.Do(ctx, "send-invitation", func(ctx context.Context) (string, error) {
		return o.emails.Invite(ctx, to)
	}, step.Retry(step.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{20 * time.Millisecond}}))
	var failed *step.Error
	if errors.As(err, &failed) {
		return step.Do(ctx, "print-letter", func(ctx context.Context) (string, error) {
			return o.letters.Print(ctx, to)
		})
	}
	return messageID, err
}
