package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

var four = lab.Configure(queue.Config{Partitions: 4})

// A deployment of four partitions behaves like one of a single one.
func TestFourPartitions(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const n = 600
		v := l.Visits()
		step := cyclone.NewStep("double", func(ctx cyclone.Context, in int) (int, error) {
			if v.Add(ctx) == 1 && in%10 == 0 {
				return 0, errBoom
			}
			return 2 * in, nil
		}, soon)
		for range 2 {
			l.Start(worker.Config{Concurrency: 50}, step)
		}
		requests := make([]cyclone.Request, n)
		for i := range requests {
			requests[i] = step.With(i)
		}
		runs, err := cyclone.EnqueueMany(context.Background(), l.Client(), requests...)
		if err != nil {
			l.Fatal(err)
		}
		seen := map[int64]int{}
		for i, run := range runs {
			if out, err := cyclone.AttachOf[int](l.Client(), run.ID()).Wait(l.Context()); err != nil || out != 2*i {
				l.Fatalf("run %v returned %d (%v), want %d", run.ID(), out, err, 2*i)
			}
			seen[int64(run.ID())&3]++
		}
		if len(seen) != 4 {
			l.Errorf("runs by partition: %v, want all four", seen)
		}
		if got := len(v.All()); got != n+n/10 {
			l.Errorf("%d executions, want %d", got, n+n/10)
		}
	}, four)
}

// A unique key has one home, whoever enqueues.
func TestUniqueKeysOnFourPartitions(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		homes := map[int64]bool{}
		for i := range 20 {
			key := uniqueBy(fmt.Sprint(i))
			id := mustMake(l, "", key)
			for range 3 {
				c, _, _ := l.NewClient(l.Config())
				run, err := cyclone.EnqueueAction(context.Background(), c, cyclone.DeclareAction[string]("job"), "", key)
				if err != nil || run.ID() != id {
					l.Errorf("key %d is held by %v, and another client got %v (%v)", i, id, run, err)
				}
			}
			homes[int64(id)&3] = true
		}
		if len(homes) < 2 {
			l.Errorf("20 keys are on partitions %v, want them spread", homes)
		}
	}, four)
}

// Idle workers of four partitions are woken, and cancels are heard, on each.
func TestWakeUpsOnFourPartitions(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		causes := make(chan error, 1)
		entered := make(chan cyclone.RunID, 1)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			entered <- ctx.RunID()
			causes <- untilEnd(ctx)
			return nil
		})
		l.Start(worker.Config{Fallback: time.Hour}, action)
		for p := range 4 {
			name := fmt.Sprintf("%s:{%d}:waiters:default", l.Prefix, p)
			l.Until("it stands in line", func() bool { return slices.Contains(l.Keys(), name) })
		}
		homes := map[int64]bool{}
		for i := 0; len(homes) < 4; i++ {
			run, err := again(l, "", uniqueBy(fmt.Sprint(i)))
			if err != nil {
				l.Fatal(err)
			}
			<-entered
			mustCancel(l, run.ID())
			if cause := <-causes; cause != cyclone.ErrCancelled {
				l.Errorf("cause %v", cause)
			}
			homes[int64(run.ID())&3] = true
		}
	}, four)
}

// A client that disagrees about the partitions gets a clear error and writes
// nothing; one that says nothing takes what is stored.
func TestWrongPartitions(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		id := mustMake(l, "")
		before := l.Snapshot()
		c, _, _ := l.NewClient(queue.Config{Partitions: 8})
		_, err := cyclone.EnqueueAction(context.Background(), c, cyclone.DeclareAction[string]("job"), "")
		if err == nil || !strings.Contains(err.Error(), "4 partitions") || !strings.Contains(err.Error(), "8") {
			l.Errorf("enqueue returned %v, want an error that names both numbers", err)
		}
		w, err := worker.New(c, worker.Config{Logger: l.Logger()})
		if err != nil {
			l.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
		defer cancel()
		if err := w.Run(ctx); err == nil || !strings.Contains(err.Error(), "4 partitions") {
			l.Errorf("Run returned %v, want an error that names the number", err)
		}
		l.Same(before)
		quiet, _, _ := l.NewClient(queue.Config{})
		if _, err := quiet.Step(context.Background(), id, "job"); err != nil {
			l.Errorf("a client without a number: %v", err)
		}
	}, four)
}
