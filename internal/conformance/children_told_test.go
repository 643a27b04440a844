package conformance_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// A child that is purged, from a queue or from what waits for its time, is told to the
// task that waits for it.
func TestPurgeOfChildren(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		child := cyclone.NewStep("child", func(cyclone.Context, string) (string, error) { return "", errors.New("it has run") })
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			err := step.Parallel(ctx,
				func(ctx context.Context) error {
					return purged(step.Run(ctx, "now", child, "", cyclone.WithQueue("unserved")))
				},
				func(ctx context.Context) error {
					return purged(step.Run(ctx, "later", child, "", cyclone.WithQueue("unserved"), cyclone.WithDelay(time.Hour)))
				})
			return "told", err
		})
		l.Start(worker.Config{}, def)
		run := lab.EnqueueTask(l, def, "")
		// The second child may start only when the first one's word has come.
		purged := 0
		l.Until("both are purged", func() bool {
			done, err := l.Client().Purge(context.Background(), "unserved", nil)
			if err != nil {
				l.Fatal(err)
			}
			purged += int(done.Done)
			return purged == 2
		})
		mustReturn(l, run, "told")
	}, four)
}

// A child that enters the queue between a purge's look at it and its script is told of
// all the same.
func TestPurgeOfAChildThatComesMeanwhile(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		child := cyclone.NewStep("child", func(cyclone.Context, string) (string, error) { return "", errors.New("it has run") })
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return "told", purged(step.Run(ctx, "child", child, "", cyclone.WithQueue("unserved")))
		})
		lab.EnqueueTask(l, def, "", cyclone.WithQueue("unserved"))
		var run cyclone.RunID
		client, rdb, _ := l.NewClient(l.Config())
		rdb.AddHook(&lab.Tap{Script: luascripts.Purge, Before: func() error {
			if run == 0 {
				l.Start(worker.Config{}, def)
				run = lab.EnqueueTask(l, def, "")
				l.UntilState(run, cyclone.StepWaiting)
			}
			return nil
		}})
		if done, err := client.Purge(context.Background(), "unserved", nil); err != nil || done.Done != 2 {
			l.Fatalf("%+v, %v", done, err)
		}
		mustReturn(l, run, "told")
	})
}

// purged is nil for a child run of which nothing is kept.
func purged(_ string, err error) error {
	var run *cyclone.RunError
	if errors.As(err, &run) && run.State == cyclone.RunCancelled {
		return nil
	}
	return cyclone.Permanent(errors.Join(errors.New("it is not told"), err))
}

// A child that ended while its parent was cancelled is told to the parent when that is
// opened again.
func TestRetriedParentHearsOfItsChild(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ids, ends := make(chan cyclone.RunID, 10), make(chan struct{})
		child := cyclone.NewStep("child", func(ctx cyclone.Context, _ string) (string, error) {
			ids <- ctx.RunID()
			<-ends
			return "grown up", nil
		})
		def := task(func(ctx cyclone.Context, _ string) (string, error) { return step.Run(ctx, "child", child, "") })
		l.Start(worker.Config{}, child, def)
		run := lab.EnqueueTask(l, def, "")
		id := <-ids
		l.UntilState(run, cyclone.StepWaiting)
		mustCancel(l, run)
		close(ends)
		l.UntilState(id, cyclone.StepCompleted)
		if err := l.Client().RetryAll(context.Background(), run); err != nil {
			l.Fatal(err)
		}
		mustReturn(l, run, "grown up")
	}, four)
}
