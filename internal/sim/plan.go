package sim

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
)

// plans are what jobs may have their handlers do. N is how often.
var plans = []string{
	"ok", "ok", "ok", "ok", "ok", "ok", "tx", "tx", "fail", "fail", "fail", "after", "fatal", "snooze", "snooze", "panic",
	"slow", "slow", "deaf", "poison", "timeout",
}

var errPlanned = errors.New("as planned")

// verdict is what a handler comes to, once the work is done.
type verdict uint8

const (
	complete verdict = iota
	failure
	failAfter
	permanent
	snooze
	panics
	crash
)

// decide is a job's verdict on one attempt.
func (j job) decide(attempt, snoozes int) verdict {
	switch j.Plan {
	case "fail", "timeout":
		if attempt <= j.N {
			return failure
		}
	case "after":
		if attempt <= j.N {
			return failAfter
		}
	case "fatal":
		return permanent
	case "snooze":
		if snoozes < j.N {
			return snooze
		}
	case "panic":
		if attempt <= j.N {
			return panics
		}
	case "poison":
		return crash
	}
	return complete
}

// obeys tells whether the handler returns when its context ends.
func (j job) obeys() bool { return j.Plan != "deaf" }

// kinds are the definitions of the simulation. The engine runs them.
type kinds struct {
	action, alien *cyclone.Action[string]
	step          *cyclone.Step[string, string]
	task, saga    *cyclone.Task[string, string]
	gather        *cyclone.Step[[]string, string]
}

// newKinds declares what producers enqueue.
func (w *world) newKinds() kinds {
	return kinds{
		action: cyclone.DeclareAction[string]("action", terms()...),
		alien:  cyclone.DeclareAction[string]("alien", terms()...),
		step:   cyclone.DeclareStep[string, string]("step", append(terms(), cyclone.WithRetention(retention))...),
		task:   cyclone.DeclareTask[string, string]("task", append(terms(), cyclone.WithRetention(retention))...),
		saga:   cyclone.DeclareTask[string, string]("saga", append(terms(), cyclone.WithRetention(retention))...),
		gather: cyclone.DeclareStep[[]string, string]("gather", terms()...),
	}
}

func terms() []cyclone.DefinitionOption {
	return []cyclone.DefinitionOption{
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: maxAttempts, Delays: delays}), cyclone.WithLostCap(lostCap),
	}
}

var delays = []time.Duration{200 * time.Millisecond, time.Second}

// handled are the definitions with handlers that run on a worker's host.
func (w *world) handled(h *workerHost, alien bool) []cyclone.Definition {
	act := func(ctx cyclone.Context, in string) error { return w.handle(h, ctx, in) }
	answer := func(ctx cyclone.Context, in string) (string, error) { return "did " + in, w.handle(h, ctx, in) }
	k := w.newKinds()
	saga := func(ctx cyclone.Context, in string) (string, error) { return w.saga(h, ctx, in) }
	gather := func(ctx cyclone.Context, in []string) (string, error) { return w.gather(h, ctx, in) }
	list := []cyclone.Definition{
		k.action.Handle(act), k.step.Handle(answer), k.task.Handle(cyclone.HandlerFunc(answer)),
		k.saga.Handle(cyclone.HandlerFunc(saga)), k.gather.Handle(gather),
	}
	if alien {
		list = append(list, k.alien.Handle(act))
	}
	return list
}

// handle is the handler of every kind.
func (w *world) handle(h *workerHost, ctx cyclone.Context, in string) error {
	w.audit.start(h.id(), stepOf(ctx))
	j, err := parseJob(in)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.begun[j.Key] = time.Now()
	w.mu.Unlock()
	if err := j.work(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	n := w.snoozes[j.Key]
	w.mu.Unlock()
	switch j.decide(ctx.Attempt(), n) {
	case failure:
		return errPlanned
	case failAfter:
		return cyclone.RetryAfter(errPlanned, 700*time.Millisecond)
	case permanent:
		return cyclone.Permanent(errPlanned)
	case snooze:
		w.mu.Lock()
		w.snoozes[j.Key]++
		w.mu.Unlock()
		return cyclone.Snooze(400 * time.Millisecond)
	case panics:
		panic(errPlanned)
	case crash:
		w.crash(h)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if j.Plan == "tx" {
		return w.effects(ctx)
	}
	return nil
}

// effects puts writes into the completion transaction: an effect is counted, and
// another step and a run of many are enqueued.
func (w *world) effects(ctx cyclone.Context) error {
	tx, id := ctx.CompletionTx(), stepOf(ctx)
	b := workflow.New("effect")
	workflow.Do(b, "n1", w.kinds.action, workflow.Value(effectJob("second-after-", id)), workflow.After(
		workflow.Do(b, "n0", w.kinds.action, workflow.Value(effectJob("first-after-", id)))))
	return errors.Join(tx.IncrBy(tx.Key(id), 1), tx.Enqueue(w.kinds.action.With(effectJob("after-", id))), b.EnqueueTx(tx))
}

// effectJob is the job of a step that a completion transaction enqueues.
func effectJob(what, id string) string {
	return job{Key: what + id, Plan: "ok", Work: time.Millisecond, Delay: -1}.String()
}

// work takes the job's time. A deaf one does not look at its context.
func (j job) work(ctx context.Context) error {
	timer := time.NewTimer(j.Work)
	defer timer.Stop()
	if !j.obeys() {
		<-timer.C
		return nil
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
