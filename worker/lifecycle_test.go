package worker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// F-12: workers that start and stop all the time lose nothing, run nothing twice
// and leave neither goroutines nor leases behind.
func TestStartStopStress(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, in time.Duration) error {
			v.Add(ctx)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(in):
				return nil
			}
		})
		const steps = 300
		stop := make(chan struct{})
		done := make(chan struct{})
		for n := range 5 {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					w := l.Prepare(worker.Config{Concurrency: 1 + n, ShutdownGrace: time.Second})
					w.Register(action)
					w.Go()
					time.Sleep(time.Duration(i*7%50) * time.Millisecond)
					began := time.Now()
					if err := w.Stop(); err != nil {
						l.Errorf("Run returned %v", err)
					}
					if took := time.Since(began); took > 100*time.Millisecond {
						l.Errorf("a worker whose steps take 40 ms took %v to stop", took)
					}
				}
			}()
		}
		for i := range steps {
			lab.Enqueue(l, action, time.Duration(i%40)*time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		for l.Count() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		close(stop)
		for range 5 {
			<-done
		}
		if n := len(v.All()); n != steps {
			l.Errorf("%d executions of %d steps", n, steps)
		}
		if left := l.Leftovers(); len(left) > 0 {
			l.Errorf("left over: %q", left)
		}
	})
}

// A heartbeat that is on its way when the worker ends does not put it back on the
// list of workers.
func TestHeartbeatOnItsWayAtTheEnd(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		w := l.Prepare(worker.Config{})
		slow := make(chan struct{}, 1)
		l.Embedded.Miniredis().Server().SetPreHook(func(_ *server.Peer, _ string, args ...string) bool {
			if len(args) > 0 && args[0] == luascripts.Extend.SHA {
				select {
				case <-slow:
					time.Sleep(time.Second) // on its way to the script
				default:
				}
			}
			return false
		})
		w.Go()
		l.Pass(9 * time.Second)
		slow <- struct{}{}
		l.Pass(1500 * time.Millisecond) // the heartbeat of the tenth second is under way
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		l.Pass(2 * time.Second)
		if left := l.Leftovers(); len(left) > 0 {
			l.Errorf("left over: %q", left)
		}
	})
}

// A worker whose context is done before it runs ends at once.
func TestRunWithDoneContext(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		w := l.Prepare(worker.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := w.Run(ctx); err != nil {
			l.Errorf("Run returned %v", err)
		}
	})
}

// A cap that one partition's steps use up does not keep another partition's
// steps waiting once there is room.
func TestCapIsSharedByPartitions(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		for i := range 80 { // spread by their keys
			lab.Enqueue(l, action, "", cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprint(i)}))
		}
		l.Start(worker.Config{Queues: []worker.Queue{{Name: "default", Max: 4}}, Fallback: time.Hour}, action)
		began := time.Now()
		for l.Count() > 0 && time.Since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > 2*time.Second {
			l.Errorf("80 steps of 10 ms, 4 at once, took %v; %d are left", took, l.Count())
		}
	}, lab.Configure(queue.Config{Partitions: 4}))
}

// The same when the turn that met the cap is answered only after all the room has
// become free.
func TestCapThatIsGoneWhenItIsHeardOf(t *testing.T) {
	t.Parallel()
	lab.BubbleAlone(t, func(l *lab.Lab) {
		action := cyclone.NewAction("job", func(cyclone.Context, string) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		homes := map[int64]int{}
		for i := 0; homes[0] < 3 || homes[1] < 3; i++ {
			id := lab.Enqueue(l, action, "", cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprint(i)}))
			if p := int64(id) & 1; homes[p] < 3 {
				homes[p]++
			} else if err := l.Client().Delete(context.Background(), id); err != nil {
				l.Fatal(err)
			}
		}
		w := l.Prepare(worker.Config{Queues: []worker.Queue{{Name: "default", Max: 3}}, Fallback: time.Hour})
		var slow sync.Once
		w.Redis.AddHook(&lab.Tap{Script: luascripts.Turn, Partition: 1, After: func([]any) {
			slow.Do(func() { time.Sleep(time.Second) })
		}})
		w.Register(action)
		w.Go()
		l.Pass(5 * time.Second)
		if n := l.Count(); n != 0 {
			l.Errorf("%d steps are left", n)
		}
	}, lab.Configure(queue.Config{Partitions: 2}))
}
