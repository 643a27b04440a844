package conformance_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// The pages that the document links to: each is there under its title, is listed, and
// the page on retries leads to it.
func TestSpec_C24_LinkedPagesExist(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	index := read("README.md")
	for file, title := range map[string]string{
		"exactly-once-effects.md": "Exactly-once effects", "failure-recovery.md": "Failure recovery",
		"signals-and-waits.md": "Signals and waits", "unique-jobs.md": "Unique jobs",
	} {
		page := read(file)
		if !strings.HasPrefix(page, "# "+title+"\n") || len(page) < 1000 {
			t.Errorf("%s is no page about %q", file, title)
		}
		if !strings.Contains(index, "("+file+")") {
			t.Errorf("the list of pages lacks %s", file)
		}
	}
}

// Exactly-once effects: a write with the completion, though the handler runs twice.
func TestSpec_C24_ExactlyOnceEffects(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		action := cyclone.NewAction("pay", func(ctx cyclone.Context, cents int) error {
			tx := ctx.CompletionTx()
			return errors.Join(tx.IncrBy(tx.Key("paid"), int64(cents)), retryUntil(ctx, 3))
		}, soon)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, 7, cyclone.WithRetention(time.Hour))
		l.UntilState(id, cyclone.StepCompleted)
		if got := l.Redis.Get(context.Background(), l.Key(id, "tx:paid")).Val(); got != "7" {
			l.Errorf("paid %s, want 7", got)
		}
	})
}

// Failure recovery: a workflow goes on when the worker of one of its nodes dies.
func TestSpec_C24_FailureRecovery(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var entries atomic.Int32
		attempts := make(chan int, 10)
		c := newCrew(map[string]func(cyclone.Context) error{"middle": func(ctx cyclone.Context) error {
			attempts <- ctx.Attempt()
			if entries.Add(1) == 1 {
				return untilEnd(ctx)
			}
			return nil
		}})
		b := workflow.New("order")
		middle := c.do(b, "middle", workflow.After(c.do(b, "first")))
		c.do(b, "last", workflow.After(middle))
		dying := l.Start(brief, c)
		id := lab.EnqueueRun(l, b)
		<-attempts
		dying.Pull()
		l.Start(brief, c)
		if err := mustWait(l, id); err != nil {
			l.Error(err)
		}
		if again := <-attempts; again != 1 || c.times("first") != 1 || c.times("middle") != 2 || c.times("last") != 1 {
			l.Errorf("attempt %d, entered %v", again, c.entered())
		}
	})
}

// Signals and waits: both kinds of wait get their signal.
func TestSpec_C24_SignalsAndWaits(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		join := cyclone.NewStep("join", func(_ context.Context, in []string) (string, error) { return strings.Join(in, "+"), nil })
		waiter := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.WaitSignal[string](ctx, "word", time.Hour)
		})
		b := workflow.New("order")
		a := workflow.WaitSignal[string](b, "approval", time.Hour)
		out := workflow.Run(b, "join", join, workflow.All(a, workflow.Run(b, "task", waiter, workflow.Value(""))))
		l.Start(worker.Config{}, join, waiter)
		run, err := workflow.EnqueueFor(context.Background(), l.Client(), out)
		if err != nil {
			l.Fatal(err)
		}
		l.UntilNode(run.ID(), "approval", cyclone.StepWaiting)
		l.UntilNode(run.ID(), "task", cyclone.StepWaiting)
		mustSignal(l, run.ID(), "word", "b")
		mustSignal(l, run.ID(), "approval", "a")
		mustReturn(l, run.ID(), "a+b")
	})
}

// Unique jobs: one step, and one run of many steps, per key.
func TestSpec_C24_UniqueJobs(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		key := cyclone.WithUnique(cyclone.Unique{Key: "order-7"})
		action := cyclone.DeclareAction[string]("job")
		first := lab.Enqueue(l, action, "", key)
		if second := lab.Enqueue(l, action, "", key); second != first {
			l.Errorf("runs %v and %v for one key", first, second)
		}
		b := workflow.New("order", key)
		workflow.Do(b, "job", action, workflow.Value(""))
		one := lab.EnqueueRun(l, b)
		if other := lab.EnqueueRun(l, b); one == first || other != one {
			l.Errorf("runs %v and %v of a workflow for one key", one, other)
		}
	}, lab.Configure(queue.Config{Partitions: 4}))
}
