package conformance_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// outOfMemory is what Redis answers at maxmemory.
type outOfMemory struct{}

func (outOfMemory) Error() string { return "OOM command not allowed when used memory > 'maxmemory'." }
func (outOfMemory) RedisError()   {}

var _ redis.Error = outOfMemory{}

// refuseEnqueues has the client's Redis be full as long as full is set.
func refuseEnqueues(rdb *redis.Client, full *atomic.Bool) {
	for _, script := range []*luascripts.Script{luascripts.Enqueue, luascripts.Build} {
		rdb.AddHook(&lab.Tap{Script: script, Before: func() error {
			if full.Load() {
				return outOfMemory{}
			}
			return nil
		}})
	}
}

// A task that cannot start its child because Redis is full leaves its slot to others,
// comes back by itself and starts the child once. That is no failure and no try.
func TestTaskHoldsNoSlotWhileItsChildIsRefused(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		f := newFamily(nil)
		var attempts atomic.Int32
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
			if attempts.Add(1); ctx.Attempt() != 1 {
				l.Errorf("attempt %d", ctx.Attempt())
			}
			return run(ctx, f.plus)
		}))
		other := cyclone.NewAction("other", func(cyclone.Context, string) error { return nil })
		var full atomic.Bool
		full.Store(true)
		w := l.Prepare(worker.Config{Concurrency: 1})
		w.Register(f.plus, def, other)
		refuseEnqueues(w.Redis, &full)
		w.Go()
		id := lab.EnqueueTask(l, def, "")
		s := l.UntilState(id, cyclone.StepSnoozed)
		if wait := s.Due.Sub(l.Now()); wait > 15*time.Second {
			l.Errorf("it comes back in %v", wait)
		}
		l.UntilGone(lab.Enqueue(l, other, ""))
		if l.Virtual {
			l.Until("it has come back by itself", func() bool { return attempts.Load() > 1 })
			l.UntilState(id, cyclone.StepSnoozed)
		}
		full.Store(false)
		if !l.Virtual {
			must(l, l.Client().RunNow(l.Context(), id))
		}
		mustReturnInt(l, id, 1)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	})
}

// A child that an attempt has started without saying so is found by the first attempt
// that is not refused.
func TestTaskFindsItsChildAfterRefusals(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		f := newFamily(nil)
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) { return run(ctx, f.plus) }), quick)
		id := childStarted(l, def)
		var full atomic.Bool
		full.Store(true)
		w := l.Prepare(both)
		w.Register(f.plus, def)
		refuseEnqueues(w.Redis, &full)
		w.Go()
		l.UntilState(id, cyclone.StepSnoozed)
		l.Until("the child has ended", func() bool { return len(f.children()) == 1 })
		full.Store(false)
		must(l, l.Client().RunNow(l.Context(), id))
		mustReturnInt(l, id, 1)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	})
}

// At maxmemory the task that is about to start a child leaves its slot.
func TestMaxmemoryKeepsNoSlotForTasksThatStartChildren(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := lab.New(t, s.Server)
		ctx := context.Background()
		f := newFamily(nil)
		w := l.Start(worker.Config{Concurrency: 1}, f.plus, f.parent)
		client, _, _ := l.NewClient(queue.Config{})
		run, err := cyclone.EnqueueTask(ctx, client, f.parent, 1, cyclone.WithDelay(time.Hour))
		must(l, err)
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", "1").Err())
		must(l, client.RunNow(ctx, run.ID()))
		l.UntilState(run.ID(), cyclone.StepSnoozed)
		l.Until("the slot is free", func() bool { return w.Health().Running == 0 })
		must(l, l.Redis.ConfigSet(ctx, "maxmemory", "0").Err())
		must(l, client.RunNow(ctx, run.ID()))
		mustReturnInt(l, run.ID(), 3)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	}, "--maxmemory-policy", "noeviction")
}
