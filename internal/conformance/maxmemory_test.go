package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// At maxmemory producers are refused and nothing of theirs is written, while
// workers claim, fail, retry and complete: the backlog drains, and producers can
// go on. The embedded server knows no maxmemory.
func TestMaxmemoryHoldsProducersBackWhileWorkersDrain(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := lab.New(t, s.Server)
		ctx := context.Background()
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 && int64(ctx.RunID())%5 == 0 {
				return errBoom
			}
			return nil
		}, soon)
		stored := fill(l, action)
		before := l.Snapshot()
		if _, err := cyclone.EnqueueAction(ctx, l.Client(), action, strings.Repeat("x", 10_000)); !errors.Is(err, queue.ErrFull) {
			l.Errorf("error %v, want ErrFull", err)
		}
		if lanes := l.Redis.ZCard(ctx, l.Key(1, "sessx")).Val(); lanes > 1 {
			l.Errorf("%d sessions are left after refusals", lanes)
		}
		l.Same(before)
		// A worker that starts now can drain all the same.
		l.Start(worker.Config{}, action)
		began := time.Now()
		l.UntilEmpty()
		t.Logf("%d steps stored until full, drained in %v", stored, time.Since(began))
		if n := len(v.All()); n != stored+stored/5 {
			l.Errorf("%d executions of %d steps, want each and every fifth twice", n, stored)
		}
		if id := lab.Enqueue(l, action, "after"); id == 0 {
			l.Error("no run")
		}
		l.UntilEmpty()
	}, "--maxmemory", "16mb", "--maxmemory-policy", "noeviction")
}

// fill enqueues until Redis is full and returns how many steps are stored.
func fill(l *lab.Lab, action *cyclone.Action[string]) (stored int) {
	l.Helper()
	for range 10_000 {
		requests := make([]cyclone.Request, 20)
		for i := range requests {
			requests[i] = action.With(strings.Repeat("x", 10_000))
		}
		_, err := l.Client().Enqueue(context.Background(), requests...)
		if errors.Is(err, queue.ErrFull) {
			if n := l.Count(); n != stored {
				l.Fatalf("%d steps are stored, %d were acknowledged", n, stored)
			}
			return stored
		}
		if err != nil {
			l.Fatal(err)
		}
		stored += len(requests)
	}
	l.Fatal("Redis never was full")
	return 0
}
