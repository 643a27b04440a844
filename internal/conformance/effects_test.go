package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// ledger is a transaction of every kind of operation: what it did shows in the keys.
// Each application of it pushes the run's id.
func ledger(ctx cyclone.Context, follow *cyclone.Action[string]) error {
	tx := ctx.CompletionTx()
	return errors.Join(
		tx.Set(tx.Key("string"), ctx.IdempotencyKey(), 0), tx.Delete(tx.Key("gone")), tx.IncrBy(tx.Key("sum"), 7),
		tx.HashSet(tx.Key("hash"), ctx.RunID().String(), "x"), tx.SetAdd(tx.Key("set"), "a", ctx.RunID().String()),
		tx.ListPush(tx.Key("list"), ctx.RunID().String()), tx.Enqueue(follow.With(ctx.RunID().String())),
	)
}

// applied returns what the ledger shows of n runs: nothing, everything, or a complaint.
func applied(l *lab.Lab, id cyclone.RunID) string {
	l.Helper()
	ctx, key := context.Background(), func(name string) string { return l.Key(id, "tx:"+name) }
	return fmt.Sprintf("%s %s %d %d %d %d", l.Redis.Get(ctx, key("string")).Val(), l.Redis.Get(ctx, key("sum")).Val(),
		l.Redis.HLen(ctx, key("hash")).Val(), l.Redis.SCard(ctx, key("set")).Val(), l.Redis.LLen(ctx, key("list")).Val(),
		l.Redis.Exists(ctx, key("gone")).Val())
}

const unapplied = "  0 0 0 1"

func wantApplied(id cyclone.RunID, node string) string {
	return fmt.Sprintf("%v:%s 7 1 2 1 0", id, node)
}

// prime puts a key there that the ledger deletes.
func prime(l *lab.Lab, id cyclone.RunID) {
	l.Helper()
	if err := l.Redis.Set(context.Background(), l.Key(id, "tx:gone"), "x", 0).Err(); err != nil {
		l.Fatal(err)
	}
}

// The writes take effect with the completion, and with nothing else: whatever the
// attempt ends with, in an action, a step, a task and a node.
func TestSpec_C22_CompletionTxTakesEffectIffTheCompletionDoes(t *testing.T) {
	ends := map[string]error{
		"error": errBoom, "permanent": cyclone.Permanent(errBoom), "snooze": cyclone.Snooze(time.Hour), "retry": cyclone.RetryAfter(errBoom, time.Hour),
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				var followed atomic.Int32
				follow := cyclone.NewAction("follow", func(context.Context, string) error { followed.Add(1); return nil })
				var failing atomic.Bool
				failing.Store(true)
				entered := make(chan struct{}, 10)
				writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error {
					defer func() { entered <- struct{}{} }()
					if err := ledger(ctx, follow); err != nil {
						return err
					}
					if failing.Load() {
						return end
					}
					return nil
				}, cyclone.WithBackoff(func(int) time.Duration { return time.Hour }))
				l.Start(worker.Config{}, follow, writer)
				b := workflow.New("flow")
				workflow.Do(b, "write", writer, workflow.Value(""))
				id := lab.EnqueueRun(l, b)
				prime(l, id)
				<-entered
				l.UntilNode(id, "write", cyclone.StepRetrying, cyclone.StepExhausted, cyclone.StepSnoozed)
				if got := applied(l, id); got != unapplied || followed.Load() != 0 {
					l.Errorf("after %v the ledger is %q and %d follow-ups have run", end, got, followed.Load())
				}
				failing.Store(false)
				if name == "permanent" {
					if err := l.Client().RetryAll(context.Background(), id); err != nil {
						l.Fatal(err)
					}
				} else {
					mustRunNode(l, id, "write")
				}
				if err := mustWait(l, id); err != nil {
					l.Error(err)
				}
				if got := applied(l, id); got != wantApplied(id, "write") {
					l.Errorf("after the completion the ledger is %q", got)
				}
				l.Until("the follow-up has run", func() bool { return followed.Load() == 1 })
			})
		})
	}
}

// mustRunNode makes a node ready that waits for a time, as no part of Cyclone would.
func mustRunNode(l *lab.Lab, id cyclone.RunID, _ string) {
	l.Helper()
	for _, index := range []string{"retrying:default", "snoozed:default"} {
		if n, err := l.Redis.ZAddXX(context.Background(), l.Key(id, index), zDue(id)).Result(); err != nil {
			l.Fatal(n, err)
		}
	}
}

// Whatever becomes of replies, it is applied once, by actions, tasks and nodes.
func TestSpec_C22_CompletionTxIsAppliedOnceUnderLostReplies(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var followed atomic.Int32
		follow := cyclone.NewAction("follow", func(context.Context, string) error { followed.Add(1); return nil })
		action := cyclone.NewAction("action", func(ctx cyclone.Context, _ string) error { return ledger(ctx, follow) })
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			if _, err := step.Do(ctx, "x", func(context.Context) (string, error) { return "", nil }); err != nil {
				return "", err
			}
			return "", ledger(ctx, follow)
		})
		w := l.Prepare(worker.Config{})
		w.Register(follow, action, def)
		var calls atomic.Int32
		w.Redis.AddHook(&lab.Loss{Script: luascripts.Advance, Lose: func() bool { return calls.Add(1)%3 != 0 }})
		var ids []cyclone.RunID
		for range 5 {
			b := workflow.New("flow")
			workflow.Do(b, "after", action, workflow.Value(""), workflow.After(workflow.Run(b, "task", def, workflow.Value(""))))
			ids = append(ids, lab.Enqueue(l, action, "", cyclone.WithRetention(time.Hour)), lab.EnqueueTask(l, def, ""), lab.EnqueueRun(l, b))
		}
		w.Go()
		for _, id := range ids {
			if err := mustWait(l, id); err != nil {
				l.Error(err)
			}
		}
		const times = 20 // a run of two nodes writes twice
		l.Until("the follow-ups have run", func() bool { return followed.Load() >= times })
		ctx, id := context.Background(), ids[0]
		if sum, n := l.Redis.Get(ctx, l.Key(id, "tx:sum")).Val(), l.Redis.LLen(ctx, l.Key(id, "tx:list")).Val(); sum != "140" || n != times || followed.Load() != times {
			l.Errorf("%d transactions made the sum %s, the list %d long, and %d follow-ups", times, sum, n, followed.Load())
		}
		if calls.Load() < 2 {
			l.Errorf("%d calls", calls.Load())
		}
	})
}

// An attempt that has lost its lease writes nothing; the one that follows does.
func TestSpec_C22_CompletionTxOfALostLeaseWritesNothing(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var followed, entries atomic.Int32
		follow := cyclone.NewAction("follow", func(context.Context, string) error { followed.Add(1); return nil })
		late := make(chan struct{})
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error {
			if entries.Add(1) == 1 {
				<-late // deaf to its context, as a stopped process is
			}
			return ledger(ctx, follow)
		})
		short := worker.Config{Lease: time.Second, Heartbeat: 200 * time.Millisecond}
		zombie := l.Start(short, follow, writer)
		id := lab.Enqueue(l, writer, "", cyclone.WithRetention(time.Hour))
		prime(l, id)
		l.Until("the zombie runs", func() bool { return entries.Load() == 1 })
		zombie.Pull()
		l.Start(short, follow, writer)
		l.UntilState(id, cyclone.StepCompleted)
		l.Until("the follow-up has run", func() bool { return followed.Load() == 1 })
		zombie.Insert()
		close(late)
		l.Until("the zombie's slot is free", func() bool { return zombie.Health().Running == 0 })
		if err := zombie.Stop(); err != nil {
			l.Error(err)
		}
		if got := applied(l, id); got != wantApplied(id, "writer") || followed.Load() != 1 {
			l.Errorf("the ledger is %q after %d entries", got, entries.Load())
		}
	})
}

// What cannot be applied leaves nothing behind, and fails the attempt with a reason,
// whichever operation it is.
func TestSpec_C22_RefusedCompletionTxWritesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		bad func(l *lab.Lab, tx cyclone.CompletionTx, ended cyclone.RunID) error
		say string
	}{
		"type": {func(_ *lab.Lab, tx cyclone.CompletionTx, _ cyclone.RunID) error {
			return tx.ListPush(tx.Key("text"), "x")
		}, "another type"},
		"number": {func(_ *lab.Lab, tx cyclone.CompletionTx, _ cyclone.RunID) error { return tx.IncrBy(tx.Key("text"), 1) }, "no integer"},
		"sum": {func(_ *lab.Lab, tx cyclone.CompletionTx, _ cyclone.RunID) error {
			return errors.Join(tx.IncrBy(tx.Key("big"), 1<<62), tx.IncrBy(tx.Key("big"), 1<<62))
		}, "64 bits"},
		"ended": {func(_ *lab.Lab, tx cyclone.CompletionTx, ended cyclone.RunID) error {
			return tx.Signal(ended, "x", nil)
		}, "ended"},
		"absent": {func(_ *lab.Lab, tx cyclone.CompletionTx, _ cyclone.RunID) error { return tx.Signal(1<<30, "x", nil) }, "no such run"},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				follow := cyclone.NewAction("follow", func(context.Context, string) error { l.Error("a follow-up has run"); return nil })
				ended := make(chan cyclone.RunID, 1)
				writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error {
					return errors.Join(ledger(ctx, follow), c.bad(l, ctx.CompletionTx(), <-ended))
				}, cyclone.WithMaxAttempts(1))
				done := cyclone.NewStep("done", func(context.Context, string) (string, error) { return "", nil })
				l.Start(worker.Config{}, follow, writer, done)
				run, err := cyclone.EnqueueStep(context.Background(), l.Client(), done, "")
				if err != nil {
					l.Fatal(err)
				}
				l.UntilState(run.ID(), cyclone.StepCompleted)
				b := workflow.New("flow")
				workflow.Do(b, "behind", follow, workflow.Value(""), workflow.After(workflow.Do(b, "write", writer, workflow.Value(""))))
				id := lab.EnqueueRun(l, b)
				prime(l, id)
				if err := l.Redis.Set(context.Background(), l.Key(id, "tx:text"), "no number", 0).Err(); err != nil {
					l.Fatal(err)
				}
				ended <- run.ID()
				mustFail(l, id, "write")
				if s := infoOf(l, id, "write"); !strings.Contains(s.Error, c.say) {
					l.Errorf("it failed with %q, want %q", s.Error, c.say)
				}
				if got := applied(l, id); got != unapplied {
					l.Errorf("the ledger is %q", got)
				}
			})
		})
	}
}

// A signal and follow-ups of a transaction go to the run's own partition; others are
// refused where they are added.
func TestCompletionTxStaysOnItsPartition(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		heard := make(chan cyclone.RunID, 8)
		follow := cyclone.NewAction("follow", func(ctx cyclone.Context, _ string) error { heard <- ctx.RunID(); return nil })
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, _ string) error {
			tx := ctx.CompletionTx()
			if tx.Signal(ctx.RunID()+1, "x", nil) == nil {
				return cyclone.Permanent(errors.New("a signal to another partition is accepted"))
			}
			return nil
		}, cyclone.WithMaxAttempts(1))
		good := cyclone.NewAction("good", func(ctx cyclone.Context, _ string) error {
			return ctx.CompletionTx().Enqueue(follow.With(""), follow.With(""))
		})
		l.Start(worker.Config{}, follow, writer, good)
		for range 8 {
			id := lab.Enqueue(l, good, "")
			for range 2 {
				if child := <-heard; (child^id)&3 != 0 || child == id {
					l.Errorf("follow-up %v of run %v is on another partition", child, id)
				}
			}
		}
		// The mistake is kept although the handler returned nil.
		if s := l.UntilState(lab.Enqueue(l, writer, ""), cyclone.StepExhausted); s.Failures != 1 {
			l.Errorf("%+v", s)
		}
	}, lab.Configure(queue.Config{Partitions: 4}))
}
