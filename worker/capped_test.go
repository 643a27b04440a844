package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/worker"
)

// counted counts scripts.
type counted struct {
	redis.Hook
	n atomic.Int64
}

func (c *counted) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *counted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *counted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

// A worker one of whose queues is at its cap, while others have room and nothing to
// do, waits like any other: the room that it has is of no use to what is kept waiting.
func TestFullQueueBesideEmptyOneIsNoReasonToLook(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string][]worker.Queue{
		"beside one without a cap": {{Name: "capped", Max: 1}, {Name: "open"}},
		"beside one with a cap":    {{Name: "capped", Max: 1}, {Name: "open", Max: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := embedded.InProcess()
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var scripts counted
				there, here := newHost(t, s, &scripts, false), newHost(t, s, nil, false)
				defer there.close()
				defer here.close()
				var started atomic.Int64
				long := cyclone.NewAction("long", func(context.Context, string) error {
					started.Add(1)
					time.Sleep(10 * time.Second)
					return nil
				})
				stop := there.run(worker.Config{Queues: queues, Concurrency: 4, Fallback: time.Minute}, long)
				defer stop()
				for range 2 {
					if _, err := cyclone.EnqueueAction(t.Context(), here.client, long, "x", cyclone.WithQueue("capped")); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				before := scripts.n.Load()
				time.Sleep(8 * time.Second)
				if n := scripts.n.Load() - before; n > 5 {
					t.Errorf("%d scripts in 8 s, with nothing to do", n)
				}
				time.Sleep(2 * time.Second)
				if started.Load() != 2 {
					t.Error("the second step did not start when there was room")
				}
			})
		})
	}
}
