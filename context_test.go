package cyclone_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
)

type valueKey struct{}

func TestFromContext(t *testing.T) {
	t.Parallel()
	base := newAttempt(t, 3)
	if c, ok := cyclone.FromContext(base); !ok || c != cyclone.Context(base) {
		t.Errorf("of the attempt itself: %v, %v", c, ok)
	}
	if c, ok := cyclone.FromContext(t.Context()); ok || c != nil {
		t.Errorf("outside an attempt: %v, %v", c, ok)
	}

	cause := errors.New("enough")
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.WithValue(base, valueKey{}, "kept"), deadline)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	c, ok := cyclone.FromContext(ctx)
	if !ok || c.Attempt() != 3 || c.RunID() != 12345 || c.IdempotencyKey() != "12345:send_email" || c.Meta("k") != "meta of k" {
		t.Fatalf("of a derived context: %v, %v", c, ok)
	}
	if at, ok := c.Deadline(); !ok || !at.Equal(deadline) || c.Value(valueKey{}) != "kept" {
		t.Error("deadline or value of the derived context is lost")
	}
	stop(cause)
	<-c.Done()
	if c.Err() == nil || context.Cause(c) != cause || base.Err() != nil {
		t.Errorf("cancellation: err %v, cause %v, base %v", c.Err(), context.Cause(c), base.Err())
	}
}

func TestFromContextOfItsOwnResult(t *testing.T) {
	t.Parallel()
	ctx := context.WithValue(newAttempt(t, 1), valueKey{}, "first")
	c, _ := cyclone.FromContext(ctx)
	again, ok := cyclone.FromContext(context.WithValue(c, valueKey{}, "second"))
	if !ok || again.Value(valueKey{}) != "second" || again.Attempt() != 1 {
		t.Errorf("got %v, %v", again, ok)
	}
}

func TestHandlerKeepsTheContextOfItsMiddleware(t *testing.T) {
	t.Parallel()
	var got any
	action := cyclone.NewAction("x", func(ctx cyclone.Context, _ email) error {
		got = ctx.Value(valueKey{})
		return nil
	})
	if _, err := run(t, context.WithValue(newAttempt(t, 1), valueKey{}, "set"), action, email{}); err != nil || got != "set" {
		t.Errorf("the handler sees %v, error %v", got, err)
	}
}
