package conformance_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
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
		failsFirst := func(id cyclone.RunID) bool { return id%5 == 0 }
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 && failsFirst(ctx.RunID()) {
				return errBoom
			}
			return nil
		}, soon)
		stored := fill(l, action)
		limit := l.Redis.ConfigGet(ctx, "maxmemory").Val()["maxmemory"]
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", "1").Err()) // buffers come and go: a block of ids might just fit
		before := l.Snapshot()
		if _, err := cyclone.EnqueueAction(ctx, l.Client(), action, strings.Repeat("x", 10_000)); !errors.Is(err, queue.ErrFull) {
			l.Errorf("error %v, want ErrFull", err)
		}
		if lanes := l.Redis.ZCard(ctx, l.Key(1, "sessx")).Val(); lanes > 1 {
			l.Errorf("%d sessions are left after refusals", lanes)
		}
		l.Same(before)
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", limit).Err())
		// A worker that starts now can drain all the same.
		l.Start(worker.Config{}, action)
		began := time.Now()
		l.UntilEmpty()
		t.Logf("%d steps stored until full, drained in %v", stored, time.Since(began))
		times := make(map[cyclone.RunID]int)
		for _, id := range v.Runs() {
			times[id]++
		}
		for id, n := range times {
			if failed := failsFirst(id); failed && n != 2 || !failed && n != 1 {
				l.Errorf("run %v was executed %d times, and fails first is %v", id, n, failed)
			}
		}
		if len(times) != stored {
			l.Errorf("%d of %d steps were executed", len(times), stored)
		}
		if id := lab.Enqueue(l, action, "after"); id == 0 {
			l.Error("no run")
		}
		l.UntilEmpty()
	}, "--maxmemory", "16mb", "--maxmemory-policy", "noeviction")
}

// At maxmemory a child run can be cancelled, and the task that waits for it looks after
// it without holding its slot; it is told when there is room.
func TestMaxmemoryKeepsNoSlotForChildren(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := lab.New(t, s.Server)
		ctx := context.Background()
		child := cyclone.NewStep("child", func(cyclone.Context, string) (string, error) { return "", errors.New("it has run") })
		var attempts atomic.Int32
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			attempts.Add(1)
			return "told", purged(step.Run(ctx, "child", child, "", cyclone.WithQueue("unserved")))
		})
		w := l.Start(worker.Config{}, def)
		run := lab.EnqueueTask(l, def, "")
		l.UntilState(run, cyclone.StepWaiting)
		page, err := l.Client().List(ctx, queue.ListQuery{Queue: "unserved", State: cyclone.StepReady})
		if err != nil || len(page.Steps) != 1 {
			l.Fatalf("%+v, %v", page, err)
		}
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", "1").Err())
		must(l, l.Client().Cancel(ctx, page.Steps[0].RunID))
		must(l, l.Client().Cancel(ctx, run))
		must(l, l.Client().RetryAll(ctx, run)) // it runs again, and looks after its child
		l.Until("the task has run again and waits", func() bool {
			return attempts.Load() == 2 && w.Health().Running == 0 && l.State(run) == cyclone.StepWaiting
		})
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", "0").Err())
		mustReturn(l, run, "told")
	}, "--maxmemory-policy", "noeviction")
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
