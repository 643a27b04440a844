package cyclonetest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
)

func TestNewContextDefaults(t *testing.T) {
	t.Parallel()
	ctx := cyclonetest.NewContext(t)
	if ctx.Attempt() != 1 || ctx.MaxAttempts() != 5 || ctx.RunID() != 1 || ctx.Node() != "node" || ctx.Queue() != "default" {
		t.Errorf("attempt %d of %d, run %v, node %s, queue %s", ctx.Attempt(), ctx.MaxAttempts(), ctx.RunID(), ctx.Node(), ctx.Queue())
	}
	if got := ctx.IdempotencyKey(); got != "1:node" {
		t.Errorf("idempotency key %q", got)
	}
	if ctx.Meta("trace") != "" || ctx.Err() != nil || !ctx.LeaseExpiry().After(time.Now()) {
		t.Error("meta, an error or a lease that has ended out of nothing")
	}
	ctx.Logger().Info("shown when the test fails")
}

func TestNewContextOptions(t *testing.T) {
	t.Parallel()
	type key struct{}
	var log bytes.Buffer
	ctx := cyclonetest.NewContext(t,
		cyclonetest.Attempt(3), cyclonetest.MaxAttempts(4), cyclonetest.RunID(77), cyclonetest.Node("send_email"),
		cyclonetest.Queue("mail"), cyclonetest.Meta("trace", "abc"), cyclonetest.Meta("tenant", "7"),
		cyclonetest.Parent(context.WithValue(t.Context(), key{}, "value")),
		cyclonetest.Logger(slog.New(slog.NewTextHandler(&log, nil))),
	)
	if ctx.Attempt() != 3 || ctx.MaxAttempts() != 4 || ctx.RunID() != 77 || ctx.Node() != "send_email" || ctx.Queue() != "mail" {
		t.Errorf("attempt %d of %d, run %v, node %s, queue %s", ctx.Attempt(), ctx.MaxAttempts(), ctx.RunID(), ctx.Node(), ctx.Queue())
	}
	if ctx.Meta("trace") != "abc" || ctx.Meta("tenant") != "7" || ctx.Value(key{}) != "value" {
		t.Error("meta or values are missing")
	}
	ctx.Logger().Info("sent")
	if got := log.String(); !strings.Contains(got, "run=77 node=send_email queue=mail attempt=3") {
		t.Errorf("logged %q", got)
	}
}

func TestNewContextIsFoundBelow(t *testing.T) {
	t.Parallel()
	limited, cancel := context.WithTimeout(cyclonetest.NewContext(t, cyclonetest.Attempt(2)), time.Hour)
	defer cancel()
	found, ok := cyclone.FromContext(limited)
	if !ok || found.Attempt() != 2 {
		t.Fatal("the attempt was not found in a context derived from it")
	}
	if _, ok := found.Deadline(); !ok {
		t.Error("the deadline was lost")
	}
}

func TestNewContextEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, end := context.WithCancelCause(t.Context())
	ctx := cyclonetest.NewContext(t, cyclonetest.Parent(parent))
	end(cyclone.ErrShutdown)
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, cyclone.ErrShutdown) {
		t.Errorf("cause %v", cause)
	}
}

func TestNewContextRefusesAnImpossibleAttempt(t *testing.T) {
	t.Parallel()
	for _, opt := range []cyclonetest.ContextOption{cyclonetest.Attempt(0), cyclonetest.Attempt(6), cyclonetest.MaxAttempts(0)} {
		if failureOf(t, func(t testing.TB) { cyclonetest.NewContext(t, opt) }) == "" {
			t.Error("it was taken")
		}
	}
}
