package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
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

// arrivals is a hook that counts what turns bring of what was handed over.
type arrivals struct {
	counted
	brought atomic.Int64
}

func (a *arrivals) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if raw, ok := cmd.(*redis.Cmd); ok && err == nil && len(cmd.Args()) > 1 && cmd.Args()[1] == luascripts.Turn.SHA {
			if reply, err := raw.Slice(); err == nil && luascripts.ParseTurn(reply).Handed != nil {
				a.brought.Add(1)
			}
		}
		return err
	}
}

// A step that is handed over counts for the cap of its queue, whether its message has
// come or a turn has brought it: the next one waits, and starts as soon as there is room,
// also when that is made on another partition.
func TestCapCountsWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deaf    bool
		brought int64
		start   time.Duration
		look    time.Duration // when the partition is looked at again
	}{
		"by its message":          {false, 0, time.Second, time.Minute},
		"by a turn":               {true, 1, 5 * time.Second, time.Minute},
		"by a turn before others": {true, 1, 5 * time.Second, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := embedded.InProcess()
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				turns := new(arrivals)
				there, here := newHostOf(t, s, turns, tt.deaf, 2), newHostOf(t, s, nil, false, 2)
				defer there.close()
				defer here.close()
				began, starts := time.Now(), make(map[time.Duration]time.Duration) // by how long it takes
				var mu sync.Mutex
				work := cyclone.NewAction("work", func(ctx context.Context, d time.Duration) error {
					mu.Lock()
					starts[d] = time.Since(began).Truncate(100 * time.Millisecond)
					mu.Unlock()
					select {
					case <-time.After(d):
					case <-ctx.Done():
					}
					return nil
				})
				// What a handler enqueues lives on its partition, so these two put steps on theirs
				// while the worker is idle there.
				first := cyclone.NewAction("first", func(ctx context.Context, _ string) error {
					time.Sleep(time.Second)
					_, err := cyclone.EnqueueAction(ctx, here.client, work, 40*time.Second, cyclone.WithQueue("capped"))
					time.Sleep(4 * time.Second) // that it has ended brings what is handed over
					return err
				})
				second := cyclone.NewAction("second", func(ctx context.Context, _ string) error {
					time.Sleep(10 * time.Second)
					_, err := cyclone.EnqueueAction(ctx, here.client, work, 41*time.Second, cyclone.WithQueue("capped"))
					time.Sleep(tt.look - 10*time.Second)
					return err
				})
				on(t, here.client, 1, work.With(20*time.Second, cyclone.WithQueue("capped"), cyclone.WithDelay(time.Hour)))
				on(t, here.client, 0, first.With("", cyclone.WithQueue("open"), cyclone.WithDelay(time.Hour)))
				on(t, here.client, 0, second.With("", cyclone.WithQueue("open"), cyclone.WithDelay(time.Hour)))
				stop := there.run(worker.Config{
					Queues: []worker.Queue{{Name: "capped", Max: 2}, {Name: "open"}}, Concurrency: 6, Fallback: 5 * time.Minute, ShutdownGrace: time.Hour,
				}, work, first, second)
				defer stop()
				time.Sleep(80 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				want := map[time.Duration]time.Duration{20 * time.Second: 0, 40 * time.Second: tt.start, 41 * time.Second: 20 * time.Second}
				if diff := cmp.Diff(want, starts); diff != "" || turns.brought.Load() != tt.brought {
					t.Errorf("turns brought %d steps; starts (-want +got)\n%s", turns.brought.Load(), diff)
				}
			})
		})
	}
}

// on enqueues the request, which has a delay, on a partition of two, and has it run now.
func on(t *testing.T, client *queue.Client, partition cyclone.RunID, request cyclone.Request) {
	t.Helper()
	for range 100 {
		receipts, err := client.Enqueue(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		id, next := receipts[0].ID, client.Delete
		if id&1 == partition {
			next = client.RunNow
		}
		if err := next(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if id&1 == partition {
			return
		}
	}
	t.Fatal("nothing comes to the partition")
}
