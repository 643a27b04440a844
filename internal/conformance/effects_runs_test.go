package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

// flows are workflows that completions enqueue: of a chain, of more nodes than one
// script stores, and of more than a completion starts.
func flows(c *crew) map[string]func() *workflow.Builder {
	return map[string]func() *workflow.Builder{
		"chain": func() *workflow.Builder {
			b := workflow.New("chain", cyclone.WithMeta("by", "completion"))
			c.do(b, "last", workflow.After(c.do(b, "first", cyclone.WithQueue("other"), cyclone.WithDelay(10*time.Millisecond))))
			return b
		},
		"large": func() *workflow.Builder {
			b := workflow.New("large")
			first := c.do(b, "first")
			for i := range 450 {
				c.do(b, fmt.Sprint("n", i), workflow.After(first))
			}
			return b
		},
		"wide": func() *workflow.Builder {
			b := workflow.New("wide")
			for i := range 101 {
				c.do(b, fmt.Sprint("n", i))
			}
			return b
		},
	}
}

// Runs of many steps begin with the completion that enqueues them, each once, and
// none with an attempt that fails.
func TestCompletionEnqueuesRuns(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(nil)
		all := flows(c)
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error {
			tx := ctx.CompletionTx()
			for _, name := range []string{"chain", "large", "wide", "chain"} {
				if err := all[name]().EnqueueTx(tx); err != nil {
					return err
				}
			}
			if ctx.Attempt() == 1 {
				return errBoom // nothing of it happens
			}
			return nil
		}, soon)
		l.Start(worker.Config{Queues: worker.Queues("default", "other")}, c.Action, writer)
		id := lab.Enqueue(l, writer, "", cyclone.WithRetention(time.Hour))
		l.UntilState(id, cyclone.StepCompleted)
		for name, want := range map[string]int{"chain": 2, "large": 1, "wide": 1} {
			for _, run := range untilRuns(l, name, want) {
				if (run^id)&3 != 0 {
					l.Errorf("run %v is on another partition than %v", run, id)
				}
				if err := mustWait(l, run); err != nil {
					l.Errorf("%s: %v", name, err)
				}
			}
			if runs := runsOf(l, name); len(runs) != want {
				l.Errorf("%d runs of %s, want %d", len(runs), name, want)
			}
		}
		if n := len(c.entered()); n != 2*2+451+101 {
			l.Errorf("%d nodes were entered", n)
		}
	}, four)
}

// untilRuns waits until a workflow has so many runs.
func untilRuns(l *lab.Lab, name string, n int) (ids []cyclone.RunID) {
	l.Helper()
	l.Until(fmt.Sprintf("there are %d runs of %s", n, name), func() bool {
		ids = runsOf(l, name)
		return len(ids) == n
	})
	return ids
}

// runsOf returns the runs of a workflow. One that moves meanwhile may be listed twice, or
// not at all.
func runsOf(l *lab.Lab, name string) (ids []cyclone.RunID) {
	l.Helper()
	page, err := l.Client().ListRuns(context.Background(), queue.RunQuery{Name: name, Limit: 1000})
	if err != nil {
		l.Fatal(err)
	}
	for _, run := range page.Runs {
		ids = append(ids, run.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Whatever becomes of replies, each run begins once.
func TestCompletionEnqueuesRunsOnceUnderLostReplies(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(nil)
		all := flows(c)
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, name string) error { return all[name]().EnqueueTx(ctx.CompletionTx()) })
		w := l.Prepare(worker.Config{Queues: worker.Queues("default", "other")})
		w.Register(c.Action, writer)
		var calls atomic.Int32
		for _, script := range promptScripts() {
			w.Redis.AddHook(&lab.Loss{Script: script, Lose: func() bool { return calls.Add(1)%2 == 0 }})
		}
		w.Go()
		var ids []cyclone.RunID
		for _, name := range []string{"chain", "large", "wide", "chain", "chain", "chain"} {
			ids = append(ids, lab.Enqueue(l, writer, name, cyclone.WithRetention(time.Hour)))
		}
		for _, id := range ids {
			l.UntilState(id, cyclone.StepCompleted)
		}
		for name, want := range map[string]int{"chain": 4, "large": 1, "wide": 1} {
			for _, run := range untilRuns(l, name, want) {
				if err := mustWait(l, run); err != nil {
					l.Error(err)
				}
			}
			if runs := runsOf(l, name); len(runs) != want {
				l.Errorf("%d runs of %s, want %d", len(runs), name, want)
			}
		}
	}, four)
}

// A worker that dies when it has stored the run and before it has completed the step
// leaves the run to nobody; the next attempt enqueues its own.
func TestStoredRunOfALostCompletionDoesNotBegin(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(nil)
		all := flows(c)
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error { return all["chain"]().EnqueueTx(ctx.CompletionTx()) })
		cfg := brief
		cfg.Queues = worker.Queues("default", "other")
		dead := l.Prepare(cfg)
		dead.Register(writer)
		cut := cutBefore(dead, luascripts.Advance)
		dead.Go()
		id := lab.Enqueue(l, writer, "", cyclone.WithRetention(time.Hour))
		<-cut
		if n := l.Redis.ZCard(context.Background(), l.Key(id, "building")).Val(); n != 1 || len(runsOf(l, "chain")) != 0 {
			l.Errorf("%d runs are stored, and %v are seen", n, runsOf(l, "chain"))
		}
		l.Start(cfg, c.Action, writer)
		l.UntilState(id, cyclone.StepCompleted)
		if err := mustWait(l, untilRuns(l, "chain", 1)[0]); err != nil {
			l.Error(err)
		}
		if runs := runsOf(l, "chain"); len(runs) != 1 {
			l.Errorf("runs %v, want one", runs)
		}
		if got := c.entered(); !slices.Equal(got, []string{"first", "last"}) {
			l.Errorf("entered %v", got)
		}
		if l.Virtual {
			l.Pass(15 * time.Minute)
			if n := l.Redis.ZCard(context.Background(), l.Key(id, "building")).Val(); n != 0 {
				l.Errorf("%d runs are still stored", n)
			}
		}
	})
}

// What a completion cannot enqueue leaves nothing behind and fails the attempt.
func TestRefusedRunsOfACompletion(t *testing.T) {
	flow := func(c *crew, opts ...workflow.RunOption) *workflow.Builder {
		b := workflow.New("flow", opts...)
		c.do(b, "a")
		return b
	}
	for name, tt := range map[string]struct {
		add func(l *lab.Lab, c *crew, ctx cyclone.Context) error
		say string
	}{
		"unique": {func(_ *lab.Lab, c *crew, ctx cyclone.Context) error {
			b := flow(c, cyclone.WithUnique(cyclone.Unique{Key: "k"}))
			return expect[*workflow.BuilderError](b.EnqueueTx(ctx.CompletionTx()))
		}, "a unique key lives on a partition of its own"},
		"empty": {func(_ *lab.Lab, _ *crew, ctx cyclone.Context) error {
			return expect[*workflow.BuilderError](workflow.New("flow").EnqueueTx(ctx.CompletionTx()))
		}, "it has no nodes"},
		"input": {func(_ *lab.Lab, _ *crew, ctx cyclone.Context) error {
			b := workflow.New("flow")
			workflow.Do(b, "a", cyclone.DeclareAction[func()]("no"), workflow.Value(func() {}))
			return expect[*workflow.BuilderError](b.EnqueueTx(ctx.CompletionTx()))
		}, "node a: input"},
		"ignored": {func(_ *lab.Lab, _ *crew, ctx cyclone.Context) error {
			_ = workflow.New("flow").EnqueueTx(ctx.CompletionTx())
			return nil
		}, "completion transaction: EnqueueTx: workflow \"flow\": it has no nodes"},
		"too many": {func(_ *lab.Lab, c *crew, ctx cyclone.Context) (err error) {
			b := workflow.New("flow")
			for i := range 10_001 {
				c.do(b, fmt.Sprint("n", i))
			}
			return errors.Join(b.EnqueueTx(ctx.CompletionTx()), b.EnqueueTx(ctx.CompletionTx()))
		}, "EnqueueTx: 20002 nodes in all: must be at most 20000"},
		"other": {func(l *lab.Lab, c *crew, ctx cyclone.Context) error {
			tx := ctx.CompletionTx()
			l.Redis.Set(context.Background(), tx.Key("text"), "no number", 0)
			return errors.Join(flow(c).EnqueueTx(tx), tx.IncrBy(tx.Key("text"), 1))
		}, "no integer"},
		"given up": {func(l *lab.Lab, c *crew, ctx cyclone.Context) error { return flow(c).EnqueueTx(ctx.CompletionTx()) },
			"operation 1 on \"workflow flow\": what was stored of the run was given up"},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				c := newCrew(nil)
				writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error { return tt.add(l, c, ctx) }, cyclone.WithMaxAttempts(1))
				w := l.Prepare(worker.Config{})
				w.Register(c.Action, writer)
				if name == "given up" {
					w.Redis.AddHook(&lab.Tap{Script: luascripts.Advance, Before: func() error {
						building := l.Key(0, "building")
						for _, id := range l.Redis.ZRange(context.Background(), building, 0, -1).Val() {
							l.Redis.ZAdd(context.Background(), building, redis.Z{Score: 1, Member: id})
						}
						return nil
					}})
				}
				w.Go()
				s := l.UntilState(lab.Enqueue(l, writer, ""), cyclone.StepExhausted)
				if last := s.History[len(s.History)-1]; !strings.Contains(last.Error, tt.say) {
					l.Errorf("it failed with %q, want %q", last.Error, tt.say)
				}
				if runs := runsOf(l, "flow"); len(runs) > 0 || len(c.entered()) > 0 {
					l.Errorf("runs %v, entered %v", runs, c.entered())
				}
			})
		})
	}
}
